#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge {
namespace {

TEST(Hash, IsXxh3With128Bits) {
  // Published value for the empty input (xxHash's own test vectors, seed 0).
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(hash_hex("a"), hash_hex("b"));
}

TEST(Hash, StreamingEqualsOneShot) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  for (const std::size_t cut : {0, 1, 239, 240, 241, 256, 1024, 4999, 5000}) {
    Hasher hasher;
    hasher.update(text.substr(0, cut)).update(text.substr(cut));
    EXPECT_EQ(hasher.hex(), hash_hex(text)) << cut;
  }
}

TEST(Hash, FieldsDoNotRunTogether) {
  EXPECT_NE(Hasher().field("ab").field("c").hex(), Hasher().field("a").field("bc").hex());
  EXPECT_NE(Hasher().field("").field("a").hex(), Hasher().field("a").field("").hex());
}

TEST(Hash, FilesAreStreamed) {
  auto folder = TemporaryDirectory::create();
  const std::string text(1'000'000, 'k');
  ASSERT_TRUE(write_file_atomic(folder->path() / "a", text));
  EXPECT_EQ(hash_file(folder->path() / "a").value(), hash_hex(text));
  EXPECT_EQ(hash_file(folder->path() / "b").error().code, ErrorCode::bad_input);
  EXPECT_EQ(hash_file(folder->path()).error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace kforge
