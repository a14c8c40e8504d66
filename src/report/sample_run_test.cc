#include "report/sample_run_test.h"

#include <fstream>
#include <sstream>

#include "judge/contract_table.h"

namespace kforge::report {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(std::string(KFORGE_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr const char* kMiddle = R"(// One block a row, lanes along the columns.
#include <cuda_runtime.h>

__global__ void softmax_rows(const float* x, float* y, int cols, float scale) {
  __shared__ float s[256];
  const float* in = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float largest = -3.4e38f;
  for (int col = threadIdx.x; col < cols; col += 256) largest = fmaxf(largest, scale * in[col]);
  s[threadIdx.x] = largest;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + half]);
    __syncthreads();
  }
  largest = s[0];
  __syncthreads();
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 256) sum += expf(scale * in[col] - largest);
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  for (int col = threadIdx.x; col < cols; col += 256) out[col] = expf(scale * in[col] - largest) / s[0];
}

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  softmax_rows<<<rows, 256, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
)";

ContractReport contract(const judge::ContractRow& row, bool fast) {
  ContractReport c{std::string(row.id), row.level, Status::passed, "", std::string(row.required), "emulator(ptx)"};
  if (row.id == "memory.reuse" || row.id == "compute.issue") {
    c.status = Status::unknown;
    c.measured = row.id == "memory.reuse" ? "needs DRAM counters or a cache model" : "needs machine code";
    c.evidence = "";
  } else if (row.id == "memory.coalescing") {
    c.measured = fast ? "1.00" : "8.00";
    if (!fast) c.status = Status::failed;
  } else if (row.id == "occupancy") {
    c.measured = "64 of 64 warps per SM (limited by warps)";
  } else if (row.id == "shared.banks" || row.id == "compute.divergence") {
    c.measured = "1.00";
  } else if (row.id == "goal") {
    c.status = Status::off;
    c.level = Level::off;
  }
  return c;
}

Verdict verdict(VerdictStatus status, bool fast, double us, std::string why) {
  Verdict v;
  v.status = status;
  v.why = std::move(why);
  v.task = "row_softmax";
  v.candidate = "examples/softmax/good.cu";
  v.gpu = "h200";
  v.device = "emulated h200";
  v.unproven = {"memory.reuse: needs DRAM counters or a cache model", "compute.issue: needs machine code"};
  v.rungs = {{"build", Status::passed, 2.1, ""}, {"static", Status::passed, 0.02, ""}, {"emulate", Status::passed, 0.8, ""}, {"correct", Status::skipped, 0, "no GPU here"}};
  for (const judge::ContractRow& row : judge::contract_table()) v.contracts.push_back(contract(row, fast));
  for (const auto& [rows, cols] : {std::pair{1, 1}, {17, 1000}, {65, 1021}, {4096, 1024}}) {
    CaseReport c;
    c.sizes = {{"rows", rows}, {"cols", cols}};
    c.values = "declared";
    c.status = Status::passed;
    c.tensors = {{"y", 3.1e-8, 2.4e-6, 4e-9, 6e-9, 1.1e-7, 142.0, 1.0, static_cast<std::uint64_t>(rows) * cols, 0, 0, rows / 2}};
    v.cases.push_back(c);
  }
  v.resources = {{"softmax_rows<true>", 32, 64, 0, 64, "warps"}};
  if (us > 0) {
    v.time.emplace();
    v.time->us = us;
    v.time->source = "modelled";
    v.time->bottleneck = fast ? "DRAM bandwidth" : "L2 bandwidth: scattered sectors";
  }
  v.seconds = 3.2;
  return v;
}

