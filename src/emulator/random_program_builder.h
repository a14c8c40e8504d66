// The writer of random programs: registers by kind of value, operands, and the text that grows. See random_program.h.
#pragma once

#include <map>
#include <optional>
#include <random>

#include "emulator/random_program.h"
#include "ptx/form.h"

namespace kforge::emulator {

// Values that may flow into one another. tame: inputs of moderate size, for functions with error bounds.
enum class Pool : std::uint8_t { pred, i16, i32, i64, f16, bf16, f16x2, bf16x2, f32, f64, e4m3x2, e5m2x2, none };
Pool pool_of(ptx::Type type);
std::uint32_t bits_of(Pool pool);
std::string_view register_type(Pool pool);   // ".b32"

struct Spelt {                               // one random spelling of a row
  std::vector<std::string> words;
  ptx::Type types[4] = {};
  bool has(std::string_view word) const;
  bool starts(std::string_view prefix) const;   // any word
};

class RandomBuilder {
 public:
  explicit RandomBuilder(std::uint64_t seed, bool structured);
  RandomProgram finish();

  // Appends instructions of the row; false: none is made of it.
  bool row(std::uint16_t form);

  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  void line(std::string text);
  std::string pick(Pool pool);               // a defined register
  std::string fresh(Pool pool);              // a new register, not defined yet
  std::string target(Pool pool);             // where a result goes: fresh, or one to overwrite in structured programs
  void define(Pool pool, const std::string& reg) { pools_[pool].push_back(reg); }
  void output(Pool pool, const std::string& reg, RandomOutput rule);
  std::string label();
  std::string immediate(ptx::Type type);

  static constexpr std::uint64_t kWindow = 64;   // bytes of private memory a thread has in each space
  static constexpr int kInputs = 4;              // registers of each pool that are loaded
  std::string guard;                             // "@%p3 " before the instructions

 private:
  void prologue();
  void load_inputs();
  std::optional<Spelt> spell(const ptx::CompiledForm& form);
  bool computes(const ptx::CompiledForm& form);
  bool video_merges(const ptx::CompiledForm& form, const Spelt& spelt);
  std::string video_target(const ptx::CompiledForm& form);
  std::string video_selector(const ptx::CompiledForm& form, const std::string& operands);
  bool memory(const ptx::CompiledForm& form);
  bool atomic(const ptx::CompiledForm& form);
  bool moves(const ptx::CompiledForm& form);
  bool warp(const ptx::CompiledForm& form);
  bool barrier(const ptx::CompiledForm& form);
  bool control(const ptx::CompiledForm& form);
  bool address(const ptx::CompiledForm& form);
  std::string source(const ptx::CompiledForm& form, const ptx::OperandSpec& spec, ptx::Type type, bool tame);
  std::string address_in(const Spelt& spelt, std::uint64_t bytes);
  void fill(Pool pool, std::uint32_t bits, bool tame, std::vector<std::byte>& slice);
  Pool wide_pool(ptx::Type type);

  std::mt19937_64 random_;
  bool structured_;
  RandomProgram program_;
  std::string body_;
  std::map<Pool, std::vector<std::string>> pools_;
  std::map<Pool, std::vector<std::string>> inputs_;   // never overwritten
  std::map<Pool, std::vector<std::string>> tame_;
  std::map<Pool, int> counts_;
  int labels_ = 0;
  std::uint64_t out_ = kWindow;                       // next byte of a thread's output
  std::vector<std::vector<std::byte>> slices_;        // inputs, by thread
};

// Whether the manual allows these words and types together, where the table's row is wider.
bool is_legal(const ptx::CompiledForm& form, const Spelt& spelt);
// The manual's bounds for functions that it gives no exact result.
void set_bounds(const ptx::CompiledForm& form, const Spelt& spelt, RandomOutput& rule);
bool is_approximate(const ptx::CompiledForm& form, const Spelt& spelt);
std::string joined(const ptx::CompiledForm& form, const Spelt& spelt);   // "add.rn.f32"

}  // namespace kforge::emulator
