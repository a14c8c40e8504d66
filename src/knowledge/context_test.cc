#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/paths.h"
#include "knowledge/context_index.h"
#include "knowledge/context_text.h"

namespace kforge::knowledge {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ContextFolder : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_.path() / "docs" / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  ContextIndex open(std::vector<std::string> folders = {}) const {
    fs::create_directories(folder_.path() / "docs");
    if (folders.empty()) folders = {(folder_.path() / "docs").string()};
    auto index = ContextIndex::open(folders, folder_.path() / "index.db");
    EXPECT_TRUE(index) << (index ? "" : to_string(index.error()));
    return std::move(*index);
  }
  static std::vector<std::string> files(const Expected<std::vector<ContextPassage>>& passages) {
    std::vector<std::string> out;
    for (const ContextPassage& p : *passages) out.push_back(fs::path(p.file).filename().string());
    return out;
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::create("kforge-context");
};

TEST_F(ContextFolder, APassageIsCitedByFileAndLines) {
  write("tiles.md", "# Tiles\n\nAbout tiles.\n\n## Padding\n\nPad each row by one word,\nso that columns do not conflict.\n\n## Other\n\nNothing.\n");
  auto index = open();
  const auto found = index.search("padding conflicts", 5);   // the ending does not count
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->empty());
  EXPECT_EQ(found->front().file, at("tiles.md"));
  EXPECT_EQ(found->front().first_line, 5u);
  EXPECT_EQ(found->front().last_line, 9u);
  EXPECT_THAT(found->front().text, HasSubstr("Pad each row by one word,"));
}

TEST_F(ContextFolder, InstructionsWithDotsAreFoundWholeAndInParts) {
  write("ptx.txt", "cp.async.bulk copies.\n");
  write("other.txt", "An async call.\n");
  auto index = open();
  EXPECT_THAT(files(index.search("cp.async.bulk.tensor", 5)), ElementsAre("ptx.txt", "other.txt"));
}

TEST_F(ContextFolder, TheQuerysOperatorsAreWords) {
  write("a.txt", "alpha beta\n");
  auto index = open();
  for (const char* query : {"alpha AND", "\"alpha", "alpha*", "NEAR(alpha", "title:alpha", "alpha' OR 1=1 --", "(alpha", "^alpha", "{alpha} : -"}) {
    const auto found = index.search(query, 5);
    ASSERT_TRUE(found) << query;
    EXPECT_EQ(found->size(), 1u) << query;
  }
  const auto none = index.search(" \"*() ", 5);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::bad_input);
}

TEST_F(ContextFolder, PagesAreReadWithoutTagsAndScripts) {
  write("page.html",
        "<!DOCTYPE html>\n<html><head><title>Guide</title><script>var secretword = 1 < 2;</script><style>b{secretword}</style></head>\n<body>\n<h2>Warp&nbsp;shuffles</h2>\n"
        "<p>Lanes <b>ex</b>change\nvalues &lt;fast&gt;.</p>\n<pre>__shfl_sync(\n  mask);</pre>\n</body></html>\n");
  auto index = open();
  const auto found = index.search("exchange values", 5);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().first_line, 4u);
  EXPECT_THAT(found->front().text, AllOf(HasSubstr("Lanes exchange values <fast>."), HasSubstr("__shfl_sync(\n  mask);"), Not(HasSubstr("<b>"))));
  EXPECT_THAT(*index.search("secretword", 5), IsEmpty());
}