Finding finding(std::string contract_id, std::uint32_t line, std::string message, std::string measured) {
  Finding f;
  f.contract = std::move(contract_id);
  f.severity = Severity::error;
  f.kernel = "softmax_rows";
  f.file = "examples/softmax/naive.cu";
  f.line = line;
  f.column = 33;
  f.message = std::move(message);
  f.measured = std::move(measured);
  f.required = "each hot line <= 1.25";
  f.cause = "lanes of one request touch scattered or misaligned sectors";
  f.advice = {"let neighbouring lanes touch neighbouring addresses: swap the loop or thread axes, or go through shared memory"};
  f.rule = "coalesce-lanes";
  f.count = 3;
  f.details = {"first such request: block (0, 0, 0), warp 0, 4 bytes per lane, 32 sectors where 4 would do", "lanes  0-7       +0   +4096   +8192  +12288  +16384  +20480  +24576  +28672"};
  return f;
}

TriedCandidate tried(std::string id, std::string parent, std::string proposer, Move move, std::string source, Verdict v, double started) {
  TriedCandidate t;
  t.candidate = {std::move(id), std::move(parent), std::move(proposer), std::move(move), std::move(source), {}, {}};
  t.verdict = std::move(v);
  t.started_s = started;
  t.build_s = 2.1;
  t.judge_s = 1.4;
  return t;
}

}  // namespace

RunRecord sample_run() {
  RunRecord run;
  run.id = "20260301-101500-row_softmax-1a2b";
  run.task_path = "examples/softmax/task.toml";
  run.task_name = "row_softmax";
  run.task_text = file("examples/softmax/task.toml");
  run.gpu = "h200";
  run.device = "emulated h200";
  run.version = "0.1.0";
  run.toolkit = "13.0.88";
  run.started = "2026-03-01T10:15:00Z";
  run.seconds = 41.5;
  run.outcome = "stagnation";
  run.outcome_why = "16 candidates in a row brought nothing better.";
  run.plan.task = "row_softmax";
  run.plan.gpu = "h200";
  run.plan.guess = {"softmax", 1, "the task says so"};
  run.plan.sizes = {{{{"rows", 4096}, {"cols", 1024}}, 5.0 * 4096 * 1024, 16777216, 16777216, "dram", 3.5, 4.4}};
  run.plan.steps = {{"template:softmax_row", "row softmax from the template", "one block a row, the row kept in registers.", "one-pass", 6, true, {{"threads", {"128", "256"}}}},
                    {"transform:vector-access", "float4 loads and stores", "rows are multiples of four.", "vector-access", 1.3, true, {}},
                    {"transform:fast-math", "ex2.approx", "the tolerance allows it.", "fast-math", 1.1, false, {}}};
  run.plan.notes = {"On sm_90 nothing newer than shuffles helps a softmax of this width.", "The kernel is 41% of its program: at most 1.69x for the whole."};
  Verdict slow = verdict(VerdictStatus::rejected, false, 92.0, "fails memory.coalescing");
  slow.findings = {finding("memory.coalescing", 10, "4194304 sectors where 524288 would do: 8.00 times the ideal (25% of the kernel's sectors)", "8.00")};
  run.tried.push_back(tried("a1b2c3d4e5f60001", "", "naive", {"start", "the naive kernel", "", "", 1}, file("examples/softmax/naive.cu"), slow, 0));
  run.tried.push_back(tried("a1b2c3d4e5f60002", "a1b2c3d4e5f60001", "transform", {"transform.block-per-row", "one block a row, lanes along the columns", "memory.coalescing", "coalesce-lanes", 4}, kMiddle,
                            verdict(VerdictStatus::accepted, true, 21.3, "every required contract holds"), 4.0));
  Verdict wrong = verdict(VerdictStatus::rejected, true, 0, "fails safety.races");
  wrong.findings = {finding("safety.races", 17, "a write and a read of s[3] are not ordered", "")};
  run.tried.push_back(tried("a1b2c3d4e5f60003", "a1b2c3d4e5f60002", "transform", {"transform.drop-barrier", "one barrier less", "compute.issue", "superfluous-barriers", 1.05}, kMiddle, wrong, 8.0));
  run.tried.push_back(tried("a1b2c3d4e5f60004", "a1b2c3d4e5f60002", "template:softmax_row", {"template", "row softmax, online, float4", "memory.reuse", "one-pass", 2}, file("examples/softmax/good.cu"),
                            verdict(VerdictStatus::accepted, true, 6.9, "every required contract holds"), 11.5));
  for (int i = 0; i < 16; ++i) {
    run.tried.push_back(tried("b1b2c3d4e5f600" + std::to_string(10 + i), "a1b2c3d4e5f60004", "template:softmax_row", {"parameter", "threads " + std::to_string(64 + 32 * i), "", "occupancy-limiter", 1.05},
                              file("examples/softmax/good.cu") + "// threads " + std::to_string(64 + 32 * i) + "\n", verdict(VerdictStatus::accepted, true, 7.0 + 0.4 * ((i * 7) % 16), "every required contract holds"), 15.0 + 1.5 * i));
    run.tried.back().reused = i % 5 == 0;
  }
  Verdict best = verdict(VerdictStatus::accepted, true, 5.2, "every required contract holds");
  Finding wide = finding("memory.vector", 68, "a contiguous global access moves 4 bytes per lane", "4 bytes per lane");
  wide.severity = Severity::warning;
  wide.file = "examples/softmax/good.cu";
  wide.rule = "vector-access";
  best.findings = {wide};
  run.tried.push_back(tried("a1b2c3d4e5f60005", "a1b2c3d4e5f60004", "template:softmax_row", {"parameter", "row kept in registers, 256 threads", "memory.reuse", "one-pass", 1.3},
                            file("examples/softmax/good.cu") + "\n// The row stays in registers.\n", best, 40.0));
  run.tried.back().candidate.parameters = {{"threads", "256"}, {"keep", "registers"}};
  run.baseline = "a1b2c3d4e5f60001";
  run.winners = {"a1b2c3d4e5f60002", "a1b2c3d4e5f60004", "a1b2c3d4e5f60005"};
  run.winner = run.best = "a1b2c3d4e5f60005";
  run.contributions = {{run.tried[1].candidate.move, "a1b2c3d4e5f60001", 4.32, "before and after"}, {run.tried[3].candidate.move, "c1", 2.9, "ablation"}, {run.tried.back().candidate.move, "a1b2c3d4e5f60004", 1.33, "ablation"}};
  run.program_total_us = 100000;
  run.program_share = 0.41;
  return run;
}

