#include "operations.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "emulator/device.h"
#include "emulator/reference_engine.h"
#include "ptx/parser.h"

namespace kforge::h200 {
namespace {

using Words = std::vector<std::uint64_t>;

Words with_negatives(const Words& positive, int sign_bit) {
  Words out = positive;
  for (const std::uint64_t value : positive) out.push_back(value | std::uint64_t{1} << sign_bit);
  return out;
}

Words bits32(std::initializer_list<float> values) {
  Words out;
  for (const float value : values) out.push_back(std::bit_cast<std::uint32_t>(value));
  return out;
}
Words bits64(std::initializer_list<double> values) {
  Words out;
  for (const double value : values) out.push_back(std::bit_cast<std::uint64_t>(value));
  return out;
}
Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Zeros, subnormals, ties, ends of the integer types and of the narrower formats, infinities, NaNs of each kind.
Words singles() {
  const Words raw = {0x00000000, 0x00000001, 0x00000003, 0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x33000000, 0x33000001, 0x33800000, 0x387fc000, 0x387fe000,
                     0x477fdfff, 0x477fe000, 0x477fefff, 0x477ff000, 0x7f7f0000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa00000, 0x7fc00000, 0x7fc12345, 0x7fffffff,
                     0x3f7fffff, 0x3f800001, 0x3effffff, 0x4b000001, 0x4affffff, 0x3f808000, 0x3f818000, 0x3f802000, 0x3f801000, 0x3f803000};
  return with_negatives(joined(raw, bits32({0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 126.5f, 127.5f, 128.0f, 255.5f, 256.0f, 448.0f, 464.0f, 465.0f, 32767.5f, 65535.5f, 2147483520.0f, 2147483648.0f, 4294967040.0f,
                               4294967296.0f, 9223371487098961920.0f, 9223372036854775808.0f, 18446742974197923840.0f, 18446744073709551616.0f, 3.14159274f, 100.7f, 1e-10f, 1e30f})), 31);
}
Words doubles() {
  const Words raw = {0x0, 0x1, 0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff, 0x3810000000000000, 0x47efffffe0000000,
                     0x47efffffefffffff, 0x47effffff0000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0x7ff8000012345678, 0x7fffffffffffffff, 0x3fefffffffffffff,
                     0x3ff0000000000001, 0x3ff0000010000000, 0x3ff0000030000000, 0x43dfffffffffffff, 0x43efffffffffffff, 0x4330000000000001, 0x432fffffffffffff};
  return with_negatives(joined(raw, bits64({0.5, 1.0, 1.5, 2.5, 127.5, 255.5, 32767.5, 65519.999, 65520.0, 2147483647.0, 2147483647.5, 2147483648.0, 2147483648.5, 4294967295.5, 4294967296.0, 9223372036854775808.0,
                               18446744073709551616.0, 3.14159265358979, 1e-300, 1e300})), 63);
}
Words halves() {
  return with_negatives({0x0000, 0x0001, 0x0002, 0x0200, 0x03ff, 0x0400, 0x0401, 0x3555, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4100, 0x4248, 0x5bff, 0x5c00, 0x77ff, 0x7800, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7e55, 0x7fff}, 15);
}
Words bfloats() {
  return with_negatives({0x0000, 0x0001, 0x0002, 0x0040, 0x007f, 0x0080, 0x0081, 0x3eab, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0x3fc0, 0x4020, 0x4049, 0x437f, 0x4f00, 0x5f00, 0x7f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fc5, 0x7fff}, 15);
}
Words integers(std::uint32_t bits) {
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1, top = std::uint64_t{1} << (bits - 1);
  Words out = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256 & all, 0x5555555555555555 & all, 0x123456789abcdef1 & all, top, top - 1, top + 1, all, all - 1, all - 6, all >> 4, (all >> 4) + 1};
  return out;
}
Words bytes_and_lengths() { return {0, 1, 5, 8, 16, 31, 32, 33, 63, 64, 65, 200, 255, 256, 0xffffffff}; }

// 32 words, so that two operands make whole warps: for matrix fragments and other operations of a warp. Elements near one of a
// floating format of `exponent` and `fraction` bits in `width`, with some zeros, subnormals and large ones among them.
Words fragments(std::uint32_t width, std::uint32_t exponent, std::uint32_t fraction) {
  Words out;
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (int i = 0; i < 32; ++i) {
    std::uint64_t word = 0;
    for (std::uint32_t at = 0; at < std::max(width, 32u); at += width) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t random = state >> 11;
      const std::uint64_t bias = (std::uint64_t{1} << (exponent - 1)) - 1, mantissa = random & ((std::uint64_t{1} << fraction) - 1), sign = (random >> 60 & 1) << (width - 1);
      const std::uint64_t field = random >> 53 & 15;
      const std::uint64_t element = field == 0 ? 0 : field == 1 ? mantissa : (bias - 4 + (random >> 48 & 7)) << fraction | mantissa;
      word |= (element | sign) << at;
    }
    out.push_back(word);
  }
  return out;
}
Words random_words() {
  Words out;
  std::uint32_t state = 12345;
  for (int i = 0; i < 32; ++i) out.push_back(state = state * 1664525 + 1013904223);
  return out;
}

