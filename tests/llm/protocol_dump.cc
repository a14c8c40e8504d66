// For the checks against the official SDKs and a real server (sdk_check.py): prints our requests, reads recorded streams.
//
//   protocol_dump requests              one JSON object a line: {"protocol": ..., "what": ..., "body": ...}
//   protocol_dump read PROTOCOL FILE    our answer out of a recorded stream, as one JSON object
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "llm/codec.h"
#include "llm/record.h"

namespace kforge::llm {
namespace {

struct Protocol { const char* name; std::unique_ptr<Codec> (*make)(); Dialect dialect; };
const Protocol kProtocols[] = {{"anthropic", anthropic_codec, {"claude-opus-4-6", true}}, {"anthropic", anthropic_codec, {"claude-sonnet-4-5", true}}, {"openai-chat", openai_chat_codec, {"gpt-5", true}},
                               {"openai-chat", openai_chat_codec, {"local", false}}, {"openai", openai_responses_codec, {"gpt-5", true}}};

struct Sample { const char* what; Request request; };

std::vector<Sample> samples() {
  const Tool check{"check", "judges a kernel", R"({"type":"object","properties":{"source":{"type":"string"}},"required":["source"]})"};
  Request plain{"You write kernels.", {{Role::user, "Write one.", {}, "", false}}, {}, 4096};
  Request tools = plain;
  tools.tools = {check};
  tools.messages.push_back({Role::assistant, "I check it.", {{"call_1", "check", R"({"source":"x"})"}}, "", false});
  tools.messages.push_back({Role::tool, "rejected", {}, "call_1", true});
  Request thinking = tools;
  thinking.effort = "medium";
  return {{"plain", plain}, {"tools", tools}, {"thinking", thinking}};
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

int print_requests() {
  for (const Protocol& protocol : kProtocols)
    for (const Sample& sample : samples())
      std::printf("{\"protocol\":%s,\"what\":%s,\"body\":%s}\n", quoted(protocol.name).c_str(), quoted(sample.what).c_str(), protocol.make()->body(sample.request, protocol.dialect).c_str());
  return 0;
}

int read_stream(const std::string& protocol, const std::string& file) {
  const auto text = read_file(file);
  if (!text) return 2;
  for (const Protocol& one : kProtocols) {
    if (one.name != protocol) continue;
    const auto reader = one.make()->reader();
    bool broken = false;
    EventReader events([&](const Event& event) { broken = broken || !reader->event(event); });
    events.feed(*text);
    events.end();
    if (broken || !reader->done()) return 1;
    std::printf("%s\n", answer_text(reader->answer()).c_str());
    return 0;
  }
  return 2;
}

}  // namespace
}  // namespace kforge::llm

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "requests") return kforge::llm::print_requests();
  if (verb == "read" && argc == 4) return kforge::llm::read_stream(argv[2], argv[3]);
  std::fputs("protocol_dump requests | read PROTOCOL FILE\n", stderr);
  return 2;
}
