// Memory, warp, barrier and control rows of random programs, and programs with structure.
#include <fmt/format.h>

#include "emulator/random_program_builder.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Type;

namespace {

std::uint64_t vector_of(const Spelt& spelt) { return spelt.has("v8") ? 8 : spelt.has("v4") ? 4 : spelt.has("v2") ? 2 : 1; }
std::string listed(const std::vector<std::string>& regs) { return regs.size() == 1 ? regs[0] : fmt::format("{{{}}}", fmt::join(regs, ", ")); }

}  // namespace

// A place in the private window of the space that is written, by register, by variable, or by a generic address.
std::string RandomBuilder::address_in(const Spelt& spelt, std::uint64_t bytes) {
  const std::uint64_t at = below(kWindow / bytes) * bytes;
  if (spelt.has("global")) return fmt::format("[%out+{}]", at);
  if (spelt.starts("shared")) return fmt::format("[%sh+{}]", at);
  if (spelt.has("local")) return chance(50) ? fmt::format("[%lo+{}]", at) : fmt::format("[mine+{}]", at);
  if (spelt.has("const")) return fmt::format("[table+{}]", at);
  if (spelt.starts("param")) return fmt::format("[p_blob+{}]", at);
  return fmt::format("[{}+{}]", chance(50) ? "%gsh" : chance(50) ? "%glo" : "%ggl", at);
}

bool RandomBuilder::memory(const ptx::CompiledForm& form) {
  const auto spelt = spell(form);
  if (!spelt) return false;
  const Type type = spelt->types[0];
  const std::uint64_t count = vector_of(*spelt);
  const std::string at = form.form->id.find("mmio") != std::string_view::npos || form.form->exec == Exec::ldu || form.form->id.starts_with("ld_nc")
                             ? fmt::format("[%out+{}]", below(kWindow / (ptx::size_bytes(type) * count)) * ptx::size_bytes(type) * count)
                             : address_in(*spelt, ptx::size_bytes(type) * count);
  const std::string mnemonic = joined(form, *spelt);
  if (type == Type::b128) {
    line(fmt::format("mov.b128 %q0, {{{}, {}}}", pick(Pool::i64), pick(Pool::i64)));
    if (form.form->exec == Exec::st) { line(mnemonic + " " + at + ", %q0"); return true; }
    line(mnemonic + " %q1, " + at);
    const std::string a = fresh(Pool::i64), b = fresh(Pool::i64);
    line(fmt::format("mov.b128 {{{}, {}}}, %q1", a, b));
    output(Pool::i64, a, {.type = Type::b64, .line = mnemonic});
    output(Pool::i64, b, {.type = Type::b64, .line = mnemonic});
    return true;
  }
  std::vector<std::string> regs;
  const Pool pool = wide_pool(type);
  const bool stores = form.form->exec == Exec::st;
  for (std::uint64_t i = 0; i < count; ++i) regs.push_back(stores ? pick(pool) : fresh(pool));
  if (stores && ptx::is_float(type))   // memory is compared bit for bit, so no NaN that the manual leaves open
    for (std::string& reg : regs) reg = inputs_[pool][below(inputs_[pool].size())];
  const std::string text = stores ? mnemonic + " " + at + ", " + listed(regs) : mnemonic + " " + listed(regs) + ", " + at;
  line(text);
  if (!stores)
    for (const std::string& reg : regs) {
      RandomOutput rule;
      rule.type = ptx::is_float(type) ? type : pool == Pool::i64 ? Type::b64 : pool == Pool::i32 ? Type::b32 : Type::b16;
      rule.line = text;
      output(pool, reg, rule);
    }
  return true;
}

