#include "llm/local_clients.h"

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "llm/record.h"

namespace kforge::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWordsOfProgram = 300;   // the end of what it says on standard error
constexpr std::uint64_t kLongestAnswer = 10u << 20;

// Of whoever counts no tokens.
Answer plain_answer(const Request& request, std::string text) {
  Answer out;
  out.text = std::move(text);
  out.usage.input = estimated_tokens(transcript(request));
  out.usage.output = estimated_tokens(out.text);
  return out;
}

class CommandClient final : public Client {
 public:
  CommandClient(std::vector<std::string> arguments, double seconds, std::uint64_t answer_bytes) : arguments_(std::move(arguments)), seconds_(seconds), answer_bytes_(answer_bytes) {}
  std::string name() const override { return "command:" + arguments_[0]; }

  Expected<Answer> ask(const Request& request, const AskControl& control) override {
    if (control.cancelled && control.cancelled()) return fail(ErrorCode::limit, "the request was cancelled");
    ProcessRequest wanted;
    wanted.arguments = arguments_;
    wanted.stdin_text = transcript(request);
    wanted.limits.wall_seconds = seconds_;
    wanted.limits.output_bytes = answer_bytes_;
    auto ended = run_process(wanted);
    if (!ended) return Unexpected(ended.error());
    if (ended->output_truncated) return fail(ErrorCode::limit, fmt::format("the program's answer is longer than {}", human_bytes(static_cast<double>(answer_bytes_))), {arguments_[0], 0, 0});
    if (!ended->succeeded() || trim(ended->out).empty()) {
      const std::string_view said = trim(ended->err);
      return fail(ErrorCode::failed, fmt::format("the program gave no answer ({}): {}", describe_end(*ended), said.substr(said.size() - std::min(said.size(), kWordsOfProgram))), {arguments_[0], 0, 0},
                  "it gets the prompt on its standard input and prints the answer");
    }
    return plain_answer(request, std::move(ended->out));
  }

 private:
  std::vector<std::string> arguments_;
  double seconds_;
  std::uint64_t answer_bytes_;
};

class ManualClient final : public Client {
 public:
  ManualClient(fs::path folder, double settle_seconds) : folder_(std::move(folder)), settle_(settle_seconds) {}
  std::string name() const override { return "manual"; }

  Expected<Answer> ask(const Request& request, const AskControl& control) override {
    const std::string text = transcript(request);
    auto number = place(text);
    if (!number) return Unexpected(number.error());
    const fs::path answer = folder_ / fmt::format("answer-{}.md", *number);
    if (control.progress) control.progress("waiting for " + answer.string());
    auto written = wait_for(answer, control);
    if (!written) return Unexpected(written.error());
    return plain_answer(request, std::move(*written));
  }

 private:
  // The number of the prompt's file, which is written unless it is there.
  Expected<int> place(const std::string& text) {
    if (auto made = make_directories(folder_); !made) return Unexpected(made.error());
    int number = 1;
    for (std::error_code ignored; fs::exists(file(number), ignored); ++number)
      if (const auto there = read_file(file(number)); there && *there == text && asked_.insert(number).second) return number;
    asked_.insert(number);
    if (auto written = write_file_atomic(file(number), text); !written) return Unexpected(written.error());
    return number;
  }
  fs::path file(int number) const { return folder_ / fmt::format("prompt-{}.md", number); }

  Expected<std::string> wait_for(const fs::path& path, const AskControl& control) const {
    using Clock = std::chrono::steady_clock;
    std::string last;
    auto since = Clock::now();
    for (;;) {
      if (control.cancelled && control.cancelled()) return fail(ErrorCode::limit, "the request was cancelled");
      std::error_code ignored;
      auto text = fs::exists(path, ignored) ? read_file(path, kLongestAnswer) : Expected<std::string>("");
      if (!text) return Unexpected(text.error());
      if (*text != last) since = Clock::now();
      if (!text->empty() && std::chrono::duration<double>(Clock::now() - since).count() >= settle_) return std::move(*text);
      last = std::move(*text);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  fs::path folder_;
  double settle_;
  std::set<int> asked_;    // of this process: a prompt that is asked twice gets two files
};

class ReplayClient final : public Client {
 public:
  ReplayClient(Record record, std::string file, bool in_order) : record_(std::move(record)), file_(std::move(file)), used_(record_.exchanges.size()), in_order_(in_order) {}
  std::string name() const override { return "replay of " + record_.provider; }

  Expected<Answer> ask(const Request& request, const AskControl&) override {
    const std::lock_guard lock(mutex_);
    const std::string wanted = llm::identity(request);
    bool open = false;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      open = open || !used_[i];
      if (used_[i] || (!in_order_ && record_.exchanges[i].request != wanted)) continue;
      used_[i] = true;
      return record_.exchanges[i].answer;
    }
    if (!open) return fail(ErrorCode::limit, "the record holds no further answer", {file_, 0, 0});
    return fail(ErrorCode::bad_input, fmt::format("the record has no answer to the request {}: task, options, program or prompts are not those of the recorded run", wanted), {file_, 0, 0},
                "record the run anew, or take replay-in-order: to give its answers whatever is asked");
  }

 private:
  std::mutex mutex_;
  Record record_;
  std::string file_;
  std::vector<bool> used_;
  bool in_order_;
};

}  // namespace

std::unique_ptr<Client> command_client(std::vector<std::string> arguments, double seconds, std::uint64_t answer_bytes) {
  return std::make_unique<CommandClient>(std::move(arguments), seconds, answer_bytes);
}

std::unique_ptr<Client> manual_client(fs::path folder, double settle_seconds) { return std::make_unique<ManualClient>(std::move(folder), settle_seconds); }

Expected<std::unique_ptr<Client>> replay_client(const std::string& file, bool in_order) {
  const auto text = read_file(file);
  if (!text) return Unexpected(text.error());
  auto record = read_record(*text, file);
  if (!record) return Unexpected(record.error());
  return std::make_unique<ReplayClient>(std::move(*record), file, in_order);
}

}  // namespace kforge::llm
