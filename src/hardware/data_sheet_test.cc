#include "hardware/data_sheet.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "hardware/gpu_rows.h"
#include "hardware/roofline.h"

namespace kforge::hardware {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = std::string(KFORGE_SOURCE_DIR) + "/data/gpus/";

std::vector<DataSheet> all_sheets() {
  std::vector<DataSheet> sheets;
  for (const std::string& name : sheet_names()) {
    auto sheet = find_sheet(name);
    EXPECT_TRUE(sheet) << to_string(sheet.error());
    if (sheet) sheets.push_back(*sheet);
  }
  return sheets;
}

std::string text_of(const std::string& name) {
  auto text = read_file(kFolder + name + ".toml");
  EXPECT_TRUE(text);
  return text ? *text : "";
}

double off(double value, double expected) { return std::fabs(value / expected - 1); }

TEST(DataSheets, EveryFileIsNamedAndEveryNameIsAFile) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().stem());
  EXPECT_THAT(files, ::testing::UnorderedElementsAreArray(sheet_names()));
  EXPECT_EQ(sheet_names().size(), 17u);
  for (const DataSheet& s : all_sheets()) EXPECT_THAT(sheet_names(), ::testing::Contains(s.name));
}

TEST(DataSheets, TheEmbeddedSheetIsTheFile) {
  for (const std::string& name : sheet_names()) {
    auto embedded = find_sheet(name);
    auto file = find_sheet(kFolder + name + ".toml");
    ASSERT_TRUE(embedded && file) << name;
    EXPECT_EQ(embedded->name, name);
    EXPECT_EQ(embedded->sources, file->sources);
    EXPECT_EQ(describe(*embedded), describe(*file));
  }
}

TEST(DataSheets, NoKeyLacksASource) {
  for (const DataSheet& s : all_sheets()) {
    std::size_t keys = 0;
    const std::string text = text_of(s.name);
    for (std::string_view line : split_lines(text)) keys += line.find(" = {") != line.npos;
    EXPECT_EQ(s.sources.size(), keys) << s.name;
    for (const auto& [key, source] : s.sources) EXPECT_GE(trim(source).size(), 8u) << s.name << " " << key;
    for (const auto& [type, ops] : s.tensor_ops) EXPECT_TRUE(s.sources.contains("tensor_ops." + type)) << s.name;
  }
}

// fp32: lanes x SMs x boost clock x 2; tensor: operations x SMs x the clock the vendor quotes it at.
TEST(DataSheets, RatesAreTheQuotedOnesWithinThreePercent) {
  for (const DataSheet& s : all_sheets()) {
    EXPECT_LT(off(s.fp32_lanes * s.multiprocessors * s.boost_mhz * 2e6, s.quoted_fp32_tflops * 1e12), 0.03) << s.name;
    double tensor = s.tensor_ops.at("f16") * s.multiprocessors * s.tensor_mhz * 1e6;
    EXPECT_LT(off(tensor, s.quoted_f16_tensor_tflops * 1e12), 0.03) << s.name;
    EXPECT_LT(off(s.memory_bus_bits / 8.0 * s.memory_gbit_per_pin * 1e9, s.dram_bytes_per_s), 0.03) << s.name;
  }
}

TEST(DataSheets, TheOrderOfMagnitudesHolds) {
  for (const DataSheet& s : all_sheets()) {
    EXPECT_GT(s.l2_bytes_per_s, s.dram_bytes_per_s) << s.name;
    EXPECT_GT(s.dram_latency, s.l2_latency) << s.name;
    EXPECT_GT(s.l2_latency, s.l1_latency) << s.name;
    EXPECT_GE(s.l1_latency, s.shared_latency) << s.name;
    EXPECT_GT(s.shared_latency, s.alu_latency) << s.name;
    EXPECT_GT(s.memory_bytes, s.l2_bytes) << s.name;
    EXPECT_EQ(s.max_blocks_per_sm > 0 && s.max_warps_per_sm % s.schedulers_per_sm == 0, true) << s.name;
    EXPECT_EQ(s.max_cluster_blocks > 1, s.sm() >= 90) << s.name;
    EXPECT_EQ(s.shared_reserved_per_block > 0, s.sm() >= 80) << s.name;
  }
}

// Every limit that the toolkit ties to the compute capability is the same on all parts of it.
TEST(DataSheets, PartsOfOneArchitectureShareTheirSm) {
  const std::vector<DataSheet> sheets = all_sheets();
  for (const DataSheet& a : sheets)
    for (const DataSheet& b : sheets) {
      if (a.sm() != b.sm()) continue;
      EXPECT_EQ(a.max_warps_per_sm, b.max_warps_per_sm);
      EXPECT_EQ(a.max_blocks_per_sm, b.max_blocks_per_sm);
      EXPECT_EQ(a.shared_bytes_per_sm, b.shared_bytes_per_sm);
      EXPECT_EQ(a.l1_bytes, b.l1_bytes);
      EXPECT_EQ(a.fp32_lanes, b.fp32_lanes);
      EXPECT_EQ(a.fp64_lanes, b.fp64_lanes);
    }
}