TEST_F(ContextFolder, DeeplyNestedPagesAreLeftOut) {
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<div>";
  write("deep.html", deep + "needle");
  write("fine.html", "<ul>" + std::string(3'000, ' ') + "<li>needle <br><br> <p>one<p>two</ul>");
  auto index = open();
  EXPECT_THAT(files(index.search("needle", 5)), ElementsAre("fine.html"));
  EXPECT_THAT(index.notes(), ElementsAre(AllOf(HasSubstr("deep.html"), HasSubstr("nest too deeply"))));
}

TEST_F(ContextFolder, ChangesAdditionsAndDeletionsAreSeen) {
  write("a.txt", "first\n");
  write("b.txt", "stays\n");
  EXPECT_THAT(files(open().search("first", 5)), ElementsAre("a.txt"));
  write("a.txt", "later\n");      // of equal size, and within the time stamp's resolution
  write("c.txt", "more\n");
  EXPECT_THAT(files(open().search("first", 5)), IsEmpty());
  EXPECT_THAT(files(open().search("later", 5)), ElementsAre("a.txt"));
  EXPECT_THAT(files(open().search("more", 5)), ElementsAre("c.txt"));
  fs::remove(at("c.txt"));
  EXPECT_THAT(files(open().search("more", 5)), IsEmpty());
  EXPECT_THAT(files(open().search("stays", 5)), ElementsAre("b.txt"));
}

TEST_F(ContextFolder, FoldersAreSearchedTogetherAndNoOtherOne) {
  write("one/a.txt", "needle\n");
  write("two/a.txt", "needle\n");
  write("two-more/a.txt", "needle\n");
  static_cast<void>(open());
  auto index = open({at("one"), at("two")});
  const auto found = index.search("needle", 5);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre(Field(&ContextPassage::file, at("one/a.txt")), Field(&ContextPassage::file, at("two/a.txt"))));
}

TEST_F(ContextFolder, LoopsOfLinksEndAndLinksOutAreNotFollowed) {
  write("sub/a.txt", "needle\n");
  fs::create_directory_symlink(at(""), at("sub/loop"));
  std::ofstream(folder_.path() / "outside.txt") << "needle outside\n";
  fs::create_symlink(folder_.path() / "outside.txt", at("sub/out.txt"));
  fs::create_symlink(at("nowhere.txt"), at("sub/broken.txt"));
  auto index = open();
  EXPECT_THAT(files(index.search("needle", 5)), ElementsAre("a.txt"));
  EXPECT_THAT(index.notes(), AllOf(Contains(HasSubstr("a link out of the folder")), Contains(HasSubstr("a link that leads nowhere"))));
}

TEST_F(ContextFolder, WhatIsNoTextIsNamedAndLeftOut) {
  write("binary.txt", std::string("needle\0needle", 13));
  write("picture.png", "needle");
  write(".git/config.txt", "needle");
  write("latin.txt", "needle \xE9t\xE9\n");
  ASSERT_EQ(::mkfifo(at("pipe.txt").c_str(), 0600), 0);
  std::ofstream(at("huge.txt")).close();
  fs::resize_file(at("huge.txt"), 100u << 20);
  auto index = open();
  EXPECT_THAT(files(index.search("needle", 5)), ElementsAre("latin.txt"));
  EXPECT_THAT(index.notes(), AllOf(Contains(HasSubstr("binary content")), Contains(HasSubstr("no regular file")), Contains(HasSubstr("100.0 MiB are more than"))));
  EXPECT_EQ(index.notes().size(), 3u);
}

TEST_F(ContextFolder, AFileThatCannotBeReadIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write("closed.txt", "needle\n");
  fs::permissions(at("closed.txt"), fs::perms::none);
  EXPECT_THAT(open().notes(), ElementsAre(HasSubstr("closed.txt")));
}

TEST_F(ContextFolder, PdfIsReadWherePdftotextIsThere) {
  // The smallest page with a text, written by hand; a missing cross-reference table is mended by readers.
  write("paper.pdf",
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
        "4 0 obj<</Length 56>>stream\nBT /F1 18 Tf 20 100 Td (Roofline needle in paper) Tj ET      \nendstream endobj\n"
        "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n");
  auto index = open();
  if (find_program("pdftotext")) EXPECT_THAT(files(index.search("roofline needle", 5)), ElementsAre("paper.pdf"));
  else EXPECT_THAT(index.notes(), ElementsAre(HasSubstr("poppler-utils")));
}

TEST_F(ContextFolder, NoBytesBreakTheReaderOfPages) {
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  const std::vector<std::string> pieces{"<div>", "</div>", "<p", ">", "<pre>", "\n", "&amp;", "&#x110000;", "<table><tr><td>", "</table>", "<!--", "-->", "<script>", "</script>", "word ", "<svg>", "<template>", "\xff\xc3", "<h2>", "<li>", "'\"", "<![CDATA["};
  for (int i = 0; i < 500; ++i) {
    std::string page;
    for (unsigned length = random() % 200; length > 0; --length) page += pieces[random() % pieces.size()];
    const auto lines = html_lines(page, "page.html");
    ASSERT_TRUE(lines) << "seed " << kSeed << ", round " << i;
    int before = 0;
    for (const ContextLine& line : *lines) before = std::max(before, line.number);
    EXPECT_LE(before, 1 + std::count(page.begin(), page.end(), '\n'));
    static_cast<void>(cut_into_passages(*lines, ContextKind::html));
  }
}

TEST_F(ContextFolder, LongLinesAndLongFilesBecomePassagesOfBoundedSize) {
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += "line\n";
  write("long.txt", lines + std::string(20'000, 'x') + " " + std::string(5'000, '\xC3') + "\n");
  for (const TextPassage& p : cut_into_passages(*context_lines({at("long.txt"), ContextKind::text, 30'000, 0}), ContextKind::text)) {
    EXPECT_LE(p.text.size(), 4'001u);
    EXPECT_LE(p.last_line - p.first_line, 60);
  }
}

TEST_F(ContextFolder, CodeIsCutWhereAFunctionEnds) {
  std::string code = "void first() {\n";
  for (int i = 0; i < 30; ++i) code += "  step();\n";
  code += "}\nvoid second() {\n  needle();\n}\n";
  write("a.cu", code);
  const auto found = open().search("needle", 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().first_line, 33u);
}

TEST_F(ContextFolder, OnlyLinesOfTheIndexAreRead) {
  write("a.txt", "one\ntwo\nthree\n");
  std::ofstream(folder_.path() / "outside.txt") << "secret\n";
  auto index = open();
  const auto read = index.read(at("a.txt"), 2, 2);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->text, HasSubstr("two"));
  for (const std::string& file : {at("../outside.txt"), (folder_.path() / "outside.txt").string(), std::string("/etc/passwd"), std::string("")}) EXPECT_FALSE(index.read(file, 1, 9)) << file;
  EXPECT_FALSE(index.read(at("a.txt"), 50, 60));
}

TEST_F(ContextFolder, TwoOpenAtOnce) {
  for (int i = 0; i < 250; ++i) write("f" + std::to_string(i) + ".txt", "needle " + std::to_string(i) + "\n");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { EXPECT_EQ(open().search("needle", 1'000)->size(), 250u); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ContextFolder, AFolderThatIsNotThereIsAnError) {
  const auto index = ContextIndex::open({at("nowhere")}, folder_.path() / "index.db");
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace kforge::knowledge
