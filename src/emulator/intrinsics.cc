// Functions that PTX declares and the device provides: vprintf, malloc, free and __assertfail.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>

#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

// ---- memory of a lane ----------------------------------------------------------------------------------------------

// Host address of `bytes` at a generic address as the lane sees it; null when they are not all there.
const std::byte* resolve(const Warp& w, std::uint32_t lane, Address address, std::uint64_t bytes) {
  const ptx::Space space = space_of(address);
  if (space == ptx::Space::shared) {
    const Address offset = address - kSharedWindow;
    return offset + bytes <= w.launch->shared_bytes ? w.block->shared.data() + offset : nullptr;
  }
  if (space == ptx::Space::local) {
    const Address offset = address - kLocalWindow;
    return offset + bytes <= w.local_stride ? w.local.data() + std::size_t{lane} * w.local_stride + offset : nullptr;
  }
  const Allocation* allocation = w.launch->memory->find(address);
  if (allocation == nullptr || address - allocation->base + bytes > allocation->size) return nullptr;
  return allocation->data + (address - allocation->base);
}

std::optional<std::string> read_string(const Warp& w, std::uint32_t lane, Address address) {
  constexpr std::size_t kLongest = 4096;
  std::string text;
  for (; text.size() < kLongest; ++address) {
    const std::byte* byte = resolve(w, lane, address, 1);
    if (byte == nullptr) return std::nullopt;
    if (*byte == std::byte{0}) return text;
    text.push_back(static_cast<char>(*byte));
  }
  return text;
}

std::uint64_t argument(const Warp& w, const Op& op, std::size_t k, std::uint32_t lane) {
  if (k >= op.call->arguments.size()) return 0;
  const ParamCopy& from = op.call->arguments[k];
  std::uint64_t value = 0;
  std::memcpy(&value, &w.frame->params[std::size_t{lane} * w.frame->function->param_bytes + from.from], std::min<std::size_t>(from.bytes, 8));
  return value;
}

void put_return(const Warp& w, const Op& op, std::uint32_t lane, std::uint64_t value) {
  if (op.call->returns.empty()) return;
  const ParamCopy& to = op.call->returns[0];
  const std::size_t at = std::size_t{lane} * w.frame->function->param_bytes + to.to, bytes = std::min<std::size_t>(to.bytes, 8);
  std::memcpy(&w.frame->params[at], &value, bytes);
  if (w.frame->params_shadow != nullptr) w.frame->params_shadow->mark_range(at, bytes, true);
}

// ---- printf --------------------------------------------------------------------------------------------------------

// Arguments lie in the buffer in order, each aligned to its size (CUDA Programming Guide, "Formatted Output").
class Arguments {
 public:
  Arguments(const Warp& w, std::uint32_t lane, Address buffer) : w_(w), lane_(lane), buffer_(buffer) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    const std::byte* from = buffer_ == 0 ? nullptr : resolve(w_, lane_, buffer_ + at_, sizeof(T));
    if (from != nullptr) std::memcpy(&value, from, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const Warp& w_;
  std::uint32_t lane_;
  Address buffer_;
  std::uint64_t at_ = 0;
  int count_ = 0;
};

struct Conversion {
  std::string flags;      // flags, width and precision, `*` filled in
  bool is_long = false;   // 64-bit integer
  int shorts = 0;         // `h`s: a 16-bit integer, two of them an 8-bit one
  char letter = 0;
};

// Reads a conversion after `%`; `at` is left behind it.
Conversion read_conversion(const std::string& format, std::size_t& at, Arguments& arguments) {
  Conversion c;
  while (at < format.size() && std::string_view("-+ #0123456789.*").find(format[at]) != std::string_view::npos) {
    if (format[at] == '*') c.flags += std::to_string(arguments.next<std::int32_t>());
    else c.flags += format[at];
    ++at;
  }
  while (at < format.size() && std::string_view("hlLqjzt").find(format[at]) != std::string_view::npos) {
    c.is_long |= format[at] != 'h' && format[at] != 'L';
    c.shorts += format[at] == 'h' ? 1 : 0;
    ++at;
  }
  if (at < format.size()) c.letter = format[at++];
  return c;
}

template <class T>
std::string with_format(const std::string& format, T value) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), value);
  text.pop_back();
  return text;
}

// What `h` leaves of an integer.
long long shortened(const Conversion& c, long long value) {
  if (c.shorts == 0 || c.is_long) return value;
  const bool is_signed = c.letter == 'd' || c.letter == 'i';
  if (c.shorts == 1) return is_signed ? static_cast<std::int16_t>(value) : static_cast<std::uint16_t>(value);
  return is_signed ? static_cast<std::int8_t>(value) : static_cast<std::uint8_t>(value);
}

