#include "llm/providers.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "llm/local_clients.h"
#include "llm/record.h"

namespace kforge::llm {
namespace {

// Keys of the hosted services go to these services, and to --llm-url where it is given; other servers have a variable of their own.
constexpr const char* kOwnKey = "KFORGE_LLM_KEY";
constexpr std::array<Provider, 11> kProviders{{
    {"anthropic", "MODEL", "Anthropic's Messages API", "https://api.anthropic.com", "ANTHROPIC_API_KEY", true, true},
    {"openai", "MODEL", "OpenAI's Responses API", "https://api.openai.com/v1", "OPENAI_API_KEY", true, true},
    {"openai-chat", "MODEL", "OpenAI's Chat Completions API", "https://api.openai.com/v1", "OPENAI_API_KEY", true, true},
    {"compatible", "[MODEL]", "any server that speaks Chat Completions (--llm-url)", "http://localhost:8000/v1", kOwnKey, false, false},
    {"vllm", "[MODEL]", "vLLM on this machine, or --llm-url", "http://localhost:8000/v1", kOwnKey, false, false},
    {"llamacpp", "[MODEL]", "llama.cpp's server on this machine, or --llm-url", "http://localhost:8080/v1", kOwnKey, false, false},
    {"ollama", "MODEL", "Ollama on this machine, or --llm-url", "http://localhost:11434/v1", kOwnKey, false, false},
    {"command", "PROGRAM ARGS", "a program: prompt on standard input, answer on standard output", "", "", false, false},
    {"manual", "FOLDER", "a person or an agent: prompt-N.md is written there, answer-N.md awaited", "", "", false, false},
    {"replay", "FILE", "a recorded run; its prompts must be the same", "", "", false, false},
    {"replay-in-order", "FILE", "a recorded run's answers, whatever is asked", "", "", false, false},
}};

std::string rest_of(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  return colon == std::string::npos ? "" : std::string(trim(std::string_view(spec).substr(colon + 1)));
}

Expected<Key> key_of(const Provider& provider, const std::string& file) {
  auto key = Key::find(file, std::string(provider.key_variable));
  if (!key && key.error().code == ErrorCode::missing && !provider.key_needed && file.empty()) return Key();
  return key;
}

std::unique_ptr<Codec> codec_of(const Provider& provider) {
  if (provider.word == "anthropic") return anthropic_codec();
  if (provider.word == "openai") return openai_responses_codec();
  return openai_chat_codec();
}

Expected<std::unique_ptr<Client>> open_server(const Provider& provider, const std::string& model, const ClientOptions& options) {
  auto key = key_of(provider, options.key_file);
  if (!key) return Unexpected(key.error());
  ServerOptions server;
  server.name = std::string(provider.word) + ":" + (model.empty() ? "default" : model);
  server.base_url = options.url.empty() ? std::string(provider.url) : options.url;
  server.dialect = {model.empty() ? "default" : model, provider.key_needed};
  server.key = std::move(*key);
  server.limits = options.limits;
  server.retry = options.retry;
  return server_client(codec_of(provider), std::move(server));
}

}  // namespace

std::span<const Provider> providers() { return kProviders; }

Expected<const Provider*> find_provider(const std::string& spec) {
  const std::string word = spec.substr(0, spec.find(':'));
  std::vector<std::string_view> known;
  for (const Provider& provider : kProviders) {
    if (provider.word == word) return &provider;
    known.push_back(provider.word);
  }
  std::string words;
  for (const std::string_view one : known) words += (words.empty() ? "" : ", ") + std::string(one);
  const auto near = nearest(word, known);
  return fail(ErrorCode::bad_input, fmt::format("there is no provider '{}'", word), {}, (near ? fmt::format("did you mean '{}'? ", *near) : "") + "known ones: " + words);
}

Expected<bool> offers_tools(const std::string& spec) {
  const auto provider = find_provider(spec);
  if (!provider) return Unexpected(provider.error());
  if (!(*provider)->word.starts_with("replay")) return (*provider)->tools;
  const auto text = read_file(rest_of(spec));
  if (!text) return Unexpected(text.error());
  const auto record = read_record(*text, rest_of(spec));
  if (!record) return Unexpected(record.error());
  return record->tools;
}

Expected<std::unique_ptr<Client>> open_client(const ClientOptions& options) {
  const auto found = find_provider(options.spec);
  if (!found) return Unexpected(found.error());
  const Provider& provider = **found;
  const std::string rest = rest_of(options.spec);
  if (rest.empty() && !provider.rest.starts_with('['))
    return fail(ErrorCode::bad_input, fmt::format("--llm {} lacks its {}", provider.word, provider.rest), {}, fmt::format("--llm '{}:{}'", provider.word, provider.rest));
  if (!provider.url.empty()) return open_server(provider, rest, options);
  if (provider.word == "manual") return manual_client(rest);
  if (provider.word.starts_with("replay")) return replay_client(rest, provider.word == "replay-in-order");
  std::vector<std::string> arguments;
  for (const std::string_view word : split_words(rest)) arguments.emplace_back(word);
  return command_client(std::move(arguments), options.limits.total_seconds, options.limits.answer_bytes);
}

}  // namespace kforge::llm
