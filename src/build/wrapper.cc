#include "build/wrapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "evidence/plain_path.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

// Type lists by hand: <type_traits> is already there (cuda_runtime.h), <tuple> would cost 100 ms.
constexpr std::string_view kTraits = R"cpp(
namespace kforge_interface {
struct Nothing {};
template <int N, class... A> struct At { using Type = Nothing; };
template <class T, class... A> struct At<0, T, A...> { using Type = T; };
template <int N, class T, class... A> struct At<N, T, A...> : At<N - 1, A...> {};
template <class F> struct Signature { static constexpr int arity = -1; using Result = Nothing; template <int N> using Parameter = Nothing; };
template <class R, class... A> struct Signature<R (*)(A...)> {
  static constexpr int arity = sizeof...(A);
  using Result = R;
  template <int N> using Parameter = typename At<N, A...>::Type;
};
template <class R, class... A> struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class T, class U> struct Same { static constexpr bool value = false; };
template <class T> struct Same<T, T> { static constexpr bool value = true; };
template <class T, unsigned long Bytes> struct PointsTo { static constexpr bool value = false; };
template <class T, unsigned long Bytes> struct PointsTo<T*, Bytes> { static constexpr bool value = sizeof(T) == Bytes; };
template <unsigned long Bytes> struct PointsTo<void*, Bytes> { static constexpr bool value = true; };
template <unsigned long Bytes> struct PointsTo<const void*, Bytes> { static constexpr bool value = true; };
}
)cpp";

struct ElementType { std::string_view name; int bytes; std::string_view header; std::string_view also; };
// Types whose spelling in a launcher needs a header, and those that <cstdint> names or that have a twin (`also`): the wrapper
// includes no header of its own, since after an unclosed brace the errors would lie in that header.
constexpr ElementType kTypes[] = {
    {"double", 8, "", ""}, {"float", 4, "", ""}, {"__half", 2, "cuda_fp16.h", ""}, {"half", 2, "cuda_fp16.h", ""},
    {"__nv_bfloat16", 2, "cuda_bf16.h", ""}, {"__nv_fp8_e4m3", 1, "cuda_fp8.h", ""}, {"__nv_fp8_e5m2", 1, "cuda_fp8.h", ""},
    {"int8_t", 1, "", "signed char"}, {"uint8_t", 1, "", "unsigned char"}, {"int", 4, "", ""}, {"int32_t", 4, "", "int"},
    {"unsigned", 4, "", ""}, {"unsigned int", 4, "", ""}, {"uint32_t", 4, "", "unsigned int"}, {"int64_t", 8, "", "long long"},
    {"long long", 8, "", "long"}, {"bool", 1, "", ""}, {"signed char", 1, "", ""}, {"unsigned char", 1, "", ""}};

const ElementType* find_type(std::string_view name) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ElementType& type) { return type.name == name; });
  return row == std::end(kTypes) ? nullptr : row;
}

// What brings the user's file in.
std::string inclusion(const std::string& path, std::string_view text) {
  if (evidence::is_plain_path(path)) return fmt::format("#include \"{}\"\n", path);
  return fmt::format("#line 1 \"{}\"\n{}\n\n", evidence::plain_source_name(path), text);
}

constexpr std::string_view kLink = "kforge-folder";   // to the folder of a source

// The condition that parameter N has to meet, and what it must be in words.
struct Demand { std::string condition, words; };

Demand demand_of(const Parameter& parameter, std::size_t index) {
  const std::string type = fmt::format("Actual::Parameter<{}>", index);
  const ElementType* row = find_type(parameter.cuda_type);
  if (parameter.kind == Parameter::Kind::pointer) {
    const std::string bytes = row ? std::to_string(row->bytes) : fmt::format("sizeof({})", parameter.cuda_type);
    return {fmt::format("kforge_interface::PointsTo<{}, {}>::value", type, bytes),
            fmt::format("a pointer to {}", parameter.cuda_type)};
  }
  const bool alias = parameter.cuda_type.ends_with("_t") && row && !row->also.empty();
  std::string condition = fmt::format("kforge_interface::Same<{}, {}>::value", type, alias ? row->also : parameter.cuda_type);
  if (parameter.cuda_type == "int64_t") condition += fmt::format(" || kforge_interface::Same<{}, long>::value", type);
  if (row && !row->also.empty() && !alias) condition += fmt::format(" || kforge_interface::Same<{}, {}>::value", type, row->also);
  return {condition, parameter.cuda_type};
}