bool RandomBuilder::atomic(const ptx::CompiledForm& form) {
  const auto spelt = spell(form);
  if (!spelt) return false;
  const Type type = spelt->types[0];
  const std::uint64_t count = vector_of(*spelt), size = ptx::size_bytes(type);
  const bool returns = form.form->exec == Exec::atom;
  Spelt place = *spelt;
  if (count > 1 && !place.has("global")) place.words.push_back("global");
  std::string at = count > 1 ? fmt::format("[%out+{}]", below(kWindow / (size * count)) * size * count) : address_in(place, size);
  while (at.starts_with("[%glo")) at = address_in(place, size);   // atomic operations are of global and shared memory only
  const Pool pool = pool_of(type);
  std::vector<std::string> old, values;
  for (std::uint64_t i = 0; i < count; ++i) {
    old.push_back(fresh(pool));
    values.push_back(inputs_[pool][below(inputs_[pool].size())]);
  }
  const bool is_generic = at.starts_with("[%g"), in_shared = at.starts_with("[%sh");
  const std::string space = is_generic ? "" : in_shared ? ".shared" : at.starts_with("[%out") ? ".global" : ".local";
  const std::string bits = pool == Pool::f32 ? "f32" : pool == Pool::f64 ? "f64" : fmt::format("b{}", 8 * size);
  std::vector<std::string> cells;
  if (ptx::is_float(type))   // start from an input, not from any bits
    for (std::uint64_t i = 0; i < count; ++i)
      line(fmt::format("st{}.{} {}+{}], {}", space, bits, at.substr(0, at.size() - 1), i * size, inputs_[pool][below(inputs_[pool].size())]));
  std::string text = joined(form, *spelt) + " " + (returns ? listed(old) + ", " : "") + at + ", " + listed(values);
  if (spelt->has("cas")) {
    const std::string expected = fresh(pool);
    if (chance(60)) line(fmt::format("ld{}.{} {}, {}", space, bits, expected, at));
    else line(fmt::format("mov.b{} {}, {}", 8 * size, expected, pick(pool)));
    text = fmt::format("{} {}, {}, {}, {}", joined(form, *spelt), old[0], at, expected, values[0]);
  }
  line(text);
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOutput rule;
    rule.type = type;
    rule.line = text;
    rule.any_nan = ptx::is_float(type);
    if (returns) output(pool, old[i], rule);
    const std::string after = fresh(pool);
    line(fmt::format("ld{}.{} {}, {}+{}]", space, bits, after, at.substr(0, at.size() - 1), i * size));
    rule.line = text + "  (memory after)";
    output(pool, after, rule);
    if (ptx::is_float(type)) line(fmt::format("st{}.{} {}+{}], {}", space, bits, at.substr(0, at.size() - 1), i * size, inputs_[pool][0]));
  }
  return true;
}

bool RandomBuilder::moves(const ptx::CompiledForm& form) {
  const bool splits = form.form->id.starts_with("mov_unpack");
  if (form.form->id.ends_with("b128")) {
    line(fmt::format("mov.b128 %q0, {{{}, {}}}", pick(Pool::i64), pick(Pool::i64)));
    if (form.form->id == "mov_b128") line("mov.b128 %q1, %q0");
    const std::string q = form.form->id == "mov_b128" ? "%q1" : "%q0", a = fresh(Pool::i64), b = fresh(Pool::i64);
    line(fmt::format("mov.b128 {{{}, {}}}, {}", a, b, q));
    output(Pool::i64, a, {.type = Type::b64, .line = "mov.b128"});
    output(Pool::i64, b, {.type = Type::b64, .line = "mov.b128"});
    return true;
  }
  const bool wide = chance(60);
  const int parts = wide && chance(50) ? 4 : 2;
  const Pool whole = wide ? Pool::i64 : Pool::i32, part = wide && parts == 2 ? Pool::i32 : Pool::i16;
  std::vector<std::string> regs;
  for (int i = 0; i < parts; ++i) regs.push_back(splits ? (chance(15) && i > 0 ? "_" : fresh(part)) : pick(part));
  const std::string mnemonic = fmt::format("mov.b{}", bits_of(whole));
  if (splits) {
    const std::string text = fmt::format("{} {}, {}", mnemonic, listed(regs), pick(whole));
    line(text);
    for (const std::string& reg : regs)
      if (reg != "_") { output(part, reg, {.type = part == Pool::i32 ? Type::b32 : Type::b16, .line = text}); if (!structured_) define(part, reg); }
    return true;
  }
  const std::string d = fresh(whole), text = fmt::format("{} {}, {}", mnemonic, d, listed(regs));
  line(text);
  output(whole, d, {.type = wide ? Type::b64 : Type::b32, .line = text});
  return true;
}

