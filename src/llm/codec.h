// What one provider's protocol looks like: a request's path, headers and body, and the answer out of its stream. A codec knows no network; server_client.h has that.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/chat.h"
#include "llm/key.h"
#include "llm/sse.h"

namespace kforge::llm {

// What differs between servers of one protocol.
struct Dialect {
  std::string model;
  bool is_original = true;       // the protocol's own service; others are addressed with what every server of the kind knows
};

// Puts an answer together from the events of one stream.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  // Errors: failed (not the protocol, or the server tells of an error in the stream).
  virtual Expected<void> event(const Event& event) = 0;
  // A body that is no stream: some servers answer whole whatever is asked. Errors: failed.
  virtual Expected<void> whole(const std::string& body) = 0;
  // True once the answer is complete; a stream that ends before has broken off.
  virtual bool done() const = 0;
  // What is there, also of a stream that broke off: its tokens were spent.
  virtual const Answer& answer() const = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string path() const = 0;          // after the base URL
  virtual std::vector<std::pair<std::string, std::string>> headers(const Key& key) const = 0;
  virtual std::string body(const Request& request, const Dialect& dialect) const = 0;
  virtual std::unique_ptr<AnswerReader> reader() const = 0;
};

std::unique_ptr<Codec> anthropic_codec();        // Messages, https://docs.anthropic.com/en/api/messages
std::unique_ptr<Codec> openai_responses_codec(); // https://platform.openai.com/docs/api-reference/responses
std::unique_ptr<Codec> openai_chat_codec();      // Chat Completions; what vLLM, llama.cpp and Ollama speak

// What a server says of an error: the message in its JSON, else the text's beginning.
std::string error_words(const std::string& body);

}  // namespace kforge::llm
