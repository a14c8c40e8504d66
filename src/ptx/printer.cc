// The canonical text of a module: parse(print(m)) prints the same. Registers are renamed by type and number
// (%b32_7), labels by the instruction they stand before ($L12), scopes are gone, line chains are spelt out.
#include <bit>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ptx/form.h"
#include "ptx/parser.h"

namespace kforge::ptx {
namespace {

using Out = std::back_insert_iterator<std::string>;

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}
  std::string text();

 private:
  void header();
  void name_strings();
  void debug_strings();
  void function_head(const Function& function);
  void parameter_list(const Function& function, std::uint32_t first, std::uint32_t count);
  void function_body(const Function& function);
  void tuning(const Function& function);
  void registers(const Function& function);
  void local_names(const Function& function);
  void labels(const Function& function);
  void variable(const Variable& variable, std::string_view name, std::string_view linkage);
  void initial(const Variable& variable);
  void initial_bytes(const Variable& variable);
  void type_and_array(const Variable& variable, std::string_view name);
  void location(std::uint32_t index);
  void instruction(const Function& function, const Instruction& instruction, std::size_t number);
  void call(const Instruction& instruction, std::size_t number);
  void prototype(const Instruction::Call& call, std::size_t number);
  void prototype_side(const std::vector<Operand>& operands);
  void call_side(const std::vector<Operand>& operands);
  void operand(const Operand& operand, Type type);
  void immediate(const Operand& operand, Type type);
  void base(const Operand& operand);
  std::string_view symbol(const VariableId& id) const;
  std::uint32_t file_number(const std::string& file);

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(Out(out_), format, std::forward<Args>(args)...);
  }

  const Module& module_;
  std::string out_;
  const Function* function_ = nullptr;
  std::vector<std::string> register_names_, variable_names_;
  std::map<std::uint32_t, std::string> label_names_;
  std::map<std::string, std::uint32_t> files_, strings_;
  std::uint32_t last_location_ = 0;
};

std::uint32_t Printer::file_number(const std::string& file) {
  return files_.emplace(file, static_cast<std::uint32_t>(files_.size() + 1)).first->second;
}

void Printer::header() {
  put(".version {}.{}\n.target sm_{}", module_.version / 10, module_.version % 10, module_.target);
  if (module_.target_suffix) out_ += module_.target_suffix;
  out_ += "\n.address_size 64\n";
}

// Files and inlined functions are numbered in order of use.
void Printer::name_strings() {
  const auto add = [&](const evidence::SourcePosition& position) {
    for (const auto& frame : position.frames) {
      file_number(frame.file);
      if (!frame.function.empty()) strings_.emplace(frame.function, static_cast<std::uint32_t>(strings_.size()));
    }
  };
  for (const Function& function : module_.functions) {
    add(function.position);
    for (const Instruction& instruction : function.instructions) add(module_.locations[instruction.location]);
  }
  std::vector<std::string_view> ordered(files_.size());
  for (const auto& [file, number] : files_) ordered[number - 1] = file;
  for (std::size_t i = 0; i < ordered.size(); ++i)
    if (!ordered[i].empty()) put(".file {} \"{}\"\n", i + 1, ordered[i]);
}

void Printer::debug_strings() {
  if (strings_.empty()) return;
  std::vector<std::string_view> ordered(strings_.size());
  for (const auto& [text, number] : strings_) ordered[number] = text;
  out_ += ".section .debug_str\n{\n";
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    put("$L__info_string{}:\n.b8 ", i);
    for (char c : ordered[i]) put("{},", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out_ += "0\n";
  }
  out_ += "}\n";
}

void Printer::type_and_array(const Variable& variable, std::string_view name) {
  const std::uint32_t element = size_bytes(variable.type);
  put(".align {} .{} {}", variable.align, ptx::name(variable.type), name);
  if (variable.size_bytes == 0 && variable.is_extern) out_ += "[]";
  else if (variable.size_bytes != element) put("[{}]", variable.size_bytes / element);
}