// Each half paired with one further on, so that both places see every value.
Words pairs(const Words& halves) {
  Words out;
  for (std::size_t i = 0; i < halves.size(); ++i) out.push_back(halves[i] | halves[(i * 7 + 3) % halves.size()] << 16);
  return out;
}

const std::map<std::string, Words>& edge_values() {
  static const std::map<std::string, Words> kValues = {
      {"f32", singles()}, {"f64", doubles()}, {"f16", halves()}, {"bf16", bfloats()}, {"f16x2", pairs(halves())}, {"bf16x2", pairs(bfloats())},
      {"b16", integers(16)}, {"b32", integers(32)}, {"b64", integers(64)}, {"len", bytes_and_lengths()},
      {"w16", fragments(16, 5, 10)}, {"wbf", fragments(16, 8, 7)}, {"wtf", fragments(32, 8, 23)}, {"wf64", fragments(64, 11, 52)}, {"we4", fragments(8, 4, 3)}, {"we5", fragments(8, 5, 2)},
      {"wint", random_words()}};
  return kValues;
}

// All 65,536 pairs of bytes for the 8-bit formats; every n-th value where three operands would make too many.
Words values_of(const std::string& kind, std::size_t operands) {
  if (kind == "e8x2") {
    Words all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  const Words& values = edge_values().at(kind);
  if (operands < 3) return values;
  Words some;
  for (std::size_t i = 0; i < values.size(); i += values.size() > 60 ? 5 : 3) some.push_back(values[i]);
  return some;
}

}  // namespace

std::uint32_t bits_of(const std::string& kind) {
  if (kind == "f64" || kind == "b64" || kind == "wf64") return 64;
  return kind == "f16" || kind == "bf16" || kind == "b16" || kind == "e8x2" ? 16 : 32;
}

std::vector<Operation> read_operations(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Operation> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t bar = line.find(" | ");
    if (bar == std::string::npos) throw std::runtime_error("no ' | ' in: " + line);
    std::istringstream kinds(line.substr(0, bar));
    Operation operation;
    kinds >> operation.result;
    for (std::string kind; kinds >> kind;) {
      if (kind == "~") operation.approximate = true;
      else operation.operands.push_back(kind);
    }
    operation.text = line.substr(bar + 3);
    out.push_back(std::move(operation));
  }
  return out;
}

std::vector<std::uint64_t> combinations(const Operation& operation) {
  std::vector<Words> lists;
  for (const std::string& kind : operation.operands) lists.push_back(values_of(kind, operation.operands.size()));
  std::size_t count = 1;
  for (const Words& list : lists) count *= list.size();
  std::vector<std::uint64_t> out(count * 3);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      out[i * 3 + k] = lists[k][rest % lists[k].size()];
      rest /= lists[k].size();
    }
  }
  return out;
}

