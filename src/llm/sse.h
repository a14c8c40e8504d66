// Server-sent events (WHATWG HTML, 9.2.6) from pieces of a stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kforge::llm {

struct Event { std::string name, data; };   // data: lines joined by "\n"

class EventReader {
 public:
  explicit EventReader(std::function<void(const Event&)> on_event) : on_event_(std::move(on_event)) {}
  // Any piece, cut anywhere. Lines end with LF, CR or CRLF.
  void feed(std::string_view bytes);
  // At the stream's end: an event without its closing empty line is handed on too, since some servers leave it out.
  void end();

 private:
  void line(std::string_view text);
  void dispatch();

  std::function<void(const Event&)> on_event_;
  std::string rest_;
  Event event_;
  bool has_data_ = false, after_cr_ = false;
};

}  // namespace kforge::llm