// Addresses are written in the element's width, or a byte at a time where they do not fit one element.
void Printer::initial_bytes(const Variable& variable) {
  const std::uint32_t element = size_bytes(variable.type);
  std::size_t next = 0;
  for (std::uint64_t offset = 0; offset + element <= variable.initial.size(); offset += element) {
    if (offset) out_ += ", ";
    while (next < variable.relocations.size() && variable.relocations[next].offset + variable.relocations[next].bytes <= offset) ++next;
    if (next < variable.relocations.size() && variable.relocations[next].offset <= offset) {
      const Variable::Relocation& relocation = variable.relocations[next];
      const bool masked = element == 1;
      if (masked) put("0x{:X}(", std::uint64_t{0xFF} << (8 * (offset - relocation.offset)));
      if (relocation.generic) put("generic({})", relocation.symbol);
      else out_ += relocation.symbol;
      if (relocation.addend) put("+{}", relocation.addend);
      if (masked) out_ += ')';
      continue;
    }
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < element && i < 8; ++i) bits |= std::to_integer<std::uint64_t>(variable.initial[offset + i]) << (8 * i);
    if (variable.type == Type::f32) put("0f{:08X}", bits);
    else if (variable.type == Type::f64) put("0d{:016X}", bits);
    else put("{}", bits);
  }
}

void Printer::initial(const Variable& variable) {
  if (variable.initial.empty()) return;
  const bool array = variable.size_bytes != size_bytes(variable.type);
  out_ += array ? " = {" : " = ";
  initial_bytes(variable);
  if (array) out_ += '}';
}

void Printer::variable(const Variable& variable, std::string_view name, std::string_view linkage) {
  put("{}.{} ", linkage, ptx::name(variable.space));
  type_and_array(variable, name);
  initial(variable);
  out_ += ";\n";
}

void Printer::parameter_list(const Function& function, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i) out_ += ", ";
    out_ += ".param ";
    type_and_array(function.variables[first + i], variable_names_[first + i]);
  }
}

void Printer::tuning(const Function& function) {
  const auto three = [&](std::string_view word, const std::uint32_t (&n)[3]) {
    if (n[0]) put(".{} {}, {}, {}\n", word, n[0], n[1], n[2]);
  };
  three("maxntid", function.max_threads);
  three("reqntid", function.required_threads);
  three("reqnctapercluster", function.cluster);
  if (function.min_blocks) put(".minnctapersm {}\n", function.min_blocks);
  if (function.max_registers) put(".maxnreg {}\n", function.max_registers);
  if (function.explicit_cluster) out_ += ".explicitcluster\n";
}

// Scopes are gone, so names that several of them used get a suffix.
void Printer::local_names(const Function& function) {
  std::unordered_map<std::string_view, std::uint32_t> used;
  std::unordered_set<std::string> taken;
  for (const Variable& variable : function.variables) taken.insert(variable.name);
  variable_names_.clear();
  for (const Variable& variable : function.variables) {
    std::uint32_t& count = used[variable.name];
    std::string name = variable.name;
    while (count++ > 0) {
      name = fmt::format("{}${}", variable.name, count - 1);
      if (taken.insert(name).second) break;
    }
    variable_names_.push_back(std::move(name));
  }
}

void Printer::function_head(const Function& function) {
  local_names(function);
  if (function.is_visible) out_ += ".visible ";
  if (function.is_extern) out_ += ".extern ";
  out_ += function.is_entry ? ".entry " : ".func ";
  if (function.return_count) {
    out_ += '(';
    parameter_list(function, function.parameter_count, function.return_count);
    out_ += ") ";
  }
  put("{}(", function.name);
  parameter_list(function, 0, function.parameter_count);
  out_ += ")\n";
  tuning(function);
}

void Printer::registers(const Function& function) {
  std::map<Type, std::uint32_t> counts;
  register_names_.clear();
  for (const Register& reg : function.registers) register_names_.push_back(fmt::format("%{}_{}", ptx::name(reg.type), counts[reg.type]++));
}

