#include "model/answer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::model {
namespace {

constexpr std::size_t kLongestSource = 256u << 10;
constexpr std::size_t kLongestStrategy = 100;

struct Fence { std::string language, text; bool closed = false; };

// Blocks between lines of three or more of one mark; a block ends with a line of at least as many.
std::vector<Fence> fences_of(std::string_view answer) {
  std::vector<Fence> out;
  std::string mark;
  for (const std::string_view line : split_lines(answer)) {
    const std::string_view text = trim(line);
    const char c = text.empty() ? ' ' : text[0];
    const std::size_t run = c == '`' || c == '~' ? std::min(text.find_first_not_of(c), text.size()) : 0;
    if (mark.empty() && run >= 3) {
      mark = std::string(run, c);
      out.push_back({to_lower(trim(text.substr(run))), "", false});
    } else if (!mark.empty() && run >= mark.size() && c == mark[0] && run == text.size()) {
      mark.clear();
      out.back().closed = true;
    } else if (!mark.empty()) {
      out.back().text += std::string(line) + "\n";
    }
  }
  return out;
}

// The text without comments and the insides of strings: words in them do nothing.
std::string code_of(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
      out += ' ';
    } else if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      out += "\"\"";
      i = std::min(end + 1, text.size());
    } else {
      out += text[i++];
    }
  }
  return out;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool holds_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_character(code[at - 1])) && (end >= code.size() || !is_word_character(code[end]))) return true;
  }
  return false;
}

struct Forbidden {
  std::string_view word;     // a whole word of the code, or the beginning of an included header
  std::string_view what;
  std::string_view allowed_by;   // a word of [interface] allow that permits it; "" nothing does
};
constexpr std::array kHeaders{
    Forbidden{"cublas", "cuBLAS", "libraries"}, Forbidden{"cudnn", "cuDNN", "libraries"}, Forbidden{"cufft", "cuFFT", "libraries"}, Forbidden{"cusparse", "cuSPARSE", "libraries"},
    Forbidden{"cusolver", "cuSOLVER", "libraries"}, Forbidden{"curand", "cuRAND", "libraries"}, Forbidden{"thrust/", "Thrust", "libraries"}, Forbidden{"cub/", "CUB", "libraries"},
    Forbidden{"cutlass/", "CUTLASS", "libraries"}, Forbidden{"cute/", "CuTe", "libraries"}, Forbidden{"nvrtc", "NVRTC", "libraries"}, Forbidden{"torch/", "PyTorch", "libraries"},
    Forbidden{"fstream", "files", ""}, Forbidden{"unistd.h", "the operating system", ""}, Forbidden{"sys/", "the operating system", ""}, Forbidden{"dlfcn.h", "other libraries", ""},
    Forbidden{"filesystem", "files", ""}, Forbidden{"thread", "threads of the host", ""}, Forbidden{"pthread", "threads of the host", ""}, Forbidden{"netdb", "the network", ""},
};
constexpr std::array kWords{
    Forbidden{"system", "other programs", ""}, Forbidden{"popen", "other programs", ""}, Forbidden{"fork", "other programs", ""}, Forbidden{"execve", "other programs", ""}, Forbidden{"dlopen", "other libraries", ""},
    Forbidden{"fopen", "files", ""}, Forbidden{"ifstream", "files", ""}, Forbidden{"ofstream", "files", ""}, Forbidden{"getenv", "the environment", ""}, Forbidden{"printf", "output", ""},
    Forbidden{"cout", "output", ""}, Forbidden{"socket", "the network", ""}, Forbidden{"ptrace", "other programs", ""}, Forbidden{"mmap", "the host's memory", ""}, Forbidden{"syscall", "the operating system", ""},
    Forbidden{"cudaDeviceSynchronize", "the whole device (a synchronisation)", "sync"}, Forbidden{"cudaStreamSynchronize", "the host (a synchronisation)", "sync"},
    Forbidden{"cudaMalloc", "the allocator", "workspace"}, Forbidden{"cudaMallocAsync", "the allocator", "workspace"},
};

bool allows(const task::Task& task, std::string_view word) { return !word.empty() && std::find(task.allow.begin(), task.allow.end(), word) != task.allow.end(); }