TEST(FindSheet, TakesAliasesCaseAndPaths) {
  EXPECT_EQ(find_sheet("a100")->name, "a100-80");
  EXPECT_EQ(find_sheet("h100")->name, "h100-sxm");
  EXPECT_EQ(find_sheet("H200")->name, "h200");
  EXPECT_EQ(find_sheet(kFolder + "t4.toml")->name, "t4");
  EXPECT_THAT(sheet_aliases("a100-80"), ::testing::ElementsAre("a100"));
}

TEST(FindSheet, AnUnknownNameNamesTheNearest) {
  auto wrong = find_sheet("h20");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::bad_input);
  EXPECT_THAT(wrong.error().message, HasSubstr("'h20'"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("did you mean 'h200'"));
  EXPECT_THAT(find_sheet("").error().hint, HasSubstr("known: v100"));
  EXPECT_EQ(find_sheet("this").error().code, ErrorCode::missing);
  EXPECT_THAT(find_sheet("/nonexistent/x.toml").error().where.file + find_sheet("/nonexistent/x.toml").error().message,
              HasSubstr("/nonexistent/x.toml"));
}

TEST(Untargetable, SaysWhyInOneSentence) {
  for (const DataSheet& s : all_sheets()) {
    std::string reason = untargetable_reason(s);
    bool cannot = s.name == "v100" || s.name == "b200" || s.name == "rtx5090";
    EXPECT_EQ(!reason.empty(), cannot) << s.name << ": " << reason;
    if (cannot) {
      EXPECT_THAT(reason, HasSubstr(s.name));
    }
  }
  EXPECT_THAT(untargetable_reason(*find_sheet("v100")), HasSubstr("nvcc 13.0 dropped sm_70"));
  EXPECT_THAT(untargetable_reason(*find_sheet("b200")), HasSubstr("sm_75 to sm_90"));
}

TEST(GpuRows, HoldWhatTheTablePrints) {
  auto rows = gpu_rows();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 17u);
  const GpuRow& h200 = (*rows)[13];
  EXPECT_EQ(h200.name, "h200");
  EXPECT_EQ(h200.sm, 90);
  EXPECT_EQ(h200.multiprocessors, 132);
  EXPECT_NEAR(h200.fp32_tflops, 66.9, 0.1);
  EXPECT_EQ(h200.untargetable, "");
  std::string text = join(describe(*find_sheet("v100")), "\n");
  for (const char* part : {"v100", "NVIDIA Tesla V100", "sm_70", "80 at 1530 MHz", "HBM2", "900 GB/s", "fp32 15.7", "not a target"})
    EXPECT_THAT(text, HasSubstr(part));
}

// --- malformed sheets ---

struct Broken {
  const char* what;
  const char* from;     // a line of t4.toml begins with this
  std::string to;       // and is replaced by this
  const char* message;
  const char* hint;
};

std::string replace_line(const std::string& text, std::string_view start, const std::string& with, int* line) {
  std::string result;
  int number = 0;
  for (std::string_view each : split_lines(text)) {
    ++number;
    bool hit = each.starts_with(start);
    if (hit) *line = number;
    result += (hit ? with : std::string(each)) + "\n";
  }
  return result;
}

