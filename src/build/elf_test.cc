// The ELF reader on an object of the real compiler, and on what a hostile file could be made of.
#include "build/elf.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <cstring>

#include "base/files.h"
#include "base/process.h"
#include "build/compile.h"

namespace kforge::build {
namespace {

constexpr std::string_view kSource = R"(
int offered(void) { return 1; }
__attribute__((weak)) int weak(void) { return 2; }
__attribute__((visibility("hidden"))) int hidden(void) { return 3; }
int asked_for(void);
int calls(void) { return asked_for() + hidden(); }
__attribute__((constructor)) static void early(void) {}
)";

// A shared object of a few functions, built once.
const std::string& object() {
  static const std::string bytes = [] {
    const auto folder = TemporaryDirectory::create("elf_test");
    const std::string source = (folder->path() / "a.cc").string(), shared = (folder->path() / "a.so").string();
    ProcessRequest compile;
    compile.arguments = {*find_host_compiler(), "-xc++", "-shared", "-fPIC", "-o", shared, source};
    if (!write_file_atomic(source, kSource) || !run_process(compile)) return std::string();
    return read_file(shared, 1 << 24).value_or("");
  }();
  return bytes;
}

const ElfSymbol* find(const std::vector<ElfSymbol>& symbols, std::string_view part) {
  const auto at = std::find_if(symbols.begin(), symbols.end(), [&](const ElfSymbol& s) { return s.name.find(part) != std::string::npos; });
  return at == symbols.end() ? nullptr : &*at;
}

void use(std::string_view bytes) {
  const auto file = ElfFile::parse(bytes);
  if (!file) return;
  for (const ElfSymbol& symbol : file->dynamic_symbols()) ASSERT_LE(symbol.name.size(), bytes.size());
  ASSERT_LE(file->constructor_count() * 8, bytes.size());
}

TEST(Elf, SymbolsOfARealObject) {
  const auto file = ElfFile::parse(object());
  ASSERT_TRUE(file);
  const auto symbols = file->dynamic_symbols();
  const ElfSymbol *offered = find(symbols, "offered"), *weak = find(symbols, "weak"), *asked = find(symbols, "asked_for");
  ASSERT_TRUE(offered && weak && asked);
  EXPECT_TRUE(offered->defined && !offered->weak && !offered->hidden);
  EXPECT_TRUE(weak->defined && weak->weak);
  EXPECT_FALSE(asked->defined);
  EXPECT_EQ(find(symbols, "hidden"), nullptr);
  EXPECT_GE(file->constructor_count(), 1u);
}

TEST(Elf, EveryCutIsAnErrorOrAReadableFile) {
  ASSERT_FALSE(object().empty());
  for (std::size_t size = 0; size < object().size(); size += size < 4096 ? 1 : 61) use(std::string_view(object()).substr(0, size));
}

TEST(Elf, EveryByteOfTheTablesMayBeWrong) {
  ASSERT_FALSE(object().empty());
  Elf64_Ehdr header;
  std::memcpy(&header, object().data(), sizeof(header));
  const auto spoil = [](std::size_t from, std::size_t count) {
    std::string bytes = object();
    for (std::size_t at = from; at < std::min(from + count, bytes.size()); ++at) {
      for (const int value : {0x00, 0x7f, 0xff}) {
        const char kept = std::exchange(bytes[at], static_cast<char>(value));
        use(bytes);
        bytes[at] = kept;
      }
    }
  };
  spoil(0, sizeof(header));
  spoil(header.e_shoff, std::size_t{header.e_shnum} * sizeof(Elf64_Shdr));
}

TEST(Elf, WhatIsNoObjectIsAnError) {
  for (const std::string_view text : {std::string_view(), std::string_view("\x7f" "ELF"), std::string_view("#!/bin/sh\n")}) {
    const auto file = ElfFile::parse(text);
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().message, ::testing::HasSubstr("ELF"));
  }
}

// 50,000 symbols that share one endless name would be 50,000 copies of it.
TEST(Elf, EndlessNamesAreCut) {
  const std::size_t symbols = 50'000, name = 1 << 20;
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  const std::string section_names = std::string("\0.dynsym\0.dynstr\0.names\0", 24);
  Elf64_Sym symbol{};
  symbol.st_shndx = 1;
  const std::size_t names_at = bytes.size(), strings_at = names_at + section_names.size(), symbols_at = strings_at + name;
  bytes += section_names + std::string(name, 'x');
  for (std::size_t i = 0; i < symbols; ++i) bytes.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
  const auto section = [&](std::uint32_t label, std::uint64_t offset, std::uint64_t size) {
    Elf64_Shdr row{};
    row.sh_name = label, row.sh_type = SHT_PROGBITS, row.sh_offset = offset, row.sh_size = size;
    bytes.append(reinterpret_cast<const char*>(&row), sizeof(row));
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = bytes.size(), header.e_shnum = 3, header.e_shstrndx = 2;
  section(1, symbols_at, symbols * sizeof(symbol));
  section(9, strings_at, name);
  section(17, names_at, section_names.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file);
  std::size_t total = 0;
  for (const ElfSymbol& read : file->dynamic_symbols()) total += read.name.size();
  EXPECT_LE(total, symbols * (std::size_t{1} << 14));
  EXPECT_EQ(file->dynamic_symbols().size(), symbols - 1);
}

}  // namespace
}  // namespace kforge::build
