// The reader of NVIDIA's container, on containers built here byte by byte and damaged in every place.
#include "ptx/fatbin.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <string>

namespace kforge::ptx {
namespace {

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::string entry(std::uint16_t kind, std::uint32_t sm, std::uint64_t flags, const std::string& stored, std::uint64_t plain_bytes) {
  std::string payload = stored;
  payload.resize((payload.size() + 7) / 8 * 8);
  std::string header(64, '\0');
  put<std::uint16_t>(header, 0, kind);
  put<std::uint32_t>(header, 4, 64);
  put<std::uint64_t>(header, 8, payload.size());
  put<std::uint32_t>(header, 16, static_cast<std::uint32_t>(stored.size()));
  put<std::uint32_t>(header, 28, sm);
  put<std::uint64_t>(header, 40, flags);
  put<std::uint64_t>(header, 56, plain_bytes);
  return header + payload;
}

std::string container(const std::string& entries) {
  std::string header(16, '\0');
  put<std::uint32_t>(header, 0, kFatbinMagic);
  put<std::uint16_t>(header, 4, 1);
  put<std::uint16_t>(header, 6, 16);
  put<std::uint64_t>(header, 8, entries.size());
  return header + entries;
}

std::string zstd(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  return packed;
}

std::string lz4(const std::string& plain) {
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))), '\0');
  packed.resize(static_cast<std::size_t>(
      LZ4_compress_default(plain.data(), packed.data(), static_cast<int>(plain.size()), static_cast<int>(packed.size()))));
  return packed;
}

std::string ptx(const std::string& target) { return ".version 9.0\n.target " + target + "\n.address_size 64\n// " + std::string(200, 'x') + "\n"; }

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Fatbin, ReadsPlainZstdAndLz4Entries) {
  const std::string a = ptx("sm_75"), b = ptx("sm_80"), c = ptx("sm_90");
  const std::string blob = container(entry(1, 75, 0, a, 0) + entry(1, 80, 0x8000, zstd(b), b.size()) + entry(1, 90, 0x2000, lz4(c), c.size()));
  const Fatbin fatbin = read_fatbin(bytes(blob));
  EXPECT_EQ(fatbin.error, "");
  ASSERT_EQ(fatbin.entries.size(), 3u);
  EXPECT_EQ(fatbin.entries[0].data, a);
  EXPECT_EQ(fatbin.entries[1].data, b);
  EXPECT_EQ(fatbin.entries[2].data, c);
}

TEST(Fatbin, ChoosesTheHighestTargetThatTheGpuHas) {
  std::string entries;
  for (const char* target : {"sm_75", "sm_90", "sm_90a", "sm_100f", "sm_80"}) {
    const std::string text = ptx(target);
    entries += entry(1, 0, 0, text, 0);
  }
  const std::string blob = container(entries);
  const Fatbin fatbin = read_fatbin(bytes(blob));
  const auto chosen = [&](std::uint32_t sm) {
    const FatbinEntry* best = best_ptx(fatbin, sm);
    if (best == nullptr) return std::string("none");
    const PtxTarget target = ptx_target(best->data);
    return std::to_string(target.sm) + (target.suffix ? std::string(1, target.suffix) : "");
  };
  EXPECT_EQ(chosen(70), "none");
  EXPECT_EQ(chosen(75), "75");
  EXPECT_EQ(chosen(86), "80");
  EXPECT_EQ(chosen(90), "90a");
  EXPECT_EQ(chosen(103), "100f");
  EXPECT_EQ(chosen(120), "90");
}

TEST(Fatbin, FindsTheTargetOfTextsThatOldCompilersIndented) {
  EXPECT_EQ(ptx_target("\t.version 1.4\n\t.target sm_10, map_f64_to_f32\n").sm, 10u);
}

TEST(Fatbin, RunsOnlyCubinsOfTheSameMajor) {
  const std::string blob = container(entry(2, 80, 0, "a", 0) + entry(2, 86, 0, "b", 0) + entry(2, 90, 0, "c", 0));
  const Fatbin fatbin = read_fatbin(bytes(blob));
  EXPECT_EQ(best_cubin(fatbin, 75), nullptr);
  EXPECT_EQ(best_cubin(fatbin, 80)->sm, 80u);
  EXPECT_EQ(best_cubin(fatbin, 89)->sm, 86u);
  EXPECT_EQ(best_cubin(fatbin, 90)->sm, 90u);
}

TEST(Fatbin, SurvivesEveryTruncationAndEveryByteSetToOnes) {
  const std::string text = ptx("sm_90");
  const std::string blob = container(entry(1, 90, 0x8000, zstd(text), text.size()) + entry(2, 90, 0, "cubin", 0));
  for (std::size_t size = 0; size < blob.size(); ++size) {
    const std::string cut = blob.substr(0, size);
    const Fatbin fatbin = read_fatbin(bytes(cut));
    EXPECT_TRUE(size < 16 || !fatbin.error.empty()) << size;
  }
  for (std::size_t i = 0; i < blob.size(); ++i) {
    std::string damaged = blob;
    damaged[i] = '\xff';
    EXPECT_LE(read_fatbin(bytes(damaged)).entries.size(), 2u) << i;
  }
}

TEST(Fatbin, RefusesToUnpackWithoutEnd) {
  const std::string blob = container(entry(1, 90, 0x8000, zstd("x"), std::uint64_t{1} << 40));
  EXPECT_NE(read_fatbin(bytes(blob)).error.find("limit"), std::string::npos);
}

}  // namespace
}  // namespace kforge::ptx