TEST(ReadSheet, NamesFileLineKeyAndTheNearestKey) {
  const std::string source = ", source = \"a document\" }";
  const Broken cases[] = {
      {"misspelt key", "boost_mhz", "bost_mhz = { value = 1590" + source, "unknown key 'bost_mhz'", "did you mean 'boost_mhz'"},
      {"unknown key", "boost_mhz", "colour = { value = 1" + source, "unknown key 'colour'", "docs/gpus.md"},
      {"no source", "boost_mhz", "boost_mhz = { value = 1590 }", "'boost_mhz' has no source", "source = "},
      {"empty source", "boost_mhz", "boost_mhz = { value = 1590, source = \" \" }", "'boost_mhz' has no source", "source = "},
      {"bare number", "boost_mhz", "boost_mhz = 1590", "'boost_mhz' has no source", "source = "},
      {"no value", "boost_mhz", "boost_mhz = { source = \"a document\" }", "'boost_mhz' has no value", "value = "},
      {"misspelt part", "boost_mhz", "boost_mhz = { valeu = 1" + source, "unknown key 'valeu' in 'boost_mhz'", "did you mean 'value'"},
      {"text", "boost_mhz", "boost_mhz = { value = \"fast\"" + source, "'boost_mhz' must be a number, but it is of type string", ""},
      {"table", "boost_mhz", "boost_mhz = { value = { a = 1 }" + source, "'boost_mhz' must be a number", ""},
      {"fraction", "multiprocessors", "multiprocessors = { value = 40.5" + source, "must be a whole number", ""},
      {"negative", "multiprocessors", "multiprocessors = { value = -40" + source, "'multiprocessors' is -40", "docs/gpus.md"},
      {"zero", "boost_mhz", "boost_mhz = { value = 0" + source, "'boost_mhz' is 0", ""},
      {"huge", "multiprocessors", "multiprocessors = { value = 9223372036854775807" + source, "not between 1 and 10000", ""},
      {"infinite", "dram_bytes_per_s", "dram_bytes_per_s = { value = inf" + source, "'dram_bytes_per_s' is inf", ""},
      {"not a number", "dram_latency", "dram_latency = { value = nan" + source, "'dram_latency' is nan", ""},
      {"number for text", "product", "product = { value = 4" + source, "'product' must be a text", ""},
      {"tensor type", "f16 ", "f17 = { value = 4" + source, "unknown key 'tensor_ops.f17'", "did you mean 'f16'"},
      {"tensor number", "f16 ", "f16 = { value = -4" + source, "'tensor_ops.f16' is -4", ""},
      {"warps", "max_warps_per_sm", "max_warps_per_sm = { value = 31" + source, "must be 32 times", ""},
      {"twice", "boost_mhz", "multiprocessors = { value = 40" + source, "not TOML", ""},
      {"syntax", "boost_mhz", "boost_mhz = {", "not TOML", ""},
  };
  for (const Broken& c : cases) {
    int line = 0;
    auto sheet = parse_sheet(replace_line(text_of("t4"), c.from, c.to, &line), "my.toml");
    ASSERT_GT(line, 0) << c.what;
    ASSERT_FALSE(sheet) << c.what;
    EXPECT_EQ(sheet.error().code, ErrorCode::bad_input) << c.what;
    EXPECT_THAT(sheet.error().message, HasSubstr(c.message)) << c.what;
    EXPECT_THAT(sheet.error().hint, HasSubstr(c.hint)) << c.what;
    EXPECT_EQ(sheet.error().where.file, "my.toml") << c.what;
    if (std::string(c.what) != "warps" && std::string(c.what) != "syntax") {
      EXPECT_EQ(sheet.error().where.line, line) << c.what;
    }
  }
}

TEST(ReadSheet, AMissingKeyIsNamed) {
  const std::string text = text_of("h200");
  for (std::string_view each : split_lines(text)) {
    std::size_t equals = each.find(" = {");
    if (equals == each.npos) continue;
    std::string key(trim(each.substr(0, equals)));
    int line = 0;
    auto sheet = parse_sheet(replace_line(text, key + " ", "", &line), "my.toml");
    bool optional = key == "base_mhz" || key == "tensor_mhz" || key == "dram_sustained_bytes_per_s" || key.starts_with("quoted_") ||
                    find_sheet("h200")->tensor_ops.contains(key);
    EXPECT_EQ(bool(sheet), optional) << key;
    if (!sheet) {
      EXPECT_THAT(sheet.error().message, HasSubstr("'" + key + "' is missing"));
    }
  }
}

// Cuts and single-byte changes of a real sheet give a sheet or an error with a place: never a crash (the fuzzer goes further).
TEST(ReadSheet, SurvivesEveryCutAndManyChangedBytes) {
  std::string text = text_of("t4");
  for (std::size_t length = 0; length < text.size(); length += 29) {
    auto sheet = parse_sheet(std::string_view(text).substr(0, length), "cut.toml");
    if (!sheet) {
      EXPECT_EQ(sheet.error().where.file, "cut.toml");
    }
  }
  for (std::size_t at = 0; at < text.size(); at += 53)
    for (char byte : {'\0', '"', '\n', '=', '9', '-', '}', '\xff'}) {
      std::string changed = text;
      changed[at] = byte;
      auto sheet = parse_sheet(changed, "changed.toml");
      if (!sheet) {
        EXPECT_FALSE(sheet.error().message.empty());
      }
    }
  EXPECT_FALSE(parse_sheet(std::string(100000, '['), "deep.toml"));
  EXPECT_FALSE(parse_sheet("a = " + std::string(100000, '{'), "deep.toml"));
  std::string dotted = "a";
  for (int i = 0; i < 100000; ++i) dotted += ".a";
  EXPECT_FALSE(parse_sheet(dotted + " = 1", "deep.toml"));
  EXPECT_FALSE(parse_sheet("", "empty.toml"));
}

}  // namespace
}  // namespace kforge::hardware
