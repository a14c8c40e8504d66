#include "ptx/names.h"

#include <array>
#include <unordered_map>

namespace kforge::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  std::uint16_t bits;
  char kind;  // 'p' predicate, 'b' untyped, 'u' unsigned, 's' signed, 'f' floating
};
// Indexed by Type.
constexpr TypeRow kTypes[] = {
    {"none", 0, 'b'}, {"pred", 1, 'p'},
    {"b8", 8, 'b'}, {"b16", 16, 'b'}, {"b32", 32, 'b'}, {"b64", 64, 'b'}, {"b128", 128, 'b'},
    {"u8", 8, 'u'}, {"u16", 16, 'u'}, {"u32", 32, 'u'}, {"u64", 64, 'u'},
    {"s8", 8, 's'}, {"s16", 16, 's'}, {"s32", 32, 's'}, {"s64", 64, 's'},
    {"f16", 16, 'f'}, {"f16x2", 32, 'f'}, {"bf16", 16, 'f'}, {"bf16x2", 32, 'f'}, {"tf32", 32, 'f'},
    {"f32", 32, 'f'}, {"f32x2", 64, 'f'}, {"f64", 64, 'f'},
    {"u16x2", 32, 'u'}, {"s16x2", 32, 's'},
    {"e4m3", 8, 'f'}, {"e5m2", 8, 'f'}, {"e4m3x2", 16, 'f'}, {"e5m2x2", 16, 'f'},
    {"s4", 4, 's'}, {"u4", 4, 'u'}, {"b1", 1, 'b'},
};
static_assert(std::size(kTypes) == static_cast<std::size_t>(Type::b1) + 1);
const TypeRow& row_of(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

// Indexed by SpecialRegister.
constexpr std::string_view kSpecials[] = {
    "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y", "nctaid.z",
    "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid",
    "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
    "clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi",
    "dynamic_smem_size", "total_smem_size", "aggr_smem_size", "reserved_smem_offset_begin",
    "is_explicit_cluster", "clusterid.x", "clusterid.y", "clusterid.z", "nclusterid.x", "nclusterid.y", "nclusterid.z",
    "cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctaid.z", "cluster_nctaid.x", "cluster_nctaid.y", "cluster_nctaid.z",
    "cluster_ctarank", "cluster_nctarank", "current_graph_exec",
    "envreg0", "envreg1", "envreg2", "envreg3",
};
static_assert(std::size(kSpecials) == static_cast<std::size_t>(SpecialRegister::envreg3) + 1);

constexpr std::string_view kSpaces[] = {"", "global", "shared", "local", "const", "param", "reg"};
constexpr std::string_view kRoundings[] = {"", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};
constexpr std::string_view kCompares[] = {"", "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                                          "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr std::string_view kBoolOps[] = {"", "and", "or", "xor"};
constexpr std::string_view kHalves[] = {"", "lo", "hi", "wide"};
constexpr std::string_view kAtomOps[] = {"", "add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"};
constexpr std::string_view kShuffles[] = {"", "up", "down", "bfly", "idx"};
constexpr std::string_view kVotes[] = {"", "all", "any", "uni", "ballot"};
constexpr std::string_view kOrders[] = {"", "weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio"};
constexpr std::string_view kScopes[] = {"", "cta", "cluster", "gpu", "sys"};
constexpr std::string_view kCaches[] = {"", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"};
constexpr std::string_view kOverflows[] = {"", "clamp", "wrap"};
constexpr std::string_view kVectors[] = {"", "v2", "v4", "v8"};

template <auto member>
constexpr FieldRow enum_row(Field field, std::string_view name, std::span<const std::string_view> words, bool by_word) {
  using Value = std::remove_cvref_t<decltype(std::declval<Modifiers&>().*member)>;
  return {field, name, words, [](Modifiers& m, std::uint8_t v) { m.*member = static_cast<Value>(v); },
          [](const Modifiers& m) { return static_cast<std::uint8_t>(m.*member); }, by_word};
}

constexpr std::string_view kFlagWords[][2] = {
    {"", "ftz"}, {"", "sat"}, {"", "satfinite"}, {"", "relu"}, {"", "noftz"}, {"", "approx"}, {"", "full"}, {"", "abs"},
    {"", "NaN"}, {"", "xorsign"}, {"", "cc"}, {"", "to"}, {"", "uni"}, {"", "aligned"}, {"", "sync"}, {"", "warp"},
    {"", "l"}, {"", "r"}, {"", "shiftamt"}};
template <auto member>
constexpr FieldRow flag_row(Field field) {
  const auto& words = kFlagWords[static_cast<std::size_t>(field) - static_cast<std::size_t>(Field::ftz)];
  return enum_row<member>(field, words[1], words, true);
}

constexpr FieldRow kFields[] = {
    {Field::text, "text", {}, nullptr, nullptr, false},
    enum_row<&Modifiers::rounding>(Field::rounding, "rounding", kRoundings, true),
    enum_row<&Modifiers::half>(Field::half, "half", kHalves, true),
    enum_row<&Modifiers::order>(Field::order, "order", kOrders, true),
    enum_row<&Modifiers::scope>(Field::scope, "scope", kScopes, true),
    enum_row<&Modifiers::cache>(Field::cache, "cache", kCaches, true),
    enum_row<&Modifiers::overflow>(Field::overflow, "overflow", kOverflows, true),
    enum_row<&Modifiers::space>(Field::space, "space", kSpaces, true),
    enum_row<&Modifiers::atom_op>(Field::atom, "atom", kAtomOps, true),
    {Field::vector, "vector", kVectors, [](Modifiers& m, std::uint8_t v) { m.vector = static_cast<std::uint8_t>(1 << v); },
     [](const Modifiers& m) { return static_cast<std::uint8_t>(m.vector == 8 ? 3 : m.vector / 2); }, true},
    flag_row<&Modifiers::ftz>(Field::ftz), flag_row<&Modifiers::sat>(Field::sat), flag_row<&Modifiers::satfinite>(Field::satfinite),
    flag_row<&Modifiers::relu>(Field::relu), flag_row<&Modifiers::noftz>(Field::noftz), flag_row<&Modifiers::approx>(Field::approx),
    flag_row<&Modifiers::full>(Field::full), flag_row<&Modifiers::abs>(Field::abs), flag_row<&Modifiers::nan>(Field::nan),
    flag_row<&Modifiers::xorsign>(Field::xorsign), flag_row<&Modifiers::carry_out>(Field::cc), flag_row<&Modifiers::to>(Field::to),
    flag_row<&Modifiers::uniform>(Field::uni), flag_row<&Modifiers::aligned>(Field::aligned), flag_row<&Modifiers::sync>(Field::sync),
    flag_row<&Modifiers::warp>(Field::warp), flag_row<&Modifiers::left>(Field::left), flag_row<&Modifiers::right>(Field::right),
    flag_row<&Modifiers::shift_amount>(Field::shiftamt),
    enum_row<&Modifiers::bool_op>(Field::boolean, "bool", kBoolOps, false),
    enum_row<&Modifiers::compare>(Field::cmp, "cmp", kCompares, false),
    enum_row<&Modifiers::shuffle>(Field::shuffle, "shuffle", kShuffles, false),
    enum_row<&Modifiers::vote>(Field::vote, "vote", kVotes, false),
};
static_assert(std::size(kFields) == static_cast<std::size_t>(Field::vote) + 1);

template <class Enum>
std::unordered_map<std::string_view, Enum> index_of(std::span<const std::string_view> words) {
  std::unordered_map<std::string_view, Enum> map;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!words[i].empty()) map.emplace(words[i], static_cast<Enum>(i));
  return map;
}

template <class Enum>
std::optional<Enum> look_up(const std::unordered_map<std::string_view, Enum>& map, std::string_view word) {
  auto it = map.find(word);
  return it == map.end() ? std::nullopt : std::optional<Enum>(it->second);
}

}  // namespace

std::uint32_t size_bits(Type type) { return row_of(type).bits; }
std::string_view name(Type type) { return row_of(type).name; }
bool is_signed(Type type) { return row_of(type).kind == 's'; }
bool is_float(Type type) { return row_of(type).kind == 'f'; }

std::optional<Type> find_type(std::string_view word) {
  static const auto map = [] {
    std::unordered_map<std::string_view, Type> types;
    for (std::size_t i = 1; i < std::size(kTypes); ++i) types.emplace(kTypes[i].name, static_cast<Type>(i));
    return types;
  }();
  return look_up(map, word);
}

std::optional<SpecialRegister> find_special(std::string_view word) {
  static const auto map = index_of<SpecialRegister>(kSpecials);
  // The manual lets an implementation choose the offsets that lie in the reserved region: here both are its start.
  if (word == "reserved_smem_offset_0" || word == "reserved_smem_offset_1") return SpecialRegister::reserved_smem_offset_begin;
  return look_up(map, word);
}
std::string_view name(SpecialRegister special) { return kSpecials[static_cast<std::size_t>(special)]; }

Type type_of(SpecialRegister special) {
  switch (special) {
    case SpecialRegister::clock64:
    case SpecialRegister::globaltimer:
    case SpecialRegister::gridid:
    case SpecialRegister::current_graph_exec: return Type::u64;
    case SpecialRegister::is_explicit_cluster: return Type::pred;
    default: return Type::u32;
  }
}

std::string_view name(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }
std::optional<Space> find_space(std::string_view word) {
  static const auto map = index_of<Space>(kSpaces);
  return look_up(map, word);
}

std::span<const FieldRow> field_table() { return kFields; }
const FieldRow& row(Field field) { return kFields[static_cast<std::size_t>(field)]; }

}  // namespace kforge::ptx
