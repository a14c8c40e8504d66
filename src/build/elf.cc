#include "build/elf.h"

#include <elf.h>

#include <cstring>
#include <optional>

namespace kforge::build {
namespace {

constexpr std::size_t kLongestName = 1 << 14;

template <class T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  return offset > bytes.size() || size > bytes.size() - offset ? std::string_view{} : bytes.substr(offset, size);
}

std::string_view name_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  // Many symbols may share one endless name: what is longer than any compiler's is cut.
  const std::string_view rest = strings.substr(offset, kLongestName);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

Expected<ElfFile> ElfFile::parse(std::string_view bytes) {
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::failed, "not a 64-bit little-endian ELF object");
  }
  std::vector<Elf64_Shdr> table;
  for (std::uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto row = read<Elf64_Shdr>(bytes, header->e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
    if (!row) return fail(ErrorCode::failed, "the section table of the ELF object is cut off");
    table.push_back(*row);
  }
  if (header->e_shstrndx >= table.size()) return fail(ErrorCode::failed, "the ELF object has no section names");
  const std::string_view names = slice(bytes, table[header->e_shstrndx].sh_offset, table[header->e_shstrndx].sh_size);
  ElfFile file;
  for (const Elf64_Shdr& row : table) {
    const bool has_bytes = row.sh_type != SHT_NOBITS && row.sh_type != SHT_NULL;
    file.sections_.push_back({name_at(names, row.sh_name), has_bytes ? slice(bytes, row.sh_offset, row.sh_size) : std::string_view{}});
  }
  for (std::uint32_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(bytes, header->e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return fail(ErrorCode::failed, "the segment table of the ELF object is cut off");
    const bool runs = (segment->p_flags & PF_X) != 0, written = (segment->p_flags & PF_W) != 0;
    if (segment->p_type == PT_GNU_STACK) file.executable_stack_ = runs;
    file.writable_code_ |= segment->p_type == PT_LOAD && runs && written;
  }
  return file;
}

std::string_view ElfFile::section(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return section.content;
  }
  return {};
}

std::vector<ElfSymbol> ElfFile::dynamic_symbols() const {
  const std::string_view symbols = section(".dynsym"), strings = section(".dynstr");
  std::vector<ElfSymbol> out;
  for (std::uint64_t offset = sizeof(Elf64_Sym); auto symbol = read<Elf64_Sym>(symbols, offset); offset += sizeof(Elf64_Sym)) {
    const unsigned binding = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    out.push_back({std::string(name_at(strings, symbol->st_name)), symbol->st_shndx != SHN_UNDEF, binding == STB_WEAK,
                   binding == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL});
  }
  return out;
}

std::vector<std::string> ElfFile::needed_libraries() const {
  const std::string_view entries = section(".dynamic"), strings = section(".dynstr");
  std::vector<std::string> out;
  for (std::uint64_t offset = 0; auto entry = read<Elf64_Dyn>(entries, offset); offset += sizeof(Elf64_Dyn)) {
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) out.emplace_back(name_at(strings, entry->d_un.d_val));
  }
  return out;
}

}  // namespace kforge::build
