// The real GPU beside the two engines: edge-value operations (operations.txt) and the differential test's random programs, on NVIDIA's driver and on the emulator.
//
//   h200_third_witness operations OPERATIONS OUT    answers of the GPU, one line an operation (goldens/operations.txt); what differs goes to stdout
//   h200_third_witness programs FIRST COUNT [ROUNDS] random rows (every row of the table, ROUNDS times), straight-line and structured programs
//
// libcuda is found at run time. A program that the driver refuses is counted and named; one that ends the context makes a new one.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>

#include "base/hash.h"
#include "emulator/device.h"
#include "emulator/random_program.h"
#include "emulator/reference_engine_float.h"
#include "operations.h"
#include "ptx/parser.h"

namespace kforge::h200 {
namespace {

class Gpu {
 public:
  Gpu() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) throw std::runtime_error(dlerror());
    check(call<int(unsigned)>("cuInit", 0u), "cuInit");
    check(call<int(int*, int)>("cuDeviceGet", &device_, 0), "cuDeviceGet");
    renew();
  }

  // Contents of `out` after the launch; an error in words else.
  std::string run(const std::string& ptx, const std::vector<std::byte>& in, std::vector<std::byte>& out, const std::vector<std::byte>& further, bool out_first, unsigned blocks, unsigned threads) {
    void *module = nullptr, *function = nullptr;
    std::vector<char> log(4096, 0);
    int options[] = {5, 6};   // error log buffer and its size
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    if (const int error = call<int(void**, const char*, unsigned, int*, void**)>("cuModuleLoadDataEx", &module, ptx.c_str(), 2u, options, values); error != 0)
      return fmt::format("refused ({}): {}", error, log.data());
    std::string why;
    std::uint64_t d_in = 0, d_out = 0;
    const auto step = [&](int error, const char* what) {
      if (error != 0 && why.empty()) why = fmt::format("{} gave {}", what, error);
      return why.empty();
    };
    step(call<int(void**, void*, const char*)>("cuModuleGetFunction", &function, module, "k"), "cuModuleGetFunction");
    step(call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2", &d_in, std::max<std::size_t>(in.size(), 16)), "cuMemAlloc");
    step(call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2", &d_out, std::max<std::size_t>(out.size(), 16)), "cuMemAlloc");
    step(call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2", d_in, in.data(), in.size()), "copy in");
    step(call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2", d_out, out.data(), out.size()), "copy in");
    std::vector<std::byte> arguments(16);
    std::memcpy(arguments.data(), out_first ? &d_out : &d_in, 8);
    std::memcpy(arguments.data() + 8, out_first ? &d_in : &d_out, 8);
    arguments.insert(arguments.end(), further.begin(), further.end());
    std::size_t size = arguments.size();
    void* extra[] = {reinterpret_cast<void*>(1), arguments.data(), reinterpret_cast<void*>(2), &size, nullptr};   // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE
    if (why.empty())
      step(call<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)>("cuLaunchKernel", function, blocks, 1u, 1u, threads, 1u, 1u, 0u,
               static_cast<void*>(nullptr), static_cast<void**>(nullptr), static_cast<void**>(extra)), "the launch");
    if (why.empty()) step(call<int()>("cuCtxSynchronize"), "the kernel");
    if (why.empty()) step(call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2", out.data(), d_out, out.size()), "copy out");
    if (!why.empty()) {
      renew();
      return why;
    }
    call<int(std::uint64_t)>("cuMemFree_v2", d_in);
    call<int(std::uint64_t)>("cuMemFree_v2", d_out);
    call<int(void*)>("cuModuleUnload", module);
    return {};
  }

 private:
  template <class F, class... A>
  int call(const char* name, A... arguments) {
    void*& function = functions_[name];
    if (!function) function = dlsym(library_, name);
    if (!function) throw std::runtime_error(std::string("libcuda lacks ") + name);
    return reinterpret_cast<F*>(function)(arguments...);
  }
  void renew() {
    if (context_) call<int(void*)>("cuCtxDestroy_v2", context_);
    context_ = nullptr;
    check(call<int(void**, unsigned, int)>("cuCtxCreate_v2", &context_, 0u, device_), "cuCtxCreate");
  }
  static void check(int error, const char* what) {
    if (error != 0) throw std::runtime_error(fmt::format("{}: error {}", what, error));
  }
  void* library_ = nullptr;
  void* context_ = nullptr;
  int device_ = 0;
  std::map<std::string, void*> functions_;
};

int run_operations(const std::string& path, const std::string& out_path) {
  Gpu gpu;
  std::ofstream file(out_path);
  std::size_t refused = 0, differing = 0, number = 0;
  for (const Operation& operation : read_operations(path)) {
    ++number;
    const auto values = combinations(operation);
    const auto count = static_cast<std::uint32_t>(values.size() / 3);
    std::vector<std::byte> in(values.size() * 8), out(std::size_t{count} * 8), further(4);
    std::memcpy(in.data(), values.data(), in.size());
    std::memcpy(further.data(), &count, 4);
    ::alarm(30);
    const std::string why = gpu.run(ptx_of(operation), in, out, further, true, (count + 127) / 128, 128);
    if (!why.empty()) {
      ++refused;
      std::cout << "REFUSED " << operation.text << ": " << why << "\n";
      continue;
    }
    std::vector<std::uint64_t> gpu_answers(count);
    std::memcpy(gpu_answers.data(), out.data(), out.size());
    // Answers in full where the bits are not the manual's to give or where the emulator disagrees; else their hash.
    const auto ours = emulate(operation);
    std::size_t wrong = 0;
    std::string examples;
    for (std::size_t i = 0; i < count; ++i) {
      if (ours[i] == gpu_answers[i]) continue;
      if (++wrong <= 6) examples += fmt::format("    a={:x} b={:x} c={:x}: emulator {:x}, gpu {:x}\n", values[i * 3], values[i * 3 + 1], values[i * 3 + 2], ours[i], gpu_answers[i]);
    }
    if (wrong != 0) ++differing, std::cout << fmt::format("{} {} ({} of {})\n{}", operation.approximate ? "APPROXIMATE" : "DIFFERS", operation.text, wrong, count, examples);
    file << hash_hex({reinterpret_cast<const char*>(out.data()), out.size()});
    if (wrong != 0 || operation.approximate)
      for (std::size_t i = 0; i < count; ++i) file << fmt::format(" {:x}", gpu_answers[i]);
    file << " | " << operation.text << "\n";
  }
  std::cout << fmt::format("operations: {} in all, {} refused, {} differ\n", number, refused, differing);
  return 0;
}

using emulator::RandomOutput;
using emulator::RandomProgram;

std::uint64_t output_bytes(const RandomProgram& program) { return program.output_stride * program.threads * program.blocks; }

std::vector<std::byte> initial_output(const RandomProgram& program) {
  std::vector<std::byte> output(output_bytes(program));
  for (std::uint64_t t = 0; t < std::uint64_t{program.threads} * program.blocks; ++t)
    std::memcpy(output.data() + t * program.output_stride, program.input.data() + t * program.input_stride, std::min<std::size_t>(64, program.input_stride));
  return output;
}

std::string run_fast(const RandomProgram& program, std::vector<std::byte>& out) {
  auto module = ptx::parse(program.text);
  if (!module) return to_string(module.error());
  auto sheet = hardware::find_sheet("h200");
  emulator::Device device(*sheet);
  device.set_checks({false, false});
  device.set_seed(program.seed);
  auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*module)));
  if (!loaded) return to_string(loaded.error());
  emulator::Allocation* in = device.memory().allocate(program.input.size(), emulator::MemoryKind::device, "in");
  emulator::Allocation* to = device.memory().allocate(out.size(), emulator::MemoryKind::device, "out");
  std::memcpy(in->data, program.input.data(), program.input.size());
  std::memcpy(to->data, out.data(), out.size());
  std::vector<std::byte> arguments(16 + program.blob.size());
  std::memcpy(arguments.data(), &in->base, 8);
  std::memcpy(arguments.data() + 8, &to->base, 8);
  if (!program.blob.empty()) std::memcpy(arguments.data() + 16, program.blob.data(), program.blob.size());
  emulator::LaunchRequest request;
  request.kernel = device.find_kernel(*loaded, "k");
  request.grid = {program.blocks, 1, 1};
  request.block = {program.threads, 1, 1};
  request.cluster = {1, 1, 1};
  request.parameters = arguments;
  const auto result = device.launch(request);
  std::memcpy(out.data(), to->data, out.size());
  return result.status == emulator::LaunchStatus::ok ? "" : result.detail;
}

bool same_element(std::uint64_t a, std::uint64_t b, const RandomOutput& rule) {
  if (a == b) return true;
  if (!ptx::is_float(rule.type)) return false;
  const auto& f = emulator::reference::format_of(rule.type);
  const bool tf32 = rule.type == ptx::Type::tf32;
  const double x = emulator::reference::to_double(tf32 ? a >> 13 : a, f), y = emulator::reference::to_double(tf32 ? b >> 13 : b, f);
  if (std::isnan(x) || std::isnan(y)) return rule.any_nan && std::isnan(x) && std::isnan(y);
  if (rule.absolute == 0 && rule.relative == 0) return false;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  const double half_ulp = std::fabs(y) * std::exp2(-f.fraction_bits - 1) + std::exp2(1 - f.bias() - f.fraction_bits);
  const double difference = std::fabs(x - y);
  return difference <= 2 * rule.absolute + half_ulp || difference <= 2 * rule.relative * std::fabs(y) + half_ulp;   // each may err to its own side
}
bool same(std::uint64_t a, std::uint64_t b, const RandomOutput& rule) {
  const bool pair = rule.type == ptx::Type::f16x2 || rule.type == ptx::Type::bf16x2;
  return pair ? same_element(a & 0xffff, b & 0xffff, rule) && same_element(a >> 16, b >> 16, rule) : same_element(a, b, rule);
}

// ptxas takes a user's register %tid for the special one, and no name of a range that ends in a digit (%e4<8>): the engines do.
std::string for_ptxas(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("%(n?tid)(?![.a-z_0-9])"), "%my_$1"), std::regex("%e([45])(?=[0-9<])"), "%e$1x");
}