std::optional<Error> forbidden_in(const std::string& source, const task::Task& task) {
  const std::string code = code_of(source);
  const auto told = [&](const Forbidden& row, std::string_view how) {
    return Error{ErrorCode::bad_input, fmt::format("it {} {} ('{}')", how, row.what, row.word), {}, row.allowed_by.empty() ? "the kernel computes and does nothing else" : fmt::format("the task does not allow '{}'", row.allowed_by)};
  };
  for (const std::string_view line : split_lines(source)) {   // names of headers stand in strings, too
    const std::string_view text = trim(line);
    if (!text.starts_with('#') || text.find("include") == std::string_view::npos) continue;
    const std::size_t open = text.find_first_of("<\"");
    if (open == std::string_view::npos) continue;
    const std::string_view header = text.substr(open + 1);
    if (text[open] == '"') return Error{ErrorCode::bad_input, fmt::format("it includes a file of its own ('{}')", header.substr(0, header.find('"'))), {}, "the answer is one whole file; only headers of CUDA and C++ are there"};
    for (const Forbidden& row : kHeaders)
      if (header.starts_with(row.word) && !allows(task, row.allowed_by)) return told(row, "uses");
  }
  for (const Forbidden& row : kWords)
    if (holds_word(code, row.word) && !allows(task, row.allowed_by)) return told(row, "talks to");
  return std::nullopt;
}

std::string strategy_of(std::string_view source) {
  for (const std::string_view line : split_lines(source)) {
    std::string_view text = trim(line);
    if (text.empty()) continue;
    if (!text.starts_with("//")) return {};
    text = trim(text.substr(2));
    if (to_lower(text).starts_with("strategy:")) text = trim(text.substr(9));
    std::string out(text.substr(0, kLongestStrategy));
    for (char& c : out)
      if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
    return out;
  }
  return {};
}

constexpr const char* kOneFile = "give the whole .cu file in one fenced code block";

}  // namespace

Expected<Extracted> inspect(std::string source, const task::Task& task) {
  if (trim(source).empty()) return fail(ErrorCode::bad_input, "it holds no source", {}, kOneFile);
  if (source.size() > kLongestSource) return fail(ErrorCode::bad_input, fmt::format("the file is longer than {}", human_bytes(static_cast<double>(kLongestSource))), {}, "write a shorter one");
  if (source.find('\0') != std::string::npos) return fail(ErrorCode::bad_input, "the file holds a byte of zero", {}, kOneFile);
  if (!holds_word(code_of(source), task.function)) return fail(ErrorCode::bad_input, fmt::format("the file does not define the launcher '{}'", task.function), {}, "give the whole file, launcher included");
  if (auto found = forbidden_in(source, task)) return Unexpected(std::move(*found));
  if (!source.ends_with('\n')) source += '\n';
  Extracted out{std::move(source), ""};
  out.strategy = strategy_of(out.source);
  return out;
}

Expected<Extracted> extract(const llm::Answer& answer, const task::Task& task) {
  if (answer.stop == llm::StopReason::refused) return fail(ErrorCode::bad_input, "you refused: " + answer.why, {}, "the task is to write a CUDA kernel, and nothing else");
  const auto fences = fences_of(answer.text);
  const bool cut = answer.stop == llm::StopReason::length || (!fences.empty() && !fences.back().closed);
  if (cut) return fail(ErrorCode::bad_input, "it was cut off before its end", {}, "think and write less: the whole file must fit");
  // Of several blocks the one that defines the launcher; a model that shows a piece first means the last.
  const Fence* found = nullptr;
  for (const Fence& fence : fences)
    if (holds_word(code_of(fence.text), task.function)) found = &fence;
  if (found) return inspect(found->text, task);
  if (fences.empty() && answer.text.find("__global__") != std::string::npos && holds_word(code_of(answer.text), task.function) && trim(answer.text).starts_with("//")) return inspect(answer.text, task);
  if (fences.empty()) return fail(ErrorCode::bad_input, "there is no fenced code block in it", {}, kOneFile);
  return fail(ErrorCode::bad_input, fmt::format("no code block of it defines the launcher '{}'", task.function), {}, "give the whole file, launcher included");
}

}  // namespace kforge::model
