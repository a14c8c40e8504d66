#include "llm/server_client.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

constexpr std::size_t kLongestWords = 400;   // of a server's error that are passed on

struct Failure {
  Error error;
  bool again = false;      // the same request may succeed
  double wait = -1;        // seconds that the server asks for; negative: it says nothing
};

struct StatusRow {
  long status;
  ErrorCode code;
  bool again;
  const char* what;
  const char* hint;
};
// What is not here: 5xx may pass, all else is the request's fault.
constexpr StatusRow kStatuses[] = {
    {400, ErrorCode::bad_input, false, "the server refuses the request", "is it a model that this server has, with tools and thinking as asked? --llm-tools off, --llm-effort"},
    {401, ErrorCode::bad_input, false, "the server refuses the key", "see that it is whole and of this provider"},
    {402, ErrorCode::bad_input, false, "the account is not paid", "see the provider's billing page"},
    {403, ErrorCode::bad_input, false, "the key may not do this", "see what the key and the account are allowed"},
    {404, ErrorCode::bad_input, false, "the server has no such model or path", "see the model's name and --llm-url"},
    {408, ErrorCode::failed, true, "the server timed out", ""},
    {409, ErrorCode::failed, true, "the server is in conflict", ""},
    {413, ErrorCode::bad_input, false, "the request is too large for the server", "--prompt-tokens makes prompts shorter"},
    {425, ErrorCode::failed, true, "the server is not ready", ""},
    {429, ErrorCode::failed, true, "the server's rate limit is reached", "wait, or use fewer requests at once"},
};

bool is_loopback(const std::string& url) {
  for (const char* start : {"http://localhost", "http://127.", "http://[::1]"})
    if (to_lower(url).starts_with(start)) return true;
  return false;
}

Failure failure_of(const HttpAnswer& answer, const std::string& url) {
  const std::string words = error_words(answer.body);
  Failure out{{ErrorCode::bad_input, "", {url, 0, 0}, ""}, answer.status >= 500, asked_wait(answer.headers)};
  std::string what = out.again ? "the server failed" : "the server refuses the request";
  if (out.again) out.error.code = ErrorCode::failed;
  for (const StatusRow& row : kStatuses)
    if (row.status == answer.status) {
      out.error.code = row.code;
      out.again = row.again;
      what = row.what;
      out.error.hint = row.hint;
    }
  if (answer.status >= 300 && answer.status < 400) {
    const auto location = answer.headers.find("location");
    what = "the server is elsewhere" + (location == answer.headers.end() ? "" : ": " + location->second);
    out.error.hint = "redirects are not followed, since the key would go with them: give the right --llm-url";
  }
  // A rate limit that no wait mends.
  if (words.find("insufficient_quota") != std::string::npos || answer.body.find("insufficient_quota") != std::string::npos) {
    out.again = false;
    out.error.code = ErrorCode::bad_input;
    out.error.hint = "the account's quota is used up: see the provider's billing page";
  }
  out.error.message = fmt::format("{} (HTTP {}){}{}", what, answer.status, words.empty() ? "" : ": ", words);
  return out;
}

class ServerClient final : public Client {
 public:
  ServerClient(std::unique_ptr<Codec> codec, ServerOptions options) : codec_(std::move(codec)), o_(std::move(options)), url_(o_.base_url + codec_->path()) {}

  std::string name() const override { return o_.name; }
  std::string priced_model() const override { return o_.dialect.model; }
  bool parallel() const override { return true; }

  Expected<Answer> ask(const Request& request, const AskControl& control) override {
    HttpRequest http{url_, codec_->headers(o_.key), codec_->body(request, o_.dialect)};
    http.headers.emplace_back("content-type", "application/json");
    http.headers.emplace_back("accept", "text/event-stream, application/json");
    http.headers.emplace_back("expect", "");
    for (std::uint32_t attempt = 1;; ++attempt) {
      Failure failure;
      if (auto answer = once(http, request, control, failure)) {
        answer->tries = attempt;
        return std::move(*answer);
      }
      failure.error = o_.key.redacted(std::move(failure.error));
      if (!failure.again || attempt >= o_.retry.tries || failure.wait > o_.retry.longest_asked) {
        if (failure.again) failure.error.message += failure.wait > o_.retry.longest_asked ? fmt::format("; it asks to wait {:.0f} s", failure.wait) : fmt::format("; it was tried {} times", attempt);
        return Unexpected(std::move(failure.error));
      }
      const double wait = failure.wait >= 0 ? failure.wait + jitter() * 0.25 : std::min(o_.retry.longest_wait, o_.retry.first_wait * static_cast<double>(1u << std::min(attempt - 1, 20u))) * (0.5 + jitter());
      if (control.progress) control.progress(fmt::format("{}; trying again in {:.3g} s", failure.error.message, wait));
      if (!sleep(wait, control)) return fail(ErrorCode::limit, "the request was cancelled");
    }
  }

