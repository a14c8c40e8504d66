// The parser's working state (internal to this room): text to Module in one pass, forward references patched at the
// end of the scope, function or module that they belong to. A failing step records the first error and returns false.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ptx/form.h"
#include "ptx/lexer.h"
#include "ptx/module.h"

namespace kforge::ptx {

// A constant as written. A float keeps its written bits until the instruction's type is known.
struct Constant {
  enum class Kind : std::uint8_t { integer, f32_bits, f64_bits } kind = Kind::integer;
  std::uint64_t bits = 0;
};
// An immediate Operand carries the Constant's kind in `offset` until fit() has converted it.
Operand immediate_operand(Constant constant);

// The bits of `constant` in a floating or untyped `type`; absent when PTX allows no such conversion.
std::optional<std::uint64_t> constant_bits(Constant constant, Type type);

// Checks operands against a row and converts immediates. Empty when they fit, else what is wrong, for the message
// "operand N of ...". `operands` may be changed only when they fit.
struct Misfit {
  std::size_t operand = 0;  // index; operands.size() when their number is wrong
  std::string message;      // empty: fits
};
Misfit fit(const Spelling& spelling, std::vector<Operand>& operands, const std::vector<Register>& registers);

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : lexer_(text), file_(file), end_(text.data() + text.size()) { advance(); }
  Expected<Module> read();

 private:
  static constexpr int kMaxDepth = 100;                        // of { } scopes and of ( ) in constants
  static constexpr std::uint64_t kMaxInitialBytes = 1u << 28;  // of all initial values of a module

  struct Symbol {
    enum class Kind : std::uint8_t { reg, vector, variable, prototype, targets } kind = Kind::reg;
    std::uint32_t index = 0;  // RegisterId (vector: of .x, the others follow), variable of the function, or entry of target_lists_
    std::uint8_t count = 1;   // vector: registers
  };
  struct RegisterRange { Type type = Type::none; std::uint64_t count = 0; };
  struct LabelUse { std::uint32_t instruction; std::uint32_t slot; Token at; bool in_targets; };
  struct Scope {
    std::unordered_map<std::string_view, Symbol> symbols;
    std::unordered_map<std::string_view, Type> declared;          // single registers not yet used
    std::unordered_map<std::string_view, RegisterRange> ranges;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::vector<LabelUse> uses;
  };
  struct FunctionUse { std::uint32_t function, instruction, operand; Token at; };
  static constexpr std::uint32_t kCallee = ~0u;
  struct LocationNode {
    std::uint32_t file = 0, line = 0, column = 0, parent = 0, name_offset = 0;
    std::string_view function;      // label in .debug_str
    std::uint32_t location = 0;     // index in Module::locations once used
  };

  // Tokens (reader.cc).
  void advance() { token_ = lexer_.next(); }
  bool accept(char c);
  bool accept(std::string_view word);
  bool expect(char c);
  bool expect_word(std::string_view& out, std::string_view what);
  bool fail_at(const Token& token, std::string message, std::string hint = {});
  bool fail_here(std::string expected);  // "expected X, found <token>"

  // Module level (reader.cc).
  bool module_item();
  bool version();
  bool target();
  bool file_directive();
  bool alias();
  bool skip_to_semicolon();
  bool resolve_functions();
  struct Linkage { bool is_extern = false, is_visible = false, is_weak = false, is_common = false; };
  bool linked_item(Linkage linkage);

  // Variables (reader_variable.cc).
  struct Declared { Variable variable; std::string_view name; Token at; bool open_array = false; };
  bool module_variable(Space space, Linkage linkage);
  bool declarator_head(Variable& prototype, std::uint32_t& vector);
  bool declarator(const Variable& prototype, std::uint32_t vector, Declared& out);
  bool attribute();
  bool dimensions(Declared& declared, std::uint64_t element_bytes);
  bool initialiser(Declared& declared);
  bool initial_items(Variable& variable, std::uint64_t& offset, int depth);
  bool initial_item(Variable& variable, std::uint64_t& offset);
  bool initial_address(Variable& variable, std::uint64_t& offset, std::uint64_t mask);
  bool put_initial(Variable& variable, std::uint64_t& offset, std::uint64_t bits);
  bool parameter(Variable& variable, bool& is_register, std::string_view& name);

