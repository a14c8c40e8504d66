// What a compile server makes is what nvcc makes: PTX, cubin, resources, diagnostics, files read. Two names may differ: nvcc marks what is
// private to a file by a checksum of the path of candidate.cu, which lies in a fresh folder each time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/text.h"
#include "build/compile_server.h"
#include "build/elf.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

// The bytes of debug names as text, so that names can be found in them.
std::string with_names_spelled(std::string_view ptx) {
  std::string out;
  for (const std::string_view line : split_lines(ptx)) {
    if (!line.starts_with(".b8 ")) {
      out += std::string(line) + "\n";
      continue;
    }
    for (const std::string_view byte : split(line.substr(4), ',')) out += static_cast<char>(parse_unsigned(trim(byte)).value_or('?'));
  }
  return out;
}

std::string without_checksum(const std::string& text) {
  static const std::regex mark("_[0-9a-f]{8}_([0-9]+)_candidate_cu");
  return std::regex_replace(text, mark, "_CHECKSUM_$1_candidate_cu");
}

std::string plain_ptx(const build::Artefact& artefact) {
  const auto text = artefact.ptx_path.empty() ? Expected<std::string>("") : read_file(artefact.ptx_path);
  return text ? without_checksum(with_names_spelled(*text)) : "unreadable";
}

// The machine code of each kernel; names and debug tables follow from the PTX.
std::string machine_code(const build::Artefact& artefact) {
  const auto bytes = artefact.cubin_path.empty() ? Expected<std::string>("") : read_file(artefact.cubin_path);
  std::string out;
  for (const build::KernelReport& kernel : artefact.kernels) {
    const auto elf = bytes ? build::ElfFile::parse(*bytes) : Expected<build::ElfFile>(Unexpected(bytes.error()));
    if (elf) out += elf->section(".text." + kernel.kernel);
  }
  return out;
}

std::vector<std::string> lines_of(const build::Artefact& artefact) {
  std::vector<std::string> out;
  for (const build::KernelReport& k : artefact.kernels)
    out.push_back(fmt::format("{} {} {} {} {} {} {} {}", without_checksum(k.kernel), k.registers, k.static_shared_bytes, k.constant_bytes, k.stack_bytes, k.barriers, k.spill_store_bytes, k.spill_load_bytes));
  for (const build::Diagnostic& d : artefact.diagnostics) out.push_back(without_checksum(d.file + ":" + std::to_string(d.line) + ":" + std::to_string(d.column) + ": " + d.message + " (" + d.tool + ")"));
  for (const std::string& symbol : artefact.forbidden_symbols) out.push_back("forbidden " + symbol);
  return out;
}

struct Set { std::string task; std::vector<fs::path> candidates; };

void add(Set& set, const fs::path& folder, const std::string& stem_part = "") {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".cu" && entry.path().stem().string().find(stem_part) != std::string::npos) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  set.candidates.insert(set.candidates.end(), found.begin(), found.end());
}

std::vector<Set> sets() {
  const fs::path root = KFORGE_SOURCE_DIR;
  const bool all = std::getenv("KFORGE_ALL_BUILDS") != nullptr;
  std::vector<Set> out;
  for (const char* folder : {"examples", "tests/kernels"}) {
    if (!all && std::string_view(folder) != "examples") continue;
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      Set set{(entry.path() / "task.toml").string(), {}};
      add(set, entry.path(), all ? "" : "good");
      if (all) add(set, entry.path() / "bad");
      if (all && entry.path().filename() == "softmax") add(set, root / "tests/hostile");
      if (!all && entry.path().filename() == "softmax") set.candidates.push_back(root / "tests/hostile/does_not_compile.cu");
      out.push_back(std::move(set));
    }
  }
  std::sort(out.begin(), out.end(), [](const Set& a, const Set& b) { return a.task < b.task; });
  return out;
}

class SameBuild : public ::testing::TestWithParam<Set> {
 protected:
  SameBuild() : folder_(*TemporaryDirectory::create("same_build_test")) {}

  build::Artefact build(const task::Task& task, const fs::path& candidate, const std::string& cache, build::CompileServer* server) {
    ::setenv("KFORGE_CACHE", (folder_.path() / cache).c_str(), 1);
    build::CandidateRequest request;
    request.source = candidate.string();
    request.interface = trial::interface_of(task);
    request.flags = task.flags;
    request.server = server;
    request.costs = &costs_;
    auto made = build::build_candidate(request);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *made : build::Artefact{};
  }
  std::uint64_t times(std::string_view stage) const {
    for (const StageCost& cost : costs_.stages())
      if (cost.stage == stage) return cost.times;
    return 0;
  }

  TemporaryDirectory folder_;
  CostLedger costs_;
};

TEST_P(SameBuild, IsNvccs) {
  const auto task = task::read_task(GetParam().task);
  ASSERT_TRUE(task) << to_string(task.error());
  build::CompileServer server(&costs_);
  fs::path folder;
  std::uint64_t failed = 0, served = 0;
  for (const fs::path& candidate : GetParam().candidates) {
    SCOPED_TRACE(candidate);
    if (candidate.parent_path() != folder) build(*task, candidate, "first", &server);   // the server serves from the second build of a kind on
    folder = candidate.parent_path();
    const auto before = times("ld");
    const build::Artefact ours = build(*task, candidate, "served", &server), nvccs = build(*task, candidate, "nvcc", nullptr);
    EXPECT_EQ(ours.ok, nvccs.ok);
    EXPECT_EQ(ours.failure, nvccs.failure);
    EXPECT_EQ(lines_of(ours), lines_of(nvccs));
    EXPECT_TRUE(plain_ptx(ours) == plain_ptx(nvccs));
    EXPECT_TRUE(machine_code(ours) == machine_code(nvccs));
    failed += !nvccs.ok;
    served += times("ld") - before;
  }
  EXPECT_EQ(served + failed, GetParam().candidates.size());
}

INSTANTIATE_TEST_SUITE_P(Tasks, SameBuild, ::testing::ValuesIn(sets()), [](const auto& info) {
  const fs::path folder = fs::path(info.param.task).parent_path();
  return folder.parent_path().filename().string() + "_" + folder.filename().string();
});

}  // namespace
}  // namespace kforge
