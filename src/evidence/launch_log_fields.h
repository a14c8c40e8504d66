// The members of everything in a launch log, listed once: each way to write one down visits them in this order.
#pragma once

#include <cstdint>

#include "evidence/launch_log.h"

namespace kforge::evidence {

// One call a member: visitor(key, member).
template <class Visitor> void fields(Visitor& v, Dim3& d) { v("x", d.x); v("y", d.y); v("z", d.z); }

template <class Visitor> void fields(Visitor& v, SourceFrame& f) {
  v("file", f.file); v("line", f.line); v("column", f.column); v("function", f.function);
}

template <class Visitor> void fields(Visitor& v, SourcePosition& p) { v("frames", p.frames); }

template <class Visitor> void fields(Visitor& v, Counters& c) { v("values", c.values); }

template <class Visitor> void fields(Visitor& v, RequestExample& r) {
  v("active_mask", r.active_mask); v("bytes_per_lane", r.bytes_per_lane); v("lane_addresses", r.lane_addresses);
  v("block", r.block); v("warp", r.warp); v("measured", r.measured); v("ideal", r.ideal);
}

template <class Visitor> void fields(Visitor& v, StoreRange& r) {
  v("tensor", r.tensor); v("first", r.first); v("end", r.end); v("bytes", r.bytes); v("written", r.written);
}

template <class Visitor> void fields(Visitor& v, LineProfile& l) {
  v("position", l.position); v("counters", l.counters); v("global_bytes_per_lane", l.global_bytes_per_lane);
  v("global_contiguous", l.global_contiguous); v("worst_global", l.worst_global); v("worst_shared", l.worst_shared);
  v("stores", l.stores);
}

template <class Visitor> void fields(Visitor& v, LaunchShape& s) {
  v("grid", s.grid); v("block", s.block); v("static_shared_bytes", s.static_shared_bytes);
  v("dynamic_shared_bytes", s.dynamic_shared_bytes);
}

template <class Visitor> void fields(Visitor& v, LoadReuse& r) { v("sectors", r.sectors); v("first", r.first); v("again", r.again); }

template <class Visitor> void fields(Visitor& v, KernelProfile& k) {
  v("kernel", k.kernel); v("launches", k.launches); v("launch_count", k.launch_count); v("totals", k.totals);
  v("lines", k.lines); v("independent_loads", k.independent_loads); v("loads_in_flight", k.loads_in_flight); v("load_reuse", k.load_reuse); v("hottest_line_passes", k.hottest_line_passes); v("sampled", k.sampled); v("source", k.source);
}

template <class Visitor> void fields(Visitor& v, Violation& x) {
  v("contract", x.contract); v("kind", x.kind); v("advice", x.advice); v("kernel", x.kernel); v("where", x.where);
  v("other", x.other); v("message", x.message); v("measured", x.measured); v("required", x.required); v("block", x.block);
  v("thread", x.thread); v("count", x.count);
}

template <class Visitor> void fields(Visitor& v, RuntimeCall& c) {
  v("function", c.function); v("kind", c.kind); v("on_given_stream", c.on_given_stream); v("error", c.error);
  v("detail", c.detail); v("count", c.count);
}

template <class Visitor> void fields(Visitor& v, Coverage& c) {
  v("tensor", c.tensor); v("elements", c.elements); v("unwritten", c.unwritten); v("first_unwritten", c.first_unwritten);
  v("host_written", c.host_written);
}

template <class Visitor> void fields(Visitor& v, Unproven& u) { v("contract", u.contract); v("why", u.why); }

template <class Visitor> void fields(Visitor& v, LaunchLog& l) {
  v("ending", l.ending); v("ending_detail", l.ending_detail); v("returned", l.returned); v("kernels", l.kernels);
  v("violations", l.violations); v("unproven", l.unproven); v("calls", l.calls); v("coverage", l.coverage); v("changed_inputs", l.changed_inputs);
  v("thread_instructions", l.thread_instructions); v("warpgroup_tiles", l.warpgroup_tiles); v("sampled_blocks", l.sampled_blocks); v("output", l.output);
}

inline constexpr std::uint64_t last_of(Ending) { return static_cast<std::uint64_t>(Ending::trap); }
inline constexpr std::uint64_t last_of(Source) { return static_cast<std::uint64_t>(Source::ptx); }

}  // namespace kforge::evidence