void Printer::labels(const Function& function) {
  label_names_.clear();
  const auto add = [&](std::uint32_t target) { label_names_.emplace(target, fmt::format("$L{}", target)); };
  for (const Instruction& instruction : function.instructions) {
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Operand::Kind::label) add(operand.target);
    for (std::uint32_t target : instruction.targets) add(target);
  }
}

void Printer::function_body(const Function& function) {
  std::map<Type, std::uint32_t> counts;
  for (const Register& reg : function.registers) ++counts[reg.type];
  out_ += "{\n";
  for (const auto& [type, count] : counts) put("\t.reg .{0} %{0}_<{1}>;\n", ptx::name(type), count);
  for (std::size_t i = function.parameter_count + function.return_count; i < function.variables.size(); ++i) {
    out_ += '\t';
    variable(function.variables[i], variable_names_[i], "");
  }
  last_location_ = 0;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    if (auto it = label_names_.find(static_cast<std::uint32_t>(i)); it != label_names_.end()) put("{}:\n", it->second);
    location(function.instructions[i].location);
    instruction(function, function.instructions[i], i);
  }
  if (auto it = label_names_.find(static_cast<std::uint32_t>(function.instructions.size())); it != label_names_.end()) put("{}:\n", it->second);
  out_ += "}\n";
}

// Outermost frame first, because a chain is found through the .loc lines before it.
void Printer::location(std::uint32_t index) {
  if (index == last_location_) return;
  last_location_ = index;
  const auto& frames = module_.locations[index].frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    put("\t.loc {} {} {}", file_number(frames[i].file), frames[i].line, frames[i].column);
    if (!frames[i].function.empty()) put(", function_name $L__info_string{}", strings_.at(frames[i].function));
    if (i + 1 < frames.size()) put(", inlined_at {} {} {}", file_number(frames[i + 1].file), frames[i + 1].line, frames[i + 1].column);
    out_ += '\n';
  }
}

std::string_view Printer::symbol(const VariableId& id) const {
  return id.of_function ? std::string_view(variable_names_[id.index]) : std::string_view(module_.variables[id.index].name);
}

void Printer::base(const Operand& operand) {
  if (operand.reg != kNoRegister) out_ += register_names_[operand.reg];
  else if (operand.variable) out_ += symbol(*operand.variable);
  else { put("{}", operand.offset); return; }
  if (operand.offset) put("+{}", operand.offset);
}

void Printer::immediate(const Operand& operand, Type type) {
  if (operand.is_float_immediate && (type == Type::f64 || type == Type::b64)) put("0d{:016X}", operand.bits);
  else if (operand.is_float_immediate && type == Type::f16) put("{:#}", std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits)));
  else if (operand.is_float_immediate) put("0f{:08X}", operand.bits & 0xFFFFFFFFu);
  else put("{}", static_cast<std::int64_t>(operand.bits));
}

void Printer::operand(const Operand& value, Type type) {
  using Kind = Operand::Kind;
  if (value.negated) out_ += '!';
  switch (value.kind) {
    case Kind::reg:
      out_ += register_names_[value.reg];
      if (!value.text.empty()) put(".{}", value.text);
      break;
    case Kind::sink: out_ += '_'; break;
    case Kind::immediate: immediate(value, type); break;
    case Kind::special: put("%{}", ptx::name(value.special)); break;
    case Kind::symbol: base(value); break;
    case Kind::address: out_ += '['; base(value); out_ += ']'; break;
    case Kind::label: out_ += label_names_.at(value.target); break;
    case Kind::function: out_ += module_.functions[value.target].name; break;
    case Kind::vector: case Kind::text: {
      out_ += value.kind == Kind::vector ? '{' : '[';
      for (std::size_t i = 0; i < value.elements.size(); ++i) {
        if (i) out_ += ", ";
        if (value.kind == Kind::text && i == 0) base(value.elements[0]);
        else operand(value.elements[i], type);
      }
      out_ += value.kind == Kind::vector ? '}' : ']';
      break;
    }
  }
  if (value.pair != kNoRegister) put("|{}", register_names_[value.pair]);
}