std::string parameter_names(const Interface& interface, bool stream) {
  std::vector<std::string> names;
  for (const Parameter& parameter : interface.parameters) names.push_back(parameter.name);
  if (stream) names.emplace_back("stream");
  return join(names, ", ");
}

std::string headers_of(const Interface& interface) {
  std::string out;
  for (const Parameter& parameter : interface.parameters) {
    const ElementType* row = find_type(parameter.cuda_type);
    if (parameter.kind == Parameter::Kind::scalar && row && !row->header.empty()) out += fmt::format("#include <{}>\n", row->header);
  }
  return out;
}

std::string assertion(std::string_view condition, std::string_view message) {
  return fmt::format("static_assert({}, \"{}{}\");\n", condition, kInterfaceMessage, message);
}

std::string assertions(const Interface& interface, bool stream) {
  const std::size_t arity = interface.parameters.size() + (stream ? 1 : 0);
  const std::string arity_ok = fmt::format("Actual::arity != {}", arity);
  std::string out = assertion(fmt::format("Actual::arity == {}", arity),
                              fmt::format("'{}' must take {} parameters: ({})", interface.function, arity, parameter_names(interface, stream)));
  for (std::size_t i = 0; i < interface.parameters.size(); ++i) {
    const Demand demand = demand_of(interface.parameters[i], i);
    out += assertion(fmt::format("{} || {}", arity_ok, demand.condition),
                     fmt::format("parameter {} '{}' must be {}", i + 1, interface.parameters[i].name, demand.words));
  }
  if (!stream) return out;
  out += assertion(fmt::format("{} || kforge_interface::Same<Actual::Parameter<{}>, cudaStream_t>::value", arity_ok, arity - 1),
                   fmt::format("parameter {} 'stream' must be cudaStream_t", arity));
  return out + assertion("kforge_interface::Same<Actual::Result, cudaError_t>::value", fmt::format("'{}' must return cudaError_t", interface.function));
}

std::string arguments(const Interface& interface) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < interface.parameters.size(); ++i) {
    out.push_back(fmt::format("*static_cast<Actual::Parameter<{0}>*>(arguments[{0}])", i));
  }
  return join(out, ", ");
}

constexpr std::string_view kExported = "extern \"C\" __attribute__((visibility(\"default\"))) int kforge_call(void** arguments, void* stream) noexcept";

// Blanks out comments and literals, keeping every newline and column.
std::string code_only(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size();) {
    std::size_t end = i + 1;
    if (text.substr(i, 2) == "//") end = std::min(text.find('\n', i), text.size());
    else if (text.substr(i, 2) == "/*") end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else {
      ++i;
      continue;
    }
    for (; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether the "(" at `open` closes and a "{" follows: a definition.
bool opens_body(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(') ++depth;
    if (code[i] == ')' && --depth == 0) {
      const std::size_t next = code.find_first_not_of(" \t\r\n", i + 1);
      if (next == std::string_view::npos) return false;
      return code[next] == '{' || code.substr(next, 8) == "noexcept";
    }
  }
  return false;
}

int last_line(std::string_view text) {
  const auto lines = split_lines(text);
  return static_cast<int>(std::max<std::size_t>(lines.size(), 1));
}

std::vector<std::string> declared_parameters(const Interface& interface) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : interface.parameters) {
    const bool pointer = parameter.kind == Parameter::Kind::pointer;
    parameters.push_back(fmt::format("{}{}{} {}", pointer && parameter.is_const ? "const " : "", parameter.cuda_type, pointer ? "*" : "", parameter.name));
  }
  return parameters;
}

}  // namespace

std::string candidate_wrapper(const std::string& source_path, const Interface& interface, std::string_view text) {
  return fmt::format("{}#line 1 \"{}\"\n{}#undef static_assert\n#line 100 \"{}\"\n{}namespace {{\nusing Actual = kforge_interface::Signature<decltype(&{})>;\n{}}}\n"
                     "{} {{\n  return static_cast<int>({}({}{}static_cast<cudaStream_t>(stream)));\n}}\n",
                     inclusion(source_path, text), kWrapperFile, headers_of(interface), kWrapperFile, kTraits, interface.function, assertions(interface, true),
                     kExported, interface.function, arguments(interface), interface.parameters.empty() ? "" : ", ");
}

std::string reference_wrapper(const std::string& source_path, const Interface& interface, std::string_view text) {
  return fmt::format("{}#line 1 \"{}\"\n{}namespace {{\nusing Actual = kforge_interface::Signature<decltype(&{})>;\n{}}}\n"
                     "{} {{\n  (void)stream;\n  {}({});\n  return 0;\n}}\n",
                     inclusion(source_path, text), kWrapperFile, kTraits, interface.function, assertions(interface, false), kExported,
                     interface.function, arguments(interface));
}