std::string convert_one(const Warp& w, std::uint32_t lane, const Conversion& c, Arguments& arguments) {
  const std::string head = "%" + c.flags;
  switch (c.letter) {
    case 'd': case 'i':
      return with_format(head + "lld", c.is_long ? static_cast<long long>(arguments.next<std::int64_t>()) : shortened(c, arguments.next<std::int32_t>()));
    case 'u': case 'x': case 'X': case 'o':
      return with_format(head + "ll" + c.letter, c.is_long ? static_cast<unsigned long long>(arguments.next<std::uint64_t>()) : static_cast<unsigned long long>(shortened(c, arguments.next<std::uint32_t>())));
    case 'c': return with_format(head + "c", arguments.next<std::int32_t>());
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
      return with_format(head + c.letter, arguments.next<double>());
    case 'p': {
      const auto pointer = arguments.next<std::uint64_t>();
      return with_format(head + "s", pointer == 0 ? "(nil)" : fmt::format("0x{:x}", pointer).c_str());
    }
    case 's': {
      const auto text = read_string(w, lane, arguments.next<std::uint64_t>());
      return with_format(head + "s", text.has_value() ? text->c_str() : "(null)");
    }
    case '%': return "%";
    default: return head + std::string(c.letter != 0 ? 1 : 0, c.letter);
  }
}

Flow run_vprintf(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t lane) {
    const auto format = read_string(w, lane, argument(w, op, 0, lane));
    Arguments arguments(w, lane, argument(w, op, 1, lane));
    std::string text;
    for (std::size_t at = 0; format.has_value() && at < format->size();) {
      const char letter = (*format)[at++];
      if (letter != '%') text += letter;
      else text += convert_one(w, lane, read_conversion(*format, at, arguments), arguments);
    }
    w.launch->print(text);
    put_return(w, op, lane, static_cast<std::uint32_t>(format.has_value() ? arguments.count() : -1));
  });
  return Flow::next;
}

// ---- the others ----------------------------------------------------------------------------------------------------

Flow run_malloc(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t lane) {
    const std::uint64_t bytes = argument(w, op, 0, lane);
    const Allocation* allocation = bytes == 0 ? nullptr : w.launch->memory->allocate(bytes, MemoryKind::device, "device heap");
    put_return(w, op, lane, allocation == nullptr ? 0 : allocation->base);
    ++w.launch->stores;
  });
  return Flow::next;
}

Flow run_free(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t lane) {
    const Address address = argument(w, op, 0, lane);
    if (address == 0 || w.launch->memory->free(address)) return;
    report(w, op, 1u << lane, "safety.bounds", "bad-free", [&](evidence::Violation& v) {
      v.message = fmt::format("free of 0x{:x}, which is not the start of a live allocation", address);
      v.measured = fmt::format("address 0x{:x}", address);
      v.required = "a pointer that malloc returned and that was not freed";
    });
  });
  return Flow::next;
}

// __assertfail(message, file, line, function, char size): the text that CUDA prints.
Flow run_assertfail(Warp& w, const Op& op, std::uint32_t mask) {
  std::string first;
  for_lanes(mask, [&](std::uint32_t lane) {
    const auto text = [&](std::size_t k) { return read_string(w, lane, argument(w, op, k, lane)).value_or("?"); };
    const evidence::Dim3 thread = thread_index(w.launch->block_size, w.index * 32 + lane);
    const evidence::Dim3& b = w.block->index;
    const std::string line = fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n", text(1), argument(w, op, 2, lane), text(3),
                                         b.x, b.y, b.z, thread.x, thread.y, thread.z, text(0));
    if (first.empty()) first = fmt::format("assertion `{}` failed", text(0));
    w.launch->print(line);
  });
  return stop(w, op, mask, LaunchStatus::assert_failed, first);
}

struct Intrinsic { std::string_view name; Handler run; };
constexpr std::array<Intrinsic, 4> kIntrinsics{{
    {"vprintf", &run_vprintf}, {"malloc", &run_malloc}, {"free", &run_free}, {"__assertfail", &run_assertfail}}};

}  // namespace

std::uint32_t find_intrinsic(std::string_view name) {
  for (std::uint32_t i = 0; i < kIntrinsics.size(); ++i)
    if (kIntrinsics[i].name == name) return i + 1;
  return 0;
}

Flow call_intrinsic(Warp& w, const Op& op, std::uint32_t mask) { return kIntrinsics[op.call->intrinsic - 1].run(w, op, mask); }

}  // namespace kforge::emulator