struct Tally { std::size_t programs = 0, refused = 0, differing = 0; };

// The first differing output of each kind of instruction is printed, and the program's seed.
void compare(Gpu& gpu, const std::string& name, const RandomProgram& program, Tally& tally, std::map<std::string, int>& seen) {
  ++tally.programs;
  std::vector<std::byte> ours = initial_output(program), theirs = ours;
  const std::string wrong = run_fast(program, ours);
  ::alarm(30);
  const std::string why = gpu.run(for_ptxas(program.text), program.input, theirs, program.blob, false, program.blocks, program.threads);
  if (!why.empty() || !wrong.empty()) {
    ++tally.refused;
    const std::string reason = why.substr(0, why.find('\n', 60));
    if (seen[reason.substr(0, 50) + name.substr(0, name.find(' '))]++ < 2) std::cout << fmt::format("NOT RUN {}: gpu: {}; emulator: {}\n", name, why.substr(0, 500), wrong);
    return;
  }
  bool differs = false;
  for (const RandomOutput& rule : program.outputs) {
    for (std::uint64_t t = 0; t < std::uint64_t{program.threads} * program.blocks; ++t) {
      std::uint64_t a = 0, b = 0;
      const std::size_t bytes = std::max(8u, ptx::size_bits(rule.type)) / 8;
      std::memcpy(&a, ours.data() + t * program.output_stride + rule.offset, bytes);
      std::memcpy(&b, theirs.data() + t * program.output_stride + rule.offset, bytes);
      if (same(a, b, rule)) continue;
      differs = true;
      const std::string key = rule.line.substr(0, rule.line.find(' '));
      if (seen[key]++ < 2) std::cout << fmt::format("DIFFERS {}: {}: thread {}: emulator {:x}, gpu {:x}\n", name, rule.line, t, a, b);
      break;
    }
  }
  tally.differing += differs;
}