std::string ptx_of(const Operation& operation) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_out, .param .u64 p_in, .param .u32 p_n)\n{\n"
      ".reg .pred %skip, %p, %q;\n.reg .b16 %h, %h2;\n.reg .b32 %t, %n, %c0, %x, %y, %m<16>;\n.reg .b64 %out, %in, %offset, %result, %z, %w<8>;\n";
  text += fmt::format(".reg .b{} %d;\n", bits_of(operation.result));
  const char* names[] = {"%a", "%b", "%c"};
  for (std::size_t k = 0; k < operation.operands.size(); ++k) text += fmt::format(".reg .b{} {};\n", bits_of(operation.operands[k]), names[k]);
  text += "mov.u32 %t, %tid.x;\nmov.u32 %c0, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %t, %c0, %n, %t;\nld.param.u32 %n, [p_n];\nsetp.ge.u32 %skip, %t, %n;\n@%skip ret;\n"
      "ld.param.u64 %out, [p_out];\nld.param.u64 %in, [p_in];\nmul.wide.u32 %offset, %t, 8;\nadd.s64 %out, %out, %offset;\nmul.wide.u32 %offset, %t, 24;\nadd.s64 %in, %in, %offset;\n";
  for (std::size_t k = 0; k < operation.operands.size(); ++k) text += fmt::format("ld.global.b{} {}, [%in + {}];\n", bits_of(operation.operands[k]), names[k], 8 * k);
  text += operation.text + "\n";
  const std::uint32_t bits = bits_of(operation.result);
  text += bits == 64 ? "mov.b64 %result, %d;\n" : fmt::format("cvt.u64.u{} %result, %d;\n", bits);
  return text + "st.global.b64 [%out], %result;\nret;\n}\n";
}

std::vector<std::uint64_t> emulate(const Operation& operation) {
  auto module = ptx::parse(ptx_of(operation));
  if (!module) throw std::runtime_error(operation.text + ": " + to_string(module.error()));
  auto sheet = hardware::find_sheet("h200");
  if (!sheet) throw std::runtime_error(to_string(sheet.error()));
  emulator::Device device(*sheet);
  device.set_checks({false, false});
  auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*module)));
  if (!loaded) throw std::runtime_error(operation.text + ": " + to_string(loaded.error()));
  const auto values = combinations(operation);
  const auto count = static_cast<std::uint32_t>(values.size() / 3);
  emulator::Allocation* in = device.memory().allocate(values.size() * 8, emulator::MemoryKind::device, "in");
  emulator::Allocation* out = device.memory().allocate(std::uint64_t{count} * 8, emulator::MemoryKind::device, "out");
  std::memcpy(in->data, values.data(), values.size() * 8);
  std::vector<std::byte> arguments(20);
  std::memcpy(arguments.data(), &out->base, 8);
  std::memcpy(arguments.data() + 8, &in->base, 8);
  std::memcpy(arguments.data() + 16, &count, 4);
  emulator::LaunchRequest request;
  request.kernel = device.find_kernel(*loaded, "k");
  request.grid = {(count + 127) / 128, 1, 1};
  request.block = {128, 1, 1};
  request.cluster = {1, 1, 1};
  request.parameters = arguments;
  const auto result = device.launch(request);
  if (result.status != emulator::LaunchStatus::ok) throw std::runtime_error(operation.text + ": " + result.detail);
  std::vector<std::uint64_t> answers(count);
  std::memcpy(answers.data(), out->data, std::uint64_t{count} * 8);
  return answers;
}

std::vector<std::uint64_t> emulate_slowly(const Operation& operation, const std::vector<std::size_t>& chosen) {
  auto module = ptx::parse(ptx_of(operation));
  if (!module) throw std::runtime_error(operation.text + ": " + to_string(module.error()));
  emulator::ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  std::vector<std::uint64_t> all = combinations(operation), values;
  for (const std::size_t i : chosen) values.insert(values.end(), all.begin() + static_cast<std::ptrdiff_t>(3 * i), all.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
  const auto count = static_cast<std::uint32_t>(values.size() / 3);
  const std::uint64_t in = engine.allocate(values.size() * 8), out = engine.allocate(std::uint64_t{count} * 8);
  std::memcpy(engine.bytes(in).data(), values.data(), values.size() * 8);
  std::vector<std::byte> arguments(20);
  std::memcpy(arguments.data(), &out, 8);
  std::memcpy(arguments.data() + 8, &in, 8);
  std::memcpy(arguments.data() + 16, &count, 4);
  const auto result = engine.launch({"k", {(count + 127) / 128, 1, 1}, {128, 1, 1}, 0, arguments});
  if (!result.error.empty()) throw std::runtime_error(operation.text + ": " + result.error);
  std::vector<std::uint64_t> answers(count);
  std::memcpy(answers.data(), engine.bytes(out).data(), std::uint64_t{count} * 8);
  return answers;
}

}  // namespace kforge::h200