void Printer::prototype_side(const std::vector<Operand>& operands) {
  out_ += '(';
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i) out_ += ", ";
    if (operands[i].kind == Operand::Kind::symbol && operands[i].variable->of_function) {
      out_ += ".param ";
      type_and_array(function_->variables[operands[i].variable->index], "_");
    } else out_ += ".reg .b64 _";
  }
  out_ += ") ";
}

void Printer::prototype(const Instruction::Call& call, std::size_t number) {
  put("prototype_{} : .callprototype ", number);
  if (!call.returns.empty()) prototype_side(call.returns);
  out_ += "_ ";
  prototype_side(call.arguments);
  out_ += ";\n\t";
}

void Printer::call_side(const std::vector<Operand>& operands) {
  out_ += '(';
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i) out_ += ", ";
    operand(operands[i], Type::b64);
  }
  out_ += ')';
}

void Printer::call(const Instruction& instruction, std::size_t number) {
  const Instruction::Call& call = *instruction.call;
  if (!call.returns.empty()) { call_side(call.returns); out_ += ", "; }
  out_ += call.function ? std::string_view(module_.functions[*call.function].name) : std::string_view(register_names_[call.pointer]);
  if (!call.arguments.empty()) { out_ += ", "; call_side(call.arguments); }
  if (!call.function) put(", prototype_{}", number);
}

void Printer::instruction(const Function& function, const Instruction& instruction, std::size_t number) {
  const CompiledForm& form = compiled_form(instruction.form);
  const Type types[4] = {instruction.type, instruction.type2, instruction.type3, instruction.type4};
  out_ += '\t';
  if (instruction.call && !instruction.call->function) prototype(*instruction.call, number);
  if (!instruction.targets.empty() || form.form->exec == Exec::brx) {
    put("targets_{} : .branchtargets ", number);
    for (std::size_t i = 0; i < instruction.targets.size(); ++i) put("{}{}", i ? ", " : "", label_names_.at(instruction.targets[i]));
    out_ += ";\n\t";
  }
  if (instruction.guard) put("@{}{} ", instruction.guard->negated ? "!" : "", register_names_[instruction.guard->reg]);
  put("{}{}", form.form->opcode, spell(form, instruction.mods, types));
  if (instruction.call) { out_ += ' '; call(instruction, number); }
  std::size_t extra = instruction.operands.size() - std::min<std::size_t>(instruction.operands.size(), form.mandatory_operands), spec = 0;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    while (spec < form.operands.size() && form.operands[spec].optional && extra == 0) ++spec;
    if (spec < form.operands.size() && form.operands[spec].optional) --extra;
    Type type = spec < form.operands.size() ? operand_type(form.operands[spec], types) : Type::none;
    out_ += i ? ", " : " ";
    operand(instruction.operands[i], type);
    ++spec;
  }
  if (form.form->exec == Exec::brx) put(", targets_{}", number);
  out_ += ";\n";
  (void)function;
}

std::string Printer::text() {
  header();
  name_strings();
  // Functions are declared first, so that initial values and calls may name any of them.
  for (const Function& function : module_.functions) {
    if (function.is_entry) continue;
    registers(function);
    function_head(function);
    out_ += ";\n";
  }
  for (const Variable& variable : module_.variables) {
    const std::string linkage = std::string(variable.is_extern ? ".extern " : "") + (variable.is_weak ? ".weak " : variable.is_visible ? ".visible " : "");
    this->variable(variable, variable.name, linkage);
  }
  for (const Function& function : module_.functions) {
    if (function.is_extern) continue;
    function_ = &function;
    registers(function);
    labels(function);
    function_head(function);
    function_body(function);
  }
  debug_strings();
  return std::move(out_);
}

}  // namespace

std::string print(const Module& module) { return Printer(module).text(); }

}  // namespace kforge::ptx
