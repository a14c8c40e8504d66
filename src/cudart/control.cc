#include "cudart/control.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cudart/bits.h"
#include "cudart/context.h"
#include "cudart/workspace.h"
#include "emulator/shadow.h"
#include "evidence/launch_log_bytes.h"

#define KFORGE_EXPORTED extern "C" __attribute__((visibility("default")))

namespace kforge::cudart {
namespace {

using emulator::Address;
using emulator::Allocation;

std::string& answer() {
  static std::string* const text = new std::string;
  return *text;
}

WorkspaceGrowth& growth() {
  static auto* const kept = new WorkspaceGrowth;
  return *kept;
}

// What the object did while it was loaded.
CallLog& loaded() {
  static auto* const kept = new CallLog;
  return *kept;
}

std::uint64_t*& progress() {
  static std::uint64_t* counter = nullptr;
  return counter;
}

Allocation* find(Context& context, const void* pointer) {
  return context.device() == nullptr ? nullptr : context.device()->memory().find(reinterpret_cast<Address>(pointer));
}

// Empty, or why not.
std::string configure(Context& context, const char* text) {
  const nlohmann::json json = nlohmann::json::parse(text == nullptr ? "" : text, nullptr, false);
  if (!json.is_object()) return "kforge_cudart_configure: the configuration is no JSON object";
  Settings settings = context.settings;
  for (const auto& [key, value] : json.items()) {
    if (key == "sheet" && value.is_string()) settings.sheet = value.get<std::string>();
    else if (key == "safety" && value.is_boolean()) settings.checks.safety = value.get<bool>();
    else if (key == "profile" && value.is_boolean()) settings.checks.profile = value.get<bool>();
    else if (key == "seed" && value.is_number_unsigned()) settings.seed = value.get<std::uint64_t>();
    else return "kforge_cudart_configure: unknown key or wrong type: \"" + key + "\"";
  }
  const bool same_sheet = settings.sheet == context.settings.sheet;
  context.settings = settings;
  context.configured = true;
  if (!same_sheet && context.device_if_any() != nullptr) context.reset();
  emulator::Device* device = context.device();
  if (device == nullptr) return "kforge_cudart_configure: no data sheet \"" + settings.sheet + "\"";
  device->set_checks(settings.checks);
  device->set_seed(settings.seed);
  return {};
}

void add_unwritten(const Allocation& allocation, std::uint64_t at, std::uint64_t size, std::uint64_t element, evidence::Coverage& coverage) {
  if (coverage.unwritten++ == 0) coverage.first_unwritten = element;
  for (std::uint64_t byte = 0; byte < size; ++byte) {
    if (get_bits(allocation.host_written, at + byte, 1) == 0) continue;
    ++coverage.host_written;
    return;
  }
}

// Of a tensor with gaps between its rows.
std::uint64_t element_count(const Tensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

// In row-major order; the bytes between elements belong to nobody.
std::uint64_t element_offset(const Tensor& tensor, std::uint64_t element, std::uint64_t size) {
  std::uint64_t at = 0;
  for (std::size_t d = tensor.shape.size(); d-- > 0; element /= static_cast<std::uint64_t>(tensor.shape[d]))
    at += element % static_cast<std::uint64_t>(tensor.shape[d]) * static_cast<std::uint64_t>(tensor.strides[d]) * size;
  return at;
}

void cover_strided(const Allocation& allocation, const Tensor& tensor, std::uint64_t size, evidence::Coverage& coverage) {
  coverage.elements = element_count(tensor);
  for (std::uint64_t element = 0; element < coverage.elements; ++element) {
    const std::uint64_t at = element_offset(tensor, element, size);
    if (at + size > allocation.size || first_clear(allocation.written, at, size) < at + size) add_unwritten(allocation, at, size, element, coverage);
  }
}

// Elements of a tensor that no kernel wrote in full, and those that the host had a hand in.
evidence::Coverage coverage_of(const Allocation& allocation, const Tensor& tensor) {
  evidence::Coverage coverage;
  coverage.tensor = tensor.name;
  const std::uint64_t size = std::max<std::uint64_t>(tensor.element_bytes, 1);
  if (!tensor.shape.empty()) {
    cover_strided(allocation, tensor, size, coverage);
    return coverage;
  }
  coverage.elements = allocation.size / size;
  for (std::uint64_t element = 0; element < coverage.elements;) {
    const std::uint64_t gap = first_clear(allocation.written, element * size, (coverage.elements - element) * size);
    element = gap / size;
    if (element >= coverage.elements) break;
    add_unwritten(allocation, element * size, size, element, coverage);
    ++element;
  }
  return coverage;
}

// A launcher that brings what it is to work on to the host works there, whoever carries the answer back. What it needs to choose its launches is little.
void judge_host_reads(Context& context) {
  constexpr int kOut = 1;
  constexpr std::uint64_t kLittle = 1024;
  std::uint64_t inputs = 0;
  for (const auto& [base, tensor] : context.tensors)
    if (const Allocation* allocation = tensor.role == kOut ? nullptr : context.device()->memory().find(base)) inputs += allocation->size;
  const std::uint64_t read = context.call.bytes_to_host;
  if (read >= kLittle && 2 * read >= inputs)
    context.violate("launch.coverage", "host-reads", {}, "the host reads as much as half of the inputs in the call: what is computed there is no kernel's work");
}

void judge_tensors(Context& context, evidence::LaunchLog& log) {
  constexpr int kIn = 0;
  for (const auto& [base, tensor] : context.tensors) {
    const Allocation* allocation = context.device()->memory().find(base);
    if (allocation == nullptr) continue;
    if (tensor.role != kIn) log.coverage.push_back(coverage_of(*allocation, tensor));
    else if (any_set(allocation->written) || any_set(allocation->host_written)) log.changed_inputs.push_back(tensor.name);
  }
}

void judge_order(Context& context) {
  for (const Timeline::Fault& fault : context.timeline.end_call()) {
    const bool joined = fault.kind == Timeline::Fault::Kind::not_forked;
    const std::string others = fault.count > 1 ? " (and " + std::to_string(fault.count - 1) + " more)" : "";
    const std::string stream = fault.stream == Timeline::kLegacy ? "the default stream instead of the given one (kernel<<<grid, block, shared_bytes, stream>>>): " : "another stream than the given one: ";
    const std::string kernel = fault.what.starts_with("kernel ") ? fault.what.substr(std::string_view("kernel ").size()) : std::string();
    context.violate("interface", joined ? "not-forked" : "not-joined", kernel,
                    fault.what + others + " ran in " + stream + (joined ? "it does not wait for the caller's earlier work there" : "the caller does not wait for it"));
  }
}

// An access policy window that the given stream keeps.
void judge_persistence(Context& context) {
  constexpr int kWindowAttribute = 1;    // cudaStreamAttributeAccessPolicyWindow
  constexpr std::size_t kBytesAt = 8;    // of cudaAccessPolicyWindow: base_ptr comes first
  if (context.call.given == nullptr) return;
  const auto found = context.call.given->attributes.find(kWindowAttribute);
  if (found == context.call.given->attributes.end()) return;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, found->second.data() + kBytesAt, sizeof bytes);
  if (bytes > 0) context.violate("interface", "persistence", {}, "the given stream keeps an access policy window, whose lines outlive the call in the L2 cache");
}

void report_leaks(Context& context) {
  for (const auto& [base, size] : context.call.allocated)
    context.log.record({"still allocated when the launcher returned", "workspace", true, 0, size, 1});
}

void judge_growth(Context& context) {
  WorkspaceGrowth::Tensors tensors;
  for (const auto& [base, tensor] : context.tensors)
    if (const Allocation* allocation = context.device()->memory().find(base)) tensors.emplace_back(base, allocation->size);
  std::uint64_t bytes = 0;
  for (const Allocation* allocation : context.device()->memory().live())
    if (allocation->label == kWorkspaceLabel) bytes += allocation->size;
  if (const std::uint64_t more = growth().after_call(std::move(tensors), bytes); more != 0)
    context.violate("interface", "leak", {}, fmt::format("cudaMalloc (or its like) takes {} bytes more in each call with the same arguments, which are never freed: free them (cudaFreeAsync in the given "
                                                         "stream), or keep one workspace in a static variable", more));
}

void begin_call(Context& context, void* stream, emulator::Limits limits, std::uint64_t sampled_blocks) {
  emulator::Device* device = context.device();
  if (device == nullptr) return;
  (void)device->take_log();
  if (!context.call.any_ended) context.log = std::exchange(loaded(), {});   // later, what other threads did since the last call is kept
  for (Allocation* allocation : device->memory().live()) {
    allocation->written.clear();
    allocation->host_written.clear();
  }
  device->set_limits(limits);
  context.call = {};
  context.call.given = context.find_stream(stream);
  if (context.call.given == nullptr) context.call.given = context.find_stream(nullptr);
  context.call.thread = std::this_thread::get_id();
  context.call.sampled_blocks = sampled_blocks;
  context.timeline.begin_call(context.call.given->index);
  context.stream_races.forget();
  context.call.running = true;
  context.call.environment = FloatEnvironment::now();
  Context::last_error() = cudaSuccess;
}

// The stream and the processor as the caller gave them.
void judge_manners(Context& context) {
  if (context.call.given != nullptr && context.call.given->capture)
    context.violate("interface", "capturing", {}, "the given stream is still being captured when the launcher returns: what its caller puts there is not done");
  if (context.call.environment == FloatEnvironment::now()) return;
  context.call.environment.set();
  context.violate("interface", "environment", {}, "the launcher leaves the processor rounding, flushing or trapping otherwise than it found it, which changes its caller's arithmetic");
}

// The first byte of an element that a copy took from where nothing was written: it counts as written by the device and holds what an earlier owner of the
// source left there.
std::optional<std::uint64_t> copied_unwritten(const Allocation& allocation, const Tensor& tensor) {
  if (allocation.all_initialised) return std::nullopt;
  const auto look = [&](std::uint64_t begin, std::uint64_t end) -> std::optional<std::uint64_t> {
    constexpr std::uint64_t kWord = 64;
    for (std::uint64_t at = begin; at < end; at += kWord) {
      const std::uint64_t count = std::min(kWord, end - at);
      if (const std::uint64_t copied = ~get_bits(allocation.initialised, at, count) & get_bits(allocation.written, at, count); copied != 0)
        return at + static_cast<std::uint64_t>(std::countr_zero(copied));
    }
    return std::nullopt;
  };
  if (tensor.shape.empty()) return look(0, allocation.size);
  const std::uint64_t size = std::max<std::uint64_t>(tensor.element_bytes, 1), count = element_count(tensor);
  for (std::uint64_t element = 0; element < count; ++element)
    if (const std::uint64_t at = element_offset(tensor, element, size); at + size <= allocation.size)
      if (const auto found = look(at, at + size)) return found;
  return std::nullopt;
}

// Values that nobody wrote, in what the task takes as its results.
void judge_outputs(Context& context) {
  constexpr int kIn = 0;
  for (const auto& [base, tensor] : context.tensors) {
    const Allocation* allocation = tensor.role == kIn ? nullptr : context.device()->memory().find(base);
    if (allocation == nullptr) continue;
    const bool stored = !context.device()->global_shadow().undefined_outputs(*allocation, 0, allocation->size).empty();
    context.device()->check_read(*allocation, 0, allocation->size, "output `" + tensor.name + "`");
    if (stored || !context.settings.checks.safety) continue;
    if (const auto at = copied_unwritten(*allocation, tensor))
      context.violate("safety.uninitialised", "copied-unwritten", {}, fmt::format("a copy puts memory that nothing has written into output `{}`, first at byte {}", tensor.name, *at));
  }
}

evidence::LaunchLog end_call(Context& context, int returned) {
  evidence::LaunchLog log;
  emulator::Device* device = context.device();
  context.flush_output();
  if (device == nullptr) return log;
  judge_outputs(context);
  log = device->take_log();
  log.returned = returned;
  if (context.call.ending != evidence::Ending::finished) {
    log.ending = context.call.ending;
    log.ending_detail = context.call.ending_detail;
  }
  if (log.sampled_blocks == 0) log.sampled_blocks = context.call.sampled_blocks;
  judge_manners(context);
  judge_order(context);
  judge_persistence(context);
  report_leaks(context);
  judge_growth(context);
  judge_host_reads(context);
  judge_tensors(context, log);
  context.call.running = false;
  context.call.any_ended = true;
  context.log.move_into(log);
  return log;
}

}  // namespace
}  // namespace kforge::cudart

