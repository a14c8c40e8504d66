// Chat with a language model, whoever serves it: one request, one answer. Providers (providers.h) translate to and from what their servers speak; nothing above
// this room knows a provider.
//
// Texts of a candidate or a model are data here: no part of an answer is run, followed or believed by this room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::llm {

// A function that the model may ask for. `parameters`: a JSON schema of type object.
struct Tool { std::string name, description, parameters; };

// What the model asks for: `arguments` is JSON as the model wrote it, not yet checked.
struct ToolCall { std::string id, name, arguments; };

enum class Role : std::uint8_t { user, assistant, tool };

struct Message {
  Role role = Role::user;
  std::string text;
  std::vector<ToolCall> calls;     // of an assistant's message
  std::string call;                // of a tool's message: the id that it answers
  bool failed = false;             // of a tool's message
  std::string own{};               // of an assistant's message: the provider's own form (JSON), given back to it as it was (signed thinking, reasoning items)
};

struct Request {
  std::string system;
  std::vector<Message> messages;
  std::vector<Tool> tools;
  std::uint64_t max_output_tokens = 16384;
  std::string effort{};            // low, medium, high: how much to think first, where the model can; "": as the provider has it
};

enum class StopReason : std::uint8_t { finished, tool_calls, length, refused };
std::string_view name(StopReason reason);

// Tokens. `input` holds the cached ones too.
struct Usage {
  std::uint64_t input = 0, output = 0, cached_input = 0, cache_writes = 0;
  bool told = false;               // false: estimated from the texts' lengths
  Usage& operator+=(const Usage& other);
};

struct Answer {
  std::string text;
  std::vector<ToolCall> calls;
  StopReason stop = StopReason::finished;
  std::string why{};               // of a refusal, in the provider's words
  std::string model{};             // as the server names it
  std::string own{};               // as Message::own
  Usage usage;
  std::uint32_t tries = 1;         // requests that it took
};

// The answer as the message that stands for it in the further conversation.
Message message_of(const Answer& answer);

struct AskControl {
  std::function<bool()> cancelled = {};                       // asked several times a second; true gives the request up
  std::function<void(std::string_view)> progress = {};        // one line on what is waited for; may be empty
  std::function<void(const Usage&)> lost = {};                // tokens of an answer that broke off; may be empty
};

class Client {
 public:
  virtual ~Client() = default;
  // "anthropic:claude-sonnet-4-5"; never holds a key.
  virtual std::string name() const = 0;
  // The model's name as prices know it; "" where nobody is paid by the token.
  virtual std::string priced_model() const { return {}; }
  // True: several threads may ask at once.
  virtual bool parallel() const { return false; }
  // Errors: bad_input (key, model, or request that the server will never take), missing (no library, no server), limit (cancelled, too long, out of
  // recorded answers), failed (the server, after all tries). No error text holds a key.
  virtual Expected<Answer> ask(const Request& request, const AskControl& control) = 0;
};

// The request in a form that depends on nothing but its content: what is hashed, recorded and written for a person to read.
std::string transcript(const Request& request);
// 32 hex digits over everything that the model is told.
std::string identity(const Request& request);
// About how many tokens a text is: four bytes each, as the large tokenisers make of code on average.
std::uint64_t estimated_tokens(std::string_view text);

}  // namespace kforge::llm
