#include "llm/sse.h"

#include <utility>

namespace kforge::llm {

void EventReader::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' && std::exchange(after_cr_, false)) continue;   // the second half of CRLF
    after_cr_ = c == '\r';
    if (c != '\n' && c != '\r') {
      rest_ += c;
      continue;
    }
    line(rest_);
    rest_.clear();
  }
}

void EventReader::end() {
  if (!rest_.empty()) line(rest_);
  rest_.clear();
  dispatch();
}

void EventReader::line(std::string_view text) {
  if (text.empty()) return dispatch();
  const std::size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

void EventReader::dispatch() {
  if (std::exchange(has_data_, false)) on_event_(event_);
  event_ = {};
}

}  // namespace kforge::llm