bool RandomBuilder::warp(const ptx::CompiledForm& form) {
  const auto spelt = spell(form);
  if (!spelt) return false;
  const std::string name = joined(form, *spelt), mask = guard.empty() ? "-1" : "%member";
  const std::string d = fresh(Pool::i32), p = fresh(Pool::pred);
  const auto int_source = [&](Type type) { return chance(15) ? immediate(type) : pick(pool_of(type)); };
  std::string text;
  bool writes_d = true, writes_p = false;
  switch (form.form->exec) {
    case Exec::bar_warp_sync: line(name + " " + mask); return true;
    case Exec::activemask: if (!guard.empty()) return true; text = name + " " + d; break;
    case Exec::elect: text = fmt::format("{} {}|{}, {}", name, d, p, mask); writes_p = true; break;
    case Exec::redux: text = fmt::format("{} {}, {}, {}", name, d, int_source(spelt->types[0]), mask); break;
    case Exec::vote:
      writes_d = spelt->has("ballot");
      writes_p = !writes_d;
      text = fmt::format("{} {}, {}{}, {}", name, writes_d ? d : p, chance(40) ? "!" : "", pick(Pool::pred), mask);
      break;
    case Exec::match: {
      // Few distinct values, so that some lanes do match.
      const bool wide = spelt->types[0] == Type::b64;
      const std::string few = fresh(wide ? Pool::i64 : Pool::i32);
      line(fmt::format("and.b{} {}, {}, {}", wide ? 64 : 32, few, pick(wide ? Pool::i64 : Pool::i32), chance(30) ? 0 : below(4)));
      writes_p = spelt->has("all") && chance(60);
      text = fmt::format("{} {}{}, {}, {}", name, d, writes_p ? "|" + p : "", few, mask);
      break;
    }
    default: {
      const std::uint64_t segment = chance(50) ? 0 : below(32), clamp = spelt->has("up") && chance(80) ? 0 : chance(60) ? 31 : below(32);
      // Inside divergent code the source may be a lane that is not here: read the own lane then.
      const std::string b = guard.empty() ? (chance(50) ? fmt::format("{}", below(40)) : pick(Pool::i32)) : std::string("0");
      writes_p = chance(60);
      text = fmt::format("{} {}{}, {}, {}, {}, {}", name, d, writes_p ? "|" + p : "", int_source(Type::b32), spelt->has("idx") && !guard.empty() ? "%laneid_" : b, segment << 8 | clamp, mask);
      if (text.find("%laneid_") != std::string::npos) return true;
    }
  }
  line(text);
  if (writes_d) output(Pool::i32, d, {.type = Type::b32, .line = text});
  if (writes_p) output(Pool::pred, p, {.type = Type::u32, .line = text + "  (predicate)"});
  return true;
}

bool RandomBuilder::barrier(const ptx::CompiledForm& form) {
  if (!guard.empty()) return true;
  const auto spelt = spell(form);
  if (!spelt) return false;
  const std::string name = joined(form, *spelt), id = fmt::format("{}", below(16));
  const bool counted = chance(50);
  if (form.form->exec == Exec::bar_sync) {
    line(fmt::format("{} {}{}", name, id, counted ? ", 64" : ""));
    return true;
  }
  if (form.form->exec == Exec::bar_arrive) {   // the first warp says so, the second waits for it
    const bool other = form.form->opcode == "barrier";
    const std::uint64_t one = 1 + below(15);
    line("setp.lt.u32 %pg, %tid, 32");
    line(fmt::format("st.shared.b32 [%sh], {}", pick(Pool::i32)));
    body_ += fmt::format("  @%pg {} {}, 64;\n  @!%pg {} {}, 64;\n  bar.sync 0;\n", name, one, other ? "barrier.sync" : "bar.sync", one);
    return true;
  }
  const bool popc = spelt->has("popc");
  const std::string d = fresh(popc ? Pool::i32 : Pool::pred);
  const std::string text = fmt::format("{} {}, {}{}, {}{}", name, d, id, counted ? ", 64" : "", chance(40) ? "!" : "", pick(Pool::pred));
  line(text);
  output(popc ? Pool::i32 : Pool::pred, d, {.type = Type::b32, .line = text});
  return true;
}

bool RandomBuilder::control(const ptx::CompiledForm& form) {
  if (!guard.empty()) return true;
  switch (form.form->exec) {
    case Exec::bra: {
      const std::string over = label(), d = fresh(Pool::i32);
      line(fmt::format("mov.b32 {}, {}", d, pick(Pool::i32)));
      const bool uniform = chance(30);
      body_ += fmt::format("  {}bra{} {};\n", uniform ? "" : fmt::format("@{}{} ", chance(50) ? "!" : "", pick(Pool::pred)), uniform ? ".uni" : "", over);
      line(fmt::format("add.s32 {}, {}, 1", d, d));
      body_ += over + ":\n";
      output(Pool::i32, d, {.type = Type::b32, .line = "after bra"});
      return true;
    }
    case Exec::brx: {
      const std::string list = label(), end = label(), d = fresh(Pool::i32);
      std::vector<std::string> targets{label(), label(), label(), label()};
      line(fmt::format("and.b32 %y, {}, 3", pick(Pool::i32)));
      body_ += fmt::format("  {}: .branchtargets {};\n", list, fmt::join(targets, ", "));
      line(fmt::format("brx.idx %y, {}", list));
      for (std::size_t i = 0; i < 4; ++i) body_ += fmt::format("{}:\n  mov.b32 {}, {};\n  bra {};\n", targets[i], d, i * 17, end);
      body_ += end + ":\n";
      output(Pool::i32, d, {.type = Type::b32, .line = "after brx.idx"});
      return true;
    }
    case Exec::call: {
      const std::string d = fresh(Pool::i32);
      body_ += fmt::format("  {{\n  .param .b32 a0;\n  .param .b64 a1;\n  .param .b32 r0;\n  st.param.b32 [a0], {};\n  st.param.b64 [a1], {};\n  call{} (r0), twist, (a0, a1);\n  ld.param.b32 {}, [r0];\n  }}\n",
                           pick(Pool::i32), pick(Pool::i64), chance(50) ? ".uni" : "", d);
      output(Pool::i32, d, {.type = Type::b32, .line = "call twist"});
      return true;
    }
    case Exec::nanosleep: line(fmt::format("nanosleep.u32 {}", below(100))); return true;
    case Exec::ret: case Exec::exit: {
      // Some threads end early: what they have stored stays. (Their private memory is stored at the end, so it is not.)
      return true;
    }
    default: return false;
  }
}

