// Random programs of blocks that share memory: in each phase threads write, update or copy into other blocks' shared memory, meet, and read. Who writes where is a
// permutation, so that nothing depends on the order in which threads run, and every program is right.
#include <fmt/format.h>

#include <random>

#include "emulator/random_program.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kSlot = 32;     // bytes of shared memory a thread
constexpr std::uint32_t kHits = 16;     // counters a block

class Writer {
 public:
  Writer(std::uint64_t seed, int phases) : random_(seed) {
    program_.seed = seed;
    program_.threads = 32u << random_() % 2;
    program_.cluster = 1u << random_() % 3;
    program_.blocks = program_.cluster * (1 + static_cast<std::uint32_t>(random_() % 2));
    program_.input_stride = 64;
    program_.input.resize(std::size_t{64} * program_.threads * program_.blocks);
    for (std::byte& byte : program_.input) byte = static_cast<std::byte>(random_());
    start();
    for (int i = 0; i < phases; ++i) phase();
    line("ret;");
    program_.output_stride = 8 * program_.outputs.size();
    program_.text = fmt::format(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{{\n  .reg .b32 %r<16>;\n  .reg .b64 %d<16>;\n  .reg .b16 %h<4>;\n"
        "  .reg .pred %p<4>;\n  .shared .align 16 .b8 data[{0}];\n  .shared .align 16 .b8 inbox[{0}];\n  .shared .align 8 .b8 hits[{1}];\n  .shared .align 8 .b64 bar;\n{2}}}\n",
        kSlot * program_.threads, 8 * kHits, body_);
    const std::string_view stride = "STRIDE";
    program_.text.replace(program_.text.find(stride), stride.size(), std::to_string(program_.output_stride));
  }
  RandomProgram take() { return std::move(program_); }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  template <class... A>
  void line(fmt::format_string<A...> text, A&&... arguments) { line(fmt::format(text, std::forward<A>(arguments)...)); }
  void meet() {
    static constexpr std::string_view kArrive[] = {"arrive", "arrive.release", "arrive.aligned", "arrive.release.aligned"}, kWait[] = {"wait", "wait.acquire", "wait.aligned", "wait.acquire.aligned"};
    line("barrier.cluster.{};", kArrive[below(4)]);
    line("barrier.cluster.{};", kWait[below(4)]);
  }
  void output(std::string_view from, ptx::Type type, const std::string& what) {
    line("st.global.b{} [%d2+{}], {};", ptx::size_bits(type), 8 * program_.outputs.size(), from);
    program_.outputs.push_back({.offset = 8 * program_.outputs.size(), .type = type, .line = what});
  }

  // r0 thread, r1 rank, d0 own input, d1 input, d2 own output, d4 to d7 values; the counters, own slots and the mbarrier are there.
  void start() {
    line("mov.u32 %r0, %tid.x;");
    line("mov.u32 %r1, %cluster_ctarank;");
    line("mov.u32 %r2, %ctaid.x;");
    line("mad.lo.u32 %r2, %r2, {}, %r0;", program_.threads);
    line("ld.param.u64 %d1, [p_in];");
    line("ld.param.u64 %d2, [p_out];");
    line("mad.wide.u32 %d0, %r2, 64, %d1;");
    line("mad.wide.u32 %d2, %r2, STRIDE, %d2;");
    for (int i = 0; i < 4; ++i) line("ld.global.u64 %d{}, [%d0+{}];", 4 + i, 8 * i);
    line("mov.u32 %r3, data;");
    line("mad.lo.u32 %r3, %r0, {}, %r3;", kSlot);
    line("st.shared.v2.b64 [%r3], {%d4, %d5};");
    line("st.shared.v2.b64 [%r3+16], {%d6, %d7};");
    line("mov.u32 %r4, inbox;");
    line("mad.lo.u32 %r4, %r0, {}, %r4;", kSlot);
    for (int i = 0; i < 4; ++i) line("st.shared.b64 [%r4+{}], %d{};", 8 * i, 7 - i);
    line("mov.u32 %r5, hits;");
    line("and.b32 %r6, %r0, {};", kHits - 1);
    line("mad.lo.u32 %r5, %r6, 8, %r5;");
    line("setp.lt.u32 %p0, %r0, {};", kHits);
    line("@%p0 st.shared.u64 [%r5], %d4;");
    line("setp.eq.u32 %p1, %r0, 0;");
    line("@%p1 mbarrier.init.shared::cta.b64 [bar], {};", program_.threads);
    line("@%p1 fence.mbarrier_init.release.cluster;");
    line("fence.proxy.async;");
    meet();
    for (const char* special : {"%cluster_ctarank", "%cluster_nctarank", "%clusterid.x", "%nclusterid.x", "%cluster_ctaid.x", "%cluster_nctaid.x"}) {
      line("mov.u32 %r6, {};", special);
      output("%r6", ptx::Type::b32, special);
    }
  }

  // Leaves in r8, or in d8 a generic address, where the slot at `base` of another thread of another block lies, `step` slots on.
  bool aim(std::string_view base, std::uint32_t step) {
    line("add.u32 %r7, %r0, {};", step);
    line("and.b32 %r7, %r7, {};", program_.threads - 1);
    line("mov.u32 %r8, {};", base);
    line("mad.lo.u32 %r8, %r7, {}, %r8;", base == "hits" ? 0 : kSlot);
    line("add.u32 %r7, %r1, {};", below(program_.cluster));
    line("and.b32 %r7, %r7, {};", program_.cluster - 1);
    const bool generic = below(2) == 0;
    if (generic) {
      line("cvt.u64.u32 %d8, %r8;");
      line("cvta.shared::cta.u64 %d8, %d8;");
      line("mapa.u64 %d8, %d8, %r7;");
      line("getctarank.u64 %r9, %d8;");
      line("isspacep.shared::cta %p2, %d8;");
      line("selp.u32 %r10, 100, 0, %p2;");
      line("isspacep.shared::cluster %p2, %d8;");
      line("selp.u32 %r11, 1000, 0, %p2;");
      line("add.u32 %r9, %r9, %r10;");
      line("add.u32 %r9, %r9, %r11;");
    } else {
      line("mapa.shared::cluster.u32 %r8, %r8, %r7;");
      line("getctarank.shared::cluster.u32 %r9, %r8;");
    }
    output("%r9", ptx::Type::b32, "the rank of an address");
    return generic;
  }

  void store() {
    const bool generic = aim("data", below(program_.threads));
    const std::string place = generic ? "%d8" : "%r8", space = generic ? "" : ".shared::cluster";
    switch (below(6)) {
      case 0: line("st{}.b64 [{}+{}], %d{};", space, place, 8 * below(4), 4 + below(4)); break;
      case 1: line("cvt.u32.u64 %r9, %d{};", 4 + below(4)); line("st{}.u8 [{}+{}], %r9;", space, place, below(kSlot)); break;
      case 2: line("cvt.u16.u64 %h0, %d{};", 4 + below(4)); line("st{}.u16 [{}+{}], %h0;", space, place, 2 * below(16)); break;
      case 3: line("st{}.v2.b64 [{}+{}], {{%d{}, %d{}}};", space, place, 16 * below(2), 4 + below(4), 4 + below(4)); break;
      case 4: line("cvt.u32.u64 %r9, %d{};", 4 + below(4)); line("st.relaxed.cluster{}.b32 [{}+{}], %r9;", space, place, 4 * below(8)); break;
      default: line("cvt.u32.u64 %r9, %d{};", 4 + below(4)); line("st{}.v4.b32 [{}], {{%r9, %r0, %r1, %r9}};", space, place); break;
    }
  }

  void load() {
    static constexpr std::string_view kTypes[] = {"u8", "s8", "u16", "s16", "b32", "u32", "s32", "b64", "s64"};
    const bool generic = aim(below(2) == 0 ? "data" : "inbox", below(program_.threads));
    const std::string place = generic ? "%d8" : "%r8", space = generic ? "" : ".shared::cluster";
    const std::string_view type = kTypes[below(9)];
    const std::uint32_t width = type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
    const std::string text = fmt::format("ld{}.{} %d9, [{}+{}];", space, type, place, width * below(kSlot / width));
    line(text);
    output("%d9", ptx::Type::b64, text);
    line("xor.b64 %d{}, %d9, %d{};", 4 + below(4), 4 + below(4));
  }

  void update() {
    static constexpr std::string_view kOperations[] = {"add.u32", "add.u64", "min.s32", "max.u64", "and.b32", "or.b64", "xor.b32", "min.u32", "max.s64"};
    const std::string_view operation = kOperations[below(9)];
    const bool wide = operation.ends_with("64"), generic = aim("hits", 0), returns = below(2) == 0;
    const std::string place = generic ? "%d8" : "%r8", space = generic ? "" : ".shared::cluster";
    line("cvt.u32.u64 %r9, %d{};", 4 + below(4));
    line("{}{}.{} {}[{}+{}], {};", returns ? "atom" : "red", space, operation, returns ? wide ? "%d10, " : "%r10, " : "", place, 8 * below(kHits), wide ? "%d5" : "%r9");
    meet();
    line("ld.shared.u64 %d9, [%r5];");
    output("%d9", ptx::Type::b64, fmt::format("counters after {}", operation));
  }

  // An arrival of every thread at the mbarrier of one block, and of bytes where `bytes` is not 0; then all wait for their own.
  void count_on(std::uint32_t bytes) {
    if (bytes != 0) {
      line("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {};", bytes);
      line("@!%p1 mbarrier.arrive.shared::cta.b64 _, [bar];");
    } else {
      line("mov.u32 %r8, bar;");
      line("add.u32 %r7, %r1, {};", below(program_.cluster));
      line("and.b32 %r7, %r7, {};", program_.cluster - 1);
      line("mapa.shared::cluster.u32 %r8, %r8, %r7;");
      line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];");
    }
  }
  void wait() {
    line("WAIT{}:", waits_);
    line("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], {};", waits_ % 2);
    line("@!%p2 bra WAIT{};", waits_);
    ++waits_;
  }

  void send() {
    static constexpr std::string_view kTypes[] = {"b32", "b64", "v2.b64", "v4.b32"};
    const std::uint32_t kind = below(4), bytes = kind == 0 ? 4 : kind == 1 ? 8 : 16, all = program_.threads * bytes;
    count_on(all);
    line("mov.u32 %r8, inbox;");
    line("add.u32 %r7, %r0, {};", below(program_.threads));
    line("and.b32 %r7, %r7, {};", program_.threads - 1);
    line("mad.lo.u32 %r8, %r7, {}, %r8;", kSlot);
    line("mov.u32 %r9, bar;");
    line("add.u32 %r7, %r1, {};", below(program_.cluster));
    line("and.b32 %r7, %r7, {};", program_.cluster - 1);
    line("mapa.shared::cluster.u32 %r8, %r8, %r7;");
    line("mapa.shared::cluster.u32 %r9, %r9, %r7;");
    line("cvt.u32.u64 %r10, %d{};", 4 + below(4));
    const bool updates = kind == 0 && below(2) == 0;
    if (updates) line("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8], %r10, [%r9];");
    else line("st.async.shared::cluster.mbarrier::complete_tx::bytes.{} [%r8+{}], {}, [%r9];", kTypes[kind], 16 * below(2), kind == 0 ? "%r10" : kind == 1 ? "%d5" : kind == 2 ? "{%d4, %d6}" : "{%r10, %r0, %r1, %r10}");
    wait();
  }

  // Thread 0 copies: its block's slots to another block, or a piece of the input to several.
  void copy() {
    const std::uint32_t bytes = 16 * (1 + below(program_.threads)), to = 16 * below(kSlot * program_.threads / 16 - bytes / 16 + 1);
    const bool several = below(2) == 0;
    count_on(bytes);
    line("add.u32 %r7, %r1, {};", below(program_.cluster));
    line("and.b32 %r7, %r7, {};", program_.cluster - 1);
    line("mov.u32 %r8, inbox;");
    line("mov.u32 %r9, bar;");
    if (several) {
      // Every block gets one copy: the one of rank 0 sends them all.
      line("setp.eq.u32 %p3, %r1, 0;");
      line("and.pred %p3, %p3, %p1;");
      line("mov.b16 %h1, {};", (1u << program_.cluster) - 1);
      line("@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r8+{}], [%d1+{}], {}, [%r9], %h1;", to, 16 * below(4), bytes);
    } else {
      line("mapa.shared::cluster.u32 %r8, %r8, %r7;");
      line("mapa.shared::cluster.u32 %r9, %r9, %r7;");
      line("mov.u32 %r10, data;");
      line("@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8+{}], [%r10+{}], {}, [%r9];", to, to, bytes);
    }
    wait();
  }

  void phase() {
    switch (below(6)) {
      case 0: store(); break;
      case 1: load(); break;
      case 2: update(); break;
      case 3: count_on(0); wait(); break;
      case 4: send(); break;
      default: copy(); break;
    }
    line("fence.proxy.async;");
    meet();
    if (below(2) != 0) return;
    load();
    meet();
  }

  std::mt19937_64 random_;
  RandomProgram program_;
  std::string body_;
  int waits_ = 0;
};

}  // namespace

RandomProgram random_cluster(std::uint64_t seed, int phases) { return Writer(seed, phases).take(); }

}  // namespace kforge::emulator
