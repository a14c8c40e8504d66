#include "base/error.h"

namespace kforge {

std::string to_string(const Where& where) {
  std::string text = where.file;
  if (where.line > 0) text.append(":").append(std::to_string(where.line));
  if (where.line > 0 && where.column > 0) text.append(":").append(std::to_string(where.column));
  return text;
}

std::string to_string(const Error& error) {
  std::string text = to_string(error.where);
  if (!text.empty()) text += ": ";
  text += error.message;
  if (!error.hint.empty()) text.append("\n  hint: ").append(error.hint);
  return text;
}

}  // namespace kforge