 private:
  std::optional<Answer> once(const HttpRequest& http, const Request& request, const AskControl& control, Failure& failure) const {
    const auto reader = codec_->reader();
    std::optional<Error> broken;
    EventReader events([&](const Event& event) {
      if (broken) return;
      if (auto read = reader->event(event); !read) broken = read.error();
    });
    auto http_answer = http_post(http, o_.limits, control, [&](std::string_view bytes) { events.feed(bytes); });
    if (!http_answer) {
      failure = {http_answer.error(), http_answer.error().code == ErrorCode::failed, -1};
      return std::nullopt;
    }
    if (http_answer->status < 200 || http_answer->status >= 300) {
      failure = failure_of(*http_answer, url_);
      return std::nullopt;
    }
    const auto type = http_answer->headers.find("content-type");
    if (type != http_answer->headers.end() && type->second.find("event-stream") == std::string::npos) {
      if (auto read = reader->whole(http_answer->body); !read) broken = read.error();
      else broken.reset();
    } else {
      events.end();
    }
    if (reader->done() && !broken) return finished(reader->answer(), request);
    report_lost(reader->answer(), request, control);
    if (!broken) broken = Error{ErrorCode::failed, "the answer broke off: " + (http_answer->broke_off.empty() ? std::string("the stream ended in the middle") : http_answer->broke_off), {}, ""};
    broken->where.file = url_;
    failure = {std::move(*broken), true, -1};
    return std::nullopt;
  }

  Answer finished(Answer answer, const Request& request) const {
    for (std::string* text : {&answer.text, &answer.why, &answer.model, &answer.own}) *text = o_.key.redacted(*text);
    for (ToolCall& call : answer.calls) call = {o_.key.redacted(call.id), o_.key.redacted(call.name), o_.key.redacted(call.arguments)};
    if (!answer.usage.told) answer.usage = estimate(answer, request);
    return answer;
  }

  static Usage estimate(const Answer& answer, const Request& request) {
    Usage out;
    out.input = estimated_tokens(transcript(request));
    out.output = estimated_tokens(answer.text);
    for (const ToolCall& call : answer.calls) out.output += estimated_tokens(call.arguments);
    return out;
  }

  static void report_lost(const Answer& answer, const Request& request, const AskControl& control) {
    if (!control.lost || (answer.text.empty() && answer.calls.empty() && !answer.usage.told)) return;
    Usage lost = estimate(answer, request);
    lost.input = std::max(lost.input, answer.usage.input);
    lost.output = std::max(lost.output, answer.usage.output);
    control.lost(lost);
  }

  static double jitter() {
    thread_local std::mt19937 random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(random);
  }

  // In slices, so that a cancelled run ends soon. False: cancelled.
  static bool sleep(double seconds, const AskControl& control) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      if (control.cancelled && control.cancelled()) return false;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.1, std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count())));
    }
    return !(control.cancelled && control.cancelled());
  }

  std::unique_ptr<Codec> codec_;
  ServerOptions o_;
  std::string url_;
};

}  // namespace

double asked_wait(const std::map<std::string, std::string>& headers) {
  if (const auto ms = headers.find("retry-after-ms"); ms != headers.end())
    if (const auto value = parse_double(ms->second); value && *value >= 0) return *value / 1000;
  const auto found = headers.find("retry-after");
  if (found == headers.end()) return -1;
  if (const auto value = parse_double(found->second); value && *value >= 0) return *value;
  std::tm parts{};
  if (!::strptime(found->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts)) return -1;
  return std::max(0.0, std::difftime(::timegm(&parts), std::time(nullptr)));
}

std::string error_words(const std::string& body) {
  const Json json = parsed(body);
  const Json error = member(json, "error");
  std::string words = error.is_string() ? error.get<std::string>() : text_of(error, "message");
  if (words.empty()) words = text_of(json, "message");
  if (words.empty()) words = body;
  if (words.size() > kLongestWords) words = words.substr(0, kLongestWords) + " ...";
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return std::string(trim(words));
}

Expected<std::unique_ptr<Client>> server_client(std::unique_ptr<Codec> codec, ServerOptions options) {
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  if (!options.key.empty() && to_lower(options.base_url).starts_with("http://") && !is_loopback(options.base_url))
    return fail(ErrorCode::bad_input, "the key would travel unencrypted to another machine", {options.base_url, 0, 0}, "use https, or a tunnel to localhost");
  return std::make_unique<ServerClient>(std::move(codec), std::move(options));
}

}  // namespace kforge::llm
