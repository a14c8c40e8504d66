// .nv.info is a list of attributes: u8 format, u8 id, u16 value, and for format 4 `value` bytes after it. Attributes 0x2f
// (register count) and 0x11 (frame size) hold a symbol index and a number (measured on CUDA 13.0).
#include "cudart/cubin.h"

#include <cstring>
#include <optional>
#include <vector>

namespace kforge::cudart {
namespace {

template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Section { std::string_view name, content; std::uint32_t link = 0; };

std::string_view text_at(std::string_view strings, std::uint64_t offset) {
  return offset < strings.size() ? strings.substr(offset, strings.find('\0', offset) - offset) : std::string_view{};
}

std::vector<Section> sections_of(std::string_view elf) {
  constexpr std::uint64_t kHeader = 64;
  constexpr std::uint32_t kNoBits = 8;
  if (!elf.starts_with("\x7f" "ELF\x02\x01")) return {};
  const std::uint64_t table = at<std::uint64_t>(elf, 0x28), count = at<std::uint16_t>(elf, 0x3c), names = at<std::uint16_t>(elf, 0x3e);
  if (at<std::uint16_t>(elf, 0x3a) != kHeader || names >= count || table > elf.size() || count * kHeader > elf.size() - table) return {};
  std::vector<Section> sections(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = table + i * kHeader, offset = at<std::uint64_t>(elf, header + 24), size = at<std::uint64_t>(elf, header + 32);
    if (at<std::uint32_t>(elf, header + 4) != kNoBits && offset <= elf.size() && size <= elf.size() - offset)
      sections[i].content = elf.substr(offset, size);
    sections[i].link = at<std::uint32_t>(elf, header + 40);
  }
  for (std::uint64_t i = 0; i < count; ++i) sections[i].name = text_at(sections[names].content, at<std::uint32_t>(elf, table + i * kHeader));
  return sections;
}

std::vector<std::string_view> symbols_of(const std::vector<Section>& sections) {
  constexpr std::uint64_t kSymbol = 24;
  std::vector<std::string_view> symbols;
  for (const Section& section : sections) {
    if (section.name != ".symtab" || section.link >= sections.size()) continue;
    for (std::uint64_t offset = 0; offset + kSymbol <= section.content.size(); offset += kSymbol)
      symbols.push_back(text_at(sections[section.link].content, at<std::uint32_t>(section.content, offset)));
  }
  return symbols;
}

}  // namespace

std::map<std::string, CubinKernel, std::less<>> read_cubin(std::string_view cubin) {
  constexpr std::uint8_t kSized = 4, kFrameSize = 0x11, kRegisterCount = 0x2f;
  const std::vector<Section> sections = sections_of(cubin);
  const std::vector<std::string_view> symbols = symbols_of(sections);
  std::map<std::string, CubinKernel, std::less<>> kernels;
  for (const Section& section : sections) {
    if (section.name != ".nv.info") continue;
    for (std::uint64_t offset = 0; offset + 4 <= section.content.size();) {
      const auto format = at<std::uint8_t>(section.content, offset), id = at<std::uint8_t>(section.content, offset + 1);
      const auto symbol = at<std::uint32_t>(section.content, offset + 4), value = at<std::uint32_t>(section.content, offset + 8);
      if (format == kSized && symbol < symbols.size() && (id == kRegisterCount || id == kFrameSize)) {
        CubinKernel& kernel = kernels[std::string(symbols[symbol])];
        (id == kRegisterCount ? kernel.registers : kernel.frame_bytes) = static_cast<int>(value);
      }
      offset += 4 + (format == kSized ? at<std::uint16_t>(section.content, offset + 2) : 0u);
    }
  }
  return kernels;
}

}  // namespace kforge::cudart