bool RandomBuilder::address(const ptx::CompiledForm& form) {
  const auto spelt = spell(form);
  if (!spelt) return false;
  if (form.form->exec == Exec::prefetch) {
    if (form.form->operands != "[a]" || spelt->has("local")) return true;
    line(joined(form, *spelt) + " [%out]");
    return true;
  }
  if (form.form->exec == Exec::isspacep) {
    const std::string p = fresh(Pool::pred);
    const char* const places[] = {"%gsh", "%glo", "%ggl", "%gco"};
    const std::string text = fmt::format("{} {}, {}", joined(form, *spelt), p, places[below(4)]);
    line(text);
    output(Pool::pred, p, {.type = Type::u32, .line = text});
    return true;
  }
  if (spelt->types[0] == Type::u32) return true;   // 32-bit generic addresses do not exist in this program
  const bool shared = spelt->starts("shared"), local = spelt->has("local");
  const std::string space = shared ? "shared" : local ? "local" : spelt->has("const") ? "const" : spelt->starts("param") ? "param" : "global";
  const std::string generic = shared ? "%gsh" : local ? "%glo" : space == "const" ? "%gco" : space == "param" ? "%gpa" : "%ggl";
  const std::string a = fresh(Pool::i64), b = fresh(Pool::i64), d = fresh(Pool::i32);
  line(fmt::format("cvta.to.{}.u64 {}, {}", space, a, generic));
  Spelt plain = *spelt;
  std::erase(plain.words, "to");
  line(fmt::format("{} {}, {}", joined(form, plain), b, a));
  line(fmt::format("ld.b32 {}, [{}+8]", d, b));
  output(Pool::i32, d, {.type = Type::b32, .line = joined(form, *spelt) + " and back"});
  return true;
}

namespace {

// A random row that may stand in divergent, repeated code.
void simple_row(RandomBuilder& builder) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto form = static_cast<std::uint16_t>(builder.below(ptx::instruction_table().size()));
    const ptx::Form& row = ptx::instruction_table()[form];
    const ptx::InstructionClass k = row.klass;
    using K = ptx::InstructionClass;
    const bool simple = k == K::integer || k == K::floating || k == K::half || k == K::conversion || k == K::compare || k == K::logic;
    if (!simple || row.exec == Exec::copysign || row.exec == Exec::mov || row.exec == Exec::video || row.exec == Exec::cvt_pack || row.exec == Exec::div) continue;
    if (row.types.find("tf32") != std::string_view::npos) continue;
    if (row.exec == Exec::min || row.exec == Exec::max || row.exec == Exec::abs || row.exec == Exec::neg)
      if (k != K::integer) continue;   // signs of NaN would flow on
    if (builder.row(form)) return;
  }
}

void block(RandomBuilder& builder, int depth, int& left);

void branch(RandomBuilder& builder, int depth, int& left) {
  const std::string other = builder.label(), end = builder.label();
  builder.line(fmt::format("@{}{} bra {}", builder.chance(50) ? "!" : "", builder.pick(Pool::pred), other));
  block(builder, depth + 1, left);
  builder.line("bra " + end);
  builder.line("// else\n" + other + ": mov.b32 %y, 0");
  block(builder, depth + 1, left);
  builder.line("// end\n" + end + ": mov.b32 %y, 0");
}