  // Functions (reader_function.cc).
  bool function(bool is_entry, Linkage linkage);
  bool parameters(Function& function, bool returns, std::vector<Variable>& into);
  bool function_directives(Function& function);
  bool three_numbers(std::uint32_t (&out)[3]);
  bool one_number(std::uint32_t& out);
  bool install(Function&& function, bool has_body, const Token& at, std::string_view name);
  bool body();
  bool statement();
  bool body_directive();
  bool register_declaration();
  bool declare_vector(std::string_view name, Type type, std::uint8_t count, const Token& at);
  Operand register_operand(const Symbol& symbol) const;
  void move_parameters(bool in);
  bool passed_in_memory(Instruction& call, std::vector<Instruction>& after);
  std::uint32_t hidden_parameter(std::uint32_t bytes);
  Instruction memory_move(bool load, const Operand& value, std::uint32_t variable);
  bool body_variable(Space space);
  bool label(const Token& at);
  bool label_directive(const Token& at);
  bool close_scope();
  bool declare(std::string_view name, Symbol symbol, const Token& at);

  // Instructions (reader_instruction.cc).
  bool instruction();
  bool guard(Instruction& instruction);
  struct Mnemonic { std::string_view text; Token at; };
  bool mnemonic(Mnemonic& out);
  const std::vector<Spelling>* spellings(const Mnemonic& mnemonic);
  bool unknown_mnemonic(const Mnemonic& mnemonic);
  bool operand_list(std::vector<Operand>& operands);
  bool misfit(const Mnemonic& mnemonic, const Misfit& wrong);
  bool finish(Instruction& instruction, const Mnemonic& mnemonic, const std::vector<Spelling>& candidates);
  bool call(Instruction& instruction, const Spelling& spelling);
  bool call_arguments(std::vector<Operand>& out);
  bool branch(Instruction& instruction);
  bool branch_indexed(Instruction& instruction, const Mnemonic& mnemonic);
  void commit(Instruction&& instruction);

  // Operands and constants (reader_operand.cc).
  bool operand(Operand& out, int depth = 0);
  bool word_operand(Operand& out);
  bool name_operand(const Token& at, Operand& out);
  bool vector_operand(Operand& out, int depth);
  bool second_destination(Operand& out);
  bool address_operand(Operand& out);
  bool offset_suffix(std::int64_t& offset);
  bool constant(Constant& out, int depth = 0);
  bool constant_binary(Constant& out, int precedence, int depth);
  bool constant_unary(Constant& out, int depth);
  bool integer_constant(std::uint64_t& out);
  bool number(Constant& out);
  std::optional<RegisterId> find_register(std::string_view name);
  const Symbol* find_symbol(std::string_view name);
  RegisterId new_register(std::string_view name, Type type);

  // Line information (reader_debug.cc).
  bool location();
  bool section();
  bool section_item(bool keep, std::string& bytes);
  std::uint32_t node_for(LocationNode node);
  std::uint32_t use_location(std::uint32_t node);
  bool build_locations();
  evidence::SourcePosition position_of(std::uint32_t node);

  Lexer lexer_;
  std::string_view file_;
  const char* end_;                  // of the text
  Token token_;
  std::vector<Token> operand_tokens_;  // where the operands of the instruction being read start
  std::optional<Error> error_;
  Module module_;

  std::unordered_map<std::string_view, std::uint32_t> module_variables_, functions_;
  std::unordered_map<std::string_view, std::vector<Spelling>> spellings_;
  std::vector<std::unique_ptr<std::string>> joined_;  // mnemonics written with blanks in them
  std::vector<FunctionUse> function_uses_;
  std::vector<std::pair<std::string_view, std::uint32_t>> aliases_;
  std::uint64_t initial_bytes_ = 0;
  std::vector<bool> defined_;        // functions that have a body
  std::vector<std::pair<std::string_view, Token>> parameter_names_;  // returns first, of the function being read
  struct RegisterParameter { Symbol symbol; std::uint32_t variable; bool is_return; };
  std::vector<RegisterParameter> register_parameters_;   // .reg parameters of the function being read, with the .param that carries each

  Function* function_ = nullptr;     // being read
  std::uint32_t function_index_ = 0;
  std::vector<Scope> scopes_;
  std::vector<std::vector<Token>> target_lists_;
  std::uint64_t target_count_ = 0;

  std::vector<LocationNode> nodes_{1};
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> nodes_by_hash_;
  std::unordered_map<std::uint64_t, std::uint32_t> latest_node_;  // by file, line and column
  std::uint32_t node_ = 0;           // of the last .loc
  std::uint32_t location_count_ = 0;
  std::vector<std::uint32_t> used_nodes_;   // by location, from 1
  std::uint64_t location_bytes_ = 0;
  std::vector<std::uint32_t> first_nodes_;  // per function
  std::unordered_map<std::uint32_t, std::string_view> files_;
  std::unordered_map<std::string_view, std::size_t> string_labels_;
  std::string debug_strings_;
};

}  // namespace kforge::ptx