Expected<std::string> include_folder(const std::string& source_path, const fs::path& folder) {
  const fs::path parent = fs::path(source_path).parent_path();
  if (evidence::is_plain_path(source_path)) return parent.string();
  std::error_code error;
  fs::create_directory_symlink(parent, folder / kLink, error);
  if (error) return fail(ErrorCode::failed, "cannot write into the build folder " + folder.string() + ": " + error.message(), {}, "check the folder's free space and rights");
  return std::string(kLink);
}

std::string user_path(const std::string& told, const std::string& source_path, const fs::path& folder) {
  if (evidence::is_plain_path(source_path)) return told;
  if (told == evidence::plain_source_name(source_path)) return source_path;
  const std::string parent = fs::path(source_path).parent_path().string();
  for (const std::string& link : {std::string(kLink) + "/", (folder / kLink).string() + "/"})
    if (told.starts_with(link)) return (fs::path(parent) / told.substr(link.size())).string();
  return told;
}

std::string expected_launcher(const Interface& interface) {
  std::vector<std::string> parameters = declared_parameters(interface);
  parameters.emplace_back("cudaStream_t stream");
  return fmt::format("extern \"C\" cudaError_t {}({})", interface.function, join(parameters, ", "));
}

std::string expected_reference(const Interface& interface) { return fmt::format("extern \"C\" void {}({})", interface.function, join(declared_parameters(interface), ", ")); }

int find_function_line(std::string_view text, std::string_view function) {
  if (function.empty()) return 0;
  const std::string code = code_only(text);
  std::size_t first = std::string::npos;
  for (std::size_t at = code.find(function); at != std::string::npos; at = code.find(function, at + 1)) {
    const std::size_t end = at + function.size();
    if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) continue;
    const std::size_t open = code.find_first_not_of(" \t\r\n", end);
    if (open == std::string::npos || code[open] != '(') continue;
    if (first == std::string::npos) first = at;
    if (!opens_body(code, open)) continue;
    first = at;
    break;
  }
  if (first == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(first), '\n'));
}

std::string attribute_to_source(std::vector<Diagnostic>& diagnostics, const std::string& source_path, std::string_view source_text,
                                const Interface& interface) {
  const auto is_ours = [](const Diagnostic& d) { return d.file == kWrapperFile; };
  const auto is_assertion = [&](const Diagnostic& d) { return is_ours(d) && d.message.find(kInterfaceMessage) != std::string::npos; };
  const auto is_undefined = [&](const Diagnostic& d) {
    const auto says = [&](std::string_view text) { return d.message.find(text) != std::string::npos; };
    return is_ours(d) && says(interface.function) && (says("is undefined") || says("was not declared") || says("undeclared identifier"));
  };
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::error; };
  const bool foreign = std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) { return is_error(d) && !is_ours(d); });
  const bool undefined = !foreign && std::any_of(diagnostics.begin(), diagnostics.end(), is_undefined);
  const bool asserted = !undefined && std::any_of(diagnostics.begin(), diagnostics.end(), is_assertion);
  const int launcher = find_function_line(source_text, interface.function);

  std::vector<Diagnostic> out;
  bool ended = false;
  for (Diagnostic& diagnostic : diagnostics) {
    const bool at_end = diagnostic.file.empty() && diagnostic.tool == "nvcc" && diagnostic.message.starts_with("expected a");
    if (!is_ours(diagnostic) && !at_end) {
      out.push_back(std::move(diagnostic));
    } else if (asserted && is_assertion(diagnostic)) {
      std::string message = diagnostic.message.substr(diagnostic.message.find(kInterfaceMessage) + kInterfaceMessage.size());
      message.resize(std::min(message.find_last_of('"'), message.size()));
      out.push_back({source_path, launcher, 0, Severity::error, message + "; expected " + expected_launcher(interface), diagnostic.tool});
    } else if (!asserted && !ended && is_error(diagnostic) && (!foreign || at_end)) {   // the first says it; the rest follows from it
      std::string message = undefined ? "the file does not define " + expected_launcher(interface)
          : "the file does not end at the end of a declaration; is a '}' or ';' missing? (" + diagnostic.message + ")";
      out.push_back({source_path, undefined ? launcher : last_line(source_text), 0, Severity::error, std::move(message), diagnostic.tool});
      ended = true;
    }
  }
  diagnostics = std::move(out);
  return !foreign && (asserted || undefined) ? "interface" : "compile";
}

}  // namespace kforge::build