using namespace kforge;
using namespace kforge::cudart;

KFORGE_EXPORTED const char* kforge_cudart_configure(const char* json) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  answer() = configure(context, json);
  return answer().empty() ? nullptr : answer().c_str();
}

KFORGE_EXPORTED int kforge_cudart_describe(const void* pointer, const char* name, int role, std::uint64_t element_bytes) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  emulator::Allocation* allocation = find(context, pointer);
  if (allocation == nullptr || name == nullptr || allocation->base != reinterpret_cast<emulator::Address>(pointer)) return 0;
  allocation->label = name;
  context.tensors[allocation->base] = {name, role, element_bytes, {}, {}};
  return 1;
}

KFORGE_EXPORTED int kforge_cudart_describe_layout(const void* pointer, const std::int64_t* shape, const std::int64_t* strides, std::size_t rank) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  const auto tensor = context.tensors.find(reinterpret_cast<Address>(pointer));
  if (tensor == context.tensors.end()) return 0;
  tensor->second.shape.assign(shape, shape + rank);
  tensor->second.strides.assign(strides, strides + rank);
  return 1;
}

KFORGE_EXPORTED void kforge_cudart_load(int begins) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  context.loading = begins != 0;
  if (context.loading) context.log.clear();
  else loaded() = std::exchange(context.log, {});
}

KFORGE_EXPORTED void kforge_cudart_begin_call(void* stream, std::uint64_t thread_instructions, double seconds, std::uint64_t sampled_blocks) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  begin_call(context, stream, {thread_instructions, seconds, progress()}, sampled_blocks);
}

KFORGE_EXPORTED void kforge_cudart_mark_uninitialised(const void* pointer, std::size_t bytes) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  emulator::Allocation* allocation = find(context, pointer);
  if (allocation == nullptr) return;
  const std::uint64_t offset = reinterpret_cast<emulator::Address>(pointer) - allocation->base;
  context.device()->global_shadow().mark_range(*allocation, offset, std::min<std::uint64_t>(bytes, allocation->size - offset), false);
}

KFORGE_EXPORTED void kforge_cudart_show_progress(std::uint64_t* thread_instructions) {
  const std::lock_guard lock(Context::get().mutex);
  progress() = thread_instructions;
}

KFORGE_EXPORTED const char* kforge_cudart_end_call(int returned, std::size_t* bytes) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  static std::string* const log = new std::string;
  *log = evidence::to_bytes(end_call(context, returned));
  *bytes = log->size();
  return log->data();
}

KFORGE_EXPORTED void kforge_cudart_reset() {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  context.reset();
  growth() = {};
}