RunRecord hostile_run() {
  RunRecord run = sample_run();
  for (std::string* text : {&run.id, &run.task_path, &run.task_name, &run.task_text, &run.device, &run.version, &run.toolkit, &run.started, &run.outcome, &run.outcome_why, &run.plan.guess.pattern, &run.plan.guess.why, &run.plan.sizes[0].bound})
    *text = kHostile;
  run.plan.notes = {kHostile};
  run.plan.steps[0].title = run.plan.steps[0].why = run.plan.steps[0].rule = kHostile;
  run.plan.sizes[0].sizes = {{kHostile, 1}};
  for (TriedCandidate& t : run.tried) {
    t.candidate.source += kHostile;
    t.candidate.proposer = t.candidate.move.title = t.candidate.move.answers = kHostile;
    t.candidate.parameters = {{kHostile, kHostile}};
    Verdict& v = t.verdict;
    for (std::string* text : {&v.why, &v.task, &v.candidate, &v.gpu, &v.device}) *text = kHostile;
    v.unproven = {kHostile};
    for (CaseReport& c : v.cases) c.values = c.why = kHostile, c.sizes = {{kHostile, 1}}, c.tensors[0].name = kHostile;
    for (ContractReport& c : v.contracts) c.measured = c.required = c.evidence = kHostile;
    for (ResourceReport& r : v.resources) r.kernel = r.limiter = kHostile;
    Finding f = finding(kHostile, 3, kHostile, kHostile);
    f.kernel = f.file = f.required = f.cause = f.rule = f.other_file = kHostile;
    f.other_line = 2;
    f.advice = f.details = {kHostile};
    v.findings.push_back(f);
    if (v.time) v.time->source = v.time->bottleneck = kHostile;
  }
  for (Contribution& c : run.contributions) c.move.title = c.how = kHostile;
  return run;
}

}  // namespace kforge::report