int run_programs(std::uint64_t first, std::uint64_t count, std::uint64_t rounds) {
  Gpu gpu;
  Tally rows, straight, structured;
  std::map<std::string, int> seen;
  const auto table = ptx::instruction_table();
  // ptxas refuses spellings that the table allows, and with one of them the whole program: so most programs are short.
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (std::uint16_t form = 0; form < table.size(); ++form) {
      const std::uint64_t seed = (first + round) * 1000 + form;
      const RandomProgram program = emulator::random_row(form, seed, round % 2 == 0 ? 12 : 2);
      if (!program.text.empty()) compare(gpu, fmt::format("row:{} seed {}", table[form].id, seed), program, rows, seen);
    }
  std::cout << fmt::format("rows: {} programs, {} not run, {} differ\n", rows.programs, rows.refused, rows.differing) << std::flush;
  for (std::uint64_t seed = first; seed < first + count; ++seed) compare(gpu, fmt::format("straight seed {}", seed), emulator::random_straight(seed, seed % 2 == 0 ? 40 : 12), straight, seen);
  std::cout << fmt::format("straight: {} programs, {} not run, {} differ\n", straight.programs, straight.refused, straight.differing) << std::flush;
  for (std::uint64_t seed = first; seed < first + count; ++seed) compare(gpu, fmt::format("structured seed {}", seed), emulator::random_structured(seed, seed % 2 == 0 ? 30 : 8), structured, seen);
  std::cout << fmt::format("structured: {} programs, {} not run, {} differ\n", structured.programs, structured.refused, structured.differing);
  for (const auto& [line, times] : seen) std::cout << fmt::format("  {} times: {}\n", times, line);
  return 0;
}

}  // namespace
}  // namespace kforge::h200

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  try {
    if (a.size() == 3 && a[0] == "operations") return kforge::h200::run_operations(a[1], a[2]);
    if (a.size() >= 3 && a[0] == "programs") return kforge::h200::run_programs(std::stoull(a[1]), std::stoull(a[2]), a.size() > 3 ? std::stoull(a[3]) : 1);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::cerr << "usage: h200_third_witness operations|programs ... (the head of third_witness.cc)\n";
  return 2;
}