// One to four trips, as many as the thread's number says: threads leave at different times.
void loop(RandomBuilder& builder, int depth, int& left) {
  const std::string head = builder.label(), trip = builder.fresh(Pool::i32);
  builder.line(fmt::format("and.b32 {}, %tid, {}", trip, builder.chance(50) ? 3 : 1));
  builder.line("// loop\n" + head + ": mov.b32 %y, 0");
  block(builder, depth + 1, left);
  builder.line(fmt::format("sub.u32 {}, {}, 1", trip, trip));
  builder.line(fmt::format("setp.ge.s32 %pc, {}, 0", trip));
  builder.line("@%pc bra " + head);
}

void block(RandomBuilder& builder, int depth, int& left) {
  const std::uint64_t length = 1 + builder.below(5);
  for (std::uint64_t i = 0; i < length && left > 0; ++i, --left) {
    const std::uint64_t kind = builder.below(10);
    if (kind == 0 && depth < 3) branch(builder, depth, left);
    else if (kind == 1 && depth < 3) loop(builder, depth, left);
    else if (kind == 2) {
      builder.guard = fmt::format("@{}{} ", builder.chance(50) ? "!" : "", builder.pick(Pool::pred));
      simple_row(builder);
      builder.guard.clear();
    } else simple_row(builder);
  }
}

// The warp splits by a predicate, and each part talks among its own members.
void split_meeting(RandomBuilder& builder) {
  const std::string other = builder.label(), end = builder.label(), p = builder.pick(Pool::pred);
  const auto talk = [&] {
    const std::string d = builder.pick(Pool::i32), r = builder.pick(Pool::i32);
    switch (builder.below(5)) {
      case 0: builder.line(fmt::format("redux.sync.{}.b32 {}, {}, %member", builder.chance(50) ? "xor" : "and", d, r)); return;
      case 1: builder.line(fmt::format("redux.sync.{}.s32 {}, {}, %member", builder.chance(50) ? "max" : "min", d, r)); return;
      case 2: builder.line(fmt::format("vote.sync.ballot.b32 {}, {}, %member", d, builder.pick(Pool::pred))); return;
      case 3: builder.line(fmt::format("match.any.sync.b32 {}, {}, %member", d, r)); return;
      default: builder.line(fmt::format("shfl.sync.bfly.b32 {}, {}, 0, 31, %member", d, r)); return;
    }
  };
  builder.line(fmt::format("vote.sync.ballot.b32 %member, {}, -1", p));
  builder.line(fmt::format("@!{} bra {}", p, other));
  for (std::uint64_t i = 0; i <= builder.below(3); ++i) talk();
  builder.line("bra " + end);
  builder.line("// else\n" + other + ": not.b32 %member, %member");
  for (std::uint64_t i = 0; i <= builder.below(3); ++i) talk();
  builder.line("// end\n" + end + ": bar.warp.sync -1");
}

// All threads of the block are here: neighbours talk.
void meeting(RandomBuilder& builder) {
  const std::string r = builder.pick(Pool::i32), d = builder.pick(Pool::i32), p = builder.pick(Pool::pred);
  switch (builder.below(6)) {
    case 5: return split_meeting(builder);
    case 0: builder.line(fmt::format("shfl.sync.{} {}, {}, {}, 31, -1", builder.chance(50) ? "bfly.b32" : "down.b32", d, r, builder.below(32))); return;
    case 1: builder.line(fmt::format("vote.sync.ballot.b32 {}, {}, -1", d, p)); return;
    case 2: builder.line(fmt::format("redux.sync.add.s32 {}, {}, -1", d, r)); return;
    case 3: builder.line(fmt::format("bar.red.popc.u32 {}, 0, {}", d, p)); return;
    default:
      builder.line(fmt::format("st.shared.b32 [%sh], {}", r));
      builder.line("bar.sync 0");
      builder.line(fmt::format("add.u32 %m0, %tid, {}", builder.below(64)));
      builder.line("and.b32 %m0, %m0, 63");
      builder.line("mov.u32 %m1, window");
      builder.line(fmt::format("mad.lo.u32 %m0, %m0, {}, %m1", RandomBuilder::kWindow));
      builder.line(fmt::format("ld.shared.b32 {}, [%m0]", d));
      builder.line("bar.sync 0");
      builder.line(fmt::format("red.shared.add.u32 [window+{}], {}", 4 * (1 + builder.below(8)), r));   // the first thread's window
      builder.line("bar.sync 0");
  }
}

}  // namespace

RandomProgram random_structured(std::uint64_t seed, int count) {
  RandomBuilder builder(seed, true);
  int left = count;
  while (left > 0) {
    block(builder, 0, left);
    meeting(builder);
  }
  return builder.finish();
}

}  // namespace kforge::emulator
