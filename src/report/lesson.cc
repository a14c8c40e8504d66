#include "report/lesson.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "report/figures.h"

namespace kforge::report {
namespace {

using hardware::DataSheet;

double gb_per_s(const DataSheet& s) { return s.dram_bytes_per_s / 1e9; }
double ns(const DataSheet& s, double cycles) { return s.boost_mhz > 0 ? cycles * 1e3 / s.boost_mhz : 0; }

// One row a contract. The numbers are the data sheet's, the mechanisms those of the CUDA C++ Programming Guide 13.0 (Device Memory Accesses, Shared Memory,
// SIMT Architecture) and the Best Practices Guide.
struct Reason {
  std::string_view contract;
  std::string (*text)(const DataSheet& sheet);
};
constexpr std::array kReasons{
    Reason{"memory.coalescing", [](const DataSheet& s) {
             return fmt::format("memory moves in sectors of 32 bytes. 32 lanes that read neighbouring words of 4 bytes fill 4 sectors; lanes that read far apart take a sector each, of which 28 bytes are thrown away. The {} "
                                "moves at most {:.0f} GB/s, useful or not: eight times the sectors leave an eighth of that for the task.", s.product, gb_per_s(s));
           }},
    Reason{"memory.alignment", [](const DataSheet&) { return std::string("a request that starts inside a 32-byte sector touches one sector more than its bytes need."); }},
    Reason{"memory.vector", [](const DataSheet& s) {
             return fmt::format("an SM issues at most {} warp instructions a clock. A load of 16 bytes a lane moves in one instruction what four loads of 4 bytes do, so fewer instructions keep {:.0f} GB/s of memory busy.", s.schedulers_per_sm, gb_per_s(s));
           }},
    Reason{"memory.reuse", [](const DataSheet& s) {
             return fmt::format("a byte from DRAM takes about {:.0f} ns and its share of {:.0f} GB/s each time; from shared memory about {:.0f} ns. What several threads need is loaded once and kept on the SM.", ns(s, s.dram_latency), gb_per_s(s), ns(s, s.shared_latency));
           }},
    Reason{"shared.banks", [](const DataSheet& s) {
             return fmt::format("shared memory has 32 banks of 4 bytes, and a bank serves one word a clock. 32 lanes in 32 banks are served in one pass (a wavefront); lanes that want different words of one bank wait for each "
                                "other, up to 32 passes for one instruction, on each of the {} SMs.", s.multiprocessors);
           }},
    Reason{"occupancy", [](const DataSheet& s) {
             return fmt::format("a load from DRAM takes about {:.0f} cycles. Meanwhile the SM works on its other warps, if it has any: at most {} are resident, and registers ({} an SM), shared memory ({} KiB) and block size decide how many.",
                                s.dram_latency, s.max_warps_per_sm, s.registers_per_sm, s.shared_bytes_per_sm / 1024);
           }},
    Reason{"registers.spill", [](const DataSheet& s) {
             return fmt::format("a value that finds no register goes to local memory, which is device memory behind the caches: {:.0f} cycles from L1 and {:.0f} from DRAM in place of none. A thread has at most {} registers.", s.l1_latency, s.dram_latency,
                                s.max_registers_per_thread);
           }},
    Reason{"compute.divergence", [](const DataSheet&) { return std::string("32 lanes share one instruction. Where they disagree, the warp goes both ways one after the other, and the lanes that are not on the way stand idle: half the lanes, half the speed."); }},
    Reason{"compute.tensor", [](const DataSheet& s) {
             const auto f16 = s.tensor_ops.find("f16");
             return fmt::format("a tensor core multiplies small matrices: {:.0f} operations a clock and SM in f16, where ordinary lanes do {:.0f}.", f16 == s.tensor_ops.end() ? 0.0 : f16->second, 2 * s.fp32_lanes);
           }},
    Reason{"compute.issue", [](const DataSheet& s) {
             return fmt::format("each of the {} schedulers of an SM can issue one instruction a clock. An instruction that needs the result before it waits some {:.0f} cycles; independent instructions, or other warps, fill the gap.", s.schedulers_per_sm, s.alu_latency);
           }},
    Reason{"safety.races", [](const DataSheet&) { return std::string("warps of a block run in any order, and blocks too. Two threads that touch one word without a barrier or an atomic between them, one of them writing, give a result that depends on who was first."); }},
    Reason{"safety.barriers", [](const DataSheet&) { return std::string("__syncthreads() waits for every thread of the block that has not exited. Threads that take another way leave the rest waiting, or meet at the wrong barrier."); }},
    Reason{"safety.bounds", [](const DataSheet&) { return std::string("a grid is made of whole blocks, so the last block reaches beyond sizes that are no multiple of it. On a GPU the stray access may hit another array and show up much later."); }},
    Reason{"safety.uninitialised", [](const DataSheet&) { return std::string("shared memory and fresh device memory hold what the last user left there. A result made from it can be right by chance today."); }},
    Reason{"launch.coverage", [](const DataSheet&) { return std::string("what no thread writes keeps its old bytes. That often looks right, because the memory held the right answer of an earlier call."); }},
};

constexpr std::array kWords{
    Word{"atomic", "a read, change and write of one word that no other thread can come between"},
    Word{"bank", "one of the 32 parts of shared memory; neighbouring words of 4 bytes lie in neighbouring banks"},
    Word{"barrier", "a place where the threads of a block wait for each other (__syncthreads)"},
    Word{"block", "threads that run on one SM and share its shared memory; blocks of a grid run in any order"},
    Word{"coalesced", "of a warp's access: its lanes' words lie together, so that few sectors hold them all"},
    Word{"divergence", "lanes of one warp take different ways of a branch, one after the other"},
    Word{"dram", "the GPU's main memory; large, and the slowest to reach"},
    Word{"floor", "the time that physics leaves: bytes over the memory's rate, operations over the arithmetic's, whichever is longer"},
    Word{"lane", "one of the 32 threads of a warp"},
    Word{"occupancy", "how many warps are resident on an SM, of those that it can hold"},
    Word{"register", "where a thread keeps a value at hand; each SM divides its registers among its threads"},
    Word{"roofline", "the bound on a kernel's speed that follows from its operations for each byte"},
    Word{"sector", "32 bytes of memory: the least that a request moves"},
    Word{"shared memory", "fast memory on the SM, which the threads of one block share"},
    Word{"spill", "a value that found no register and went to memory"},
    Word{"tensor core", "a unit that multiplies small matrices in one instruction"},
    Word{"tile", "a piece of an array that a block loads once and works on"},
    Word{"warp", "32 threads that share one instruction at a time"},
    Word{"wavefront", "one pass of a request through the banks of shared memory"},
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// As a word of its own, a plural counts.
bool occurs(std::string_view word, std::string_view text) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if (end < text.size() && text[end] == 's') ++end;
    if ((at == 0 || !is_letter(text[at - 1])) && (end >= text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<hardware::DataSheet> sheet_of(const RunRecord& run) {
  auto sheet = hardware::find_sheet(run.gpu);
  return sheet ? std::optional(std::move(*sheet)) : std::nullopt;
}

std::string hardware_reason(std::string_view contract, const DataSheet& sheet) {
  for (const Reason& row : kReasons)
    if (row.contract == contract) return row.text(sheet);
  return {};
}

std::vector<NumberedLine> lines_around(std::string_view source, std::uint32_t line) {
  const auto lines = split_lines(source);
  std::vector<NumberedLine> out;
  if (line == 0 || line > lines.size()) return out;
  for (std::uint32_t i = line > 2 ? line - 2 : 1; i <= line; ++i) out.push_back({i, std::string(lines[i - 1])});
  return out;
}

std::vector<Word> words_in(std::string_view text) {
  const std::string lower = to_lower(text);
  std::vector<Word> out;
  for (const Word& word : kWords)
    if (occurs(word.word, lower)) out.push_back(word);
  return out;
}

std::vector<Attempt> did_not_help(const RunRecord& run, std::size_t most) {
  std::vector<Attempt> out;
  std::vector<std::string> told;   // one attempt a kind of move
  for (const TriedCandidate& tried : run.tried) {
    const bool won = std::find(run.winners.begin(), run.winners.end(), tried.candidate.id) != run.winners.end();
    if (out.size() == most || won || tried.candidate.id == run.baseline || tried.candidate.parent.empty()) continue;
    const std::string kind = tried.candidate.move.id + "\n" + tried.verdict.why;
    if (std::find(told.begin(), told.end(), kind) != told.end()) continue;
    const TriedCandidate* parent = run.find(tried.candidate.parent);
    std::string why;
    if (tried.verdict.status == VerdictStatus::rejected) why = tried.verdict.why;
    else if (parent && microseconds(tried) > 0 && microseconds(*parent) > 0 && microseconds(tried) > 1.02 * microseconds(*parent))
      why = fmt::format("slower: {} in place of {}", time_text(microseconds(tried)), time_text(microseconds(*parent)));
    if (why.empty()) continue;
    told.push_back(kind);
    out.push_back({&tried, std::move(why)});
  }
  return out;
}

}  // namespace kforge::report
