#include "llm/http.h"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::llm {
namespace {

using Clock = std::chrono::steady_clock;

// The part of libcurl's ABI that is used (curl/curl.h, unchanged since 7.62): its header is not needed to build.
enum Option : int {
  kWriteData = 10001, kUrl = 10002, kErrorBuffer = 10010, kPostFields = 10015, kHeaders = 10023, kHeaderData = 10029, kProgressData = 10057,
  kWriteFunction = 20011, kHeaderFunction = 20079, kProgressFunction = 20219,
  kNoProgress = 43, kPost = 47, kFollow = 52, kPostFieldSize = 60, kNoSignal = 99, kTimeoutMs = 155, kConnectTimeoutMs = 156, kProtocols = 181,
};
constexpr int kResponseCode = 0x200002;
constexpr long kHttpAndHttps = 3;
enum Result : int { kOk = 0, kUnsupportedProtocol = 1, kBadUrl = 3, kWriteError = 23, kTimedOut = 28, kAborted = 42, kOtherCertificate = 60, kNoCertificates = 77 };

struct Curl {
  int (*global_init)(long) = nullptr;
  void* (*init)() = nullptr;
  int (*setopt)(void*, int, ...) = nullptr;
  int (*perform)(void*) = nullptr;
  int (*getinfo)(void*, int, ...) = nullptr;
  void (*cleanup)(void*) = nullptr;
  void* (*append)(void*, const char*) = nullptr;
  void (*free_list)(void*) = nullptr;
  char* (*version)() = nullptr;
  const char* (*strerror)(int) = nullptr;
};

Expected<Curl> load_curl() {
  const char* named = std::getenv("KFORGE_LIBCURL");
  void* library = nullptr;
  if (named && *named) library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
  else
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const std::string hint = "apt-get install libcurl4 (Ubuntu 24.04: libcurl4t64); command:, manual: and replay: need none";
  if (!library) return fail(ErrorCode::missing, fmt::format("{} was not found", named && *named ? named : "libcurl.so.4"), {}, hint);
  Curl out;
  bool whole = true;
  const auto resolve = [&]<class F>(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    whole = whole && function;
  };
  resolve("curl_global_init", out.global_init);
  resolve("curl_easy_init", out.init);
  resolve("curl_easy_setopt", out.setopt);
  resolve("curl_easy_perform", out.perform);
  resolve("curl_easy_getinfo", out.getinfo);
  resolve("curl_easy_cleanup", out.cleanup);
  resolve("curl_slist_append", out.append);
  resolve("curl_slist_free_all", out.free_list);
  resolve("curl_version", out.version);
  resolve("curl_easy_strerror", out.strerror);
  if (!whole) return fail(ErrorCode::missing, "the libcurl that was found lacks functions of release 7", {}, hint);
  out.global_init(3);
  return out;
}

// Once a process: libcurl is to be set up by one thread.
const Expected<Curl>& curl() {
  static const Expected<Curl> loaded = load_curl();
  return loaded;
}

struct Transfer {
  const HttpLimits& limits;
  const AskControl& control;
  const std::function<void(std::string_view)>& on_data;
  HttpAnswer answer;
  Clock::time_point last = Clock::now();
  bool cancelled = false, idle = false, too_long = false;
};

extern "C" std::size_t take_body(const char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& t = *static_cast<Transfer*>(user);
  const std::size_t length = size * count;
  t.last = Clock::now();
  if (t.answer.body.size() + length > t.limits.answer_bytes) {
    t.too_long = true;
    return 0;
  }
  t.answer.body.append(bytes, length);
  if (t.on_data && t.answer.status >= 200 && t.answer.status < 300) t.on_data({bytes, length});
  return length;
}

extern "C" std::size_t take_header(const char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& t = *static_cast<Transfer*>(user);
  const std::string_view line = trim(std::string_view(bytes, size * count));
  t.last = Clock::now();
  if (line.starts_with("HTTP/")) {   // a new answer begins: after 100 Continue, say
    const auto words = split_words(line);
    t.answer.headers.clear();
    t.answer.status = words.size() > 1 ? static_cast<long>(parse_integer(words[1]).value_or(0)) : 0;
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos && t.answer.headers.size() < 100) {
    t.answer.headers[to_lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
  }
  return size * count;
}

extern "C" int watch(void* user, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  auto& t = *static_cast<Transfer*>(user);
  t.cancelled = t.control.cancelled && t.control.cancelled();
  t.idle = std::chrono::duration<double>(Clock::now() - t.last).count() > t.limits.idle_seconds;
  return t.cancelled || t.idle;
}

std::string without_query(const std::string& url) { return url.substr(0, url.find('?')); }

Expected<HttpAnswer> outcome(Transfer& t, int code, const std::string& said, const std::string& url) {
  if (t.cancelled) return fail(ErrorCode::limit, "the request was cancelled");
  if (t.too_long) return fail(ErrorCode::limit, fmt::format("the answer is longer than {}", human_bytes(static_cast<double>(t.limits.answer_bytes))), {url, 0, 0}, "ask for fewer output tokens");
  if (code == kBadUrl || code == kUnsupportedProtocol) return fail(ErrorCode::bad_input, "this is no http or https URL", {url, 0, 0}, "--llm-url takes one such as http://localhost:8000/v1");
  if (code == kOtherCertificate || code == kNoCertificates) return fail(ErrorCode::missing, "the server's certificate is not trusted: " + said, {url, 0, 0}, "apt-get install ca-certificates");
  if (code == kOk) return std::move(t.answer);
  std::string why = t.idle ? fmt::format("no byte came for {:.3g} s", t.limits.idle_seconds) : said;
  if (t.answer.status == 0) return fail(ErrorCode::failed, "the server gave no answer: " + why, {url, 0, 0}, "is it running, and is the URL right?");
  t.answer.broke_off = std::move(why);
  return std::move(t.answer);
}

}  // namespace

Expected<HttpAnswer> http_post(const HttpRequest& request, const HttpLimits& limits, const AskControl& control, const std::function<void(std::string_view)>& on_data) {
  const auto& loaded = curl();
  if (!loaded) return Unexpected(loaded.error());
  const Curl& c = *loaded;
  const std::unique_ptr<void, void (*)(void*)> handle(c.init(), c.cleanup);
  if (!handle) return fail(ErrorCode::failed, "libcurl could not begin a request");
  void* list = nullptr;
  for (const auto& [name, value] : request.headers) list = c.append(list, (name + ": " + value).c_str());
  const std::unique_ptr<void, void (*)(void*)> headers(list, c.free_list);
  Transfer transfer{limits, control, on_data, {}};
  std::array<char, 512> said{};
  void* const h = handle.get();
  c.setopt(h, kUrl, request.url.c_str());
  c.setopt(h, kProtocols, kHttpAndHttps);
  c.setopt(h, kFollow, 0L);
  c.setopt(h, kNoSignal, 1L);
  c.setopt(h, kPost, 1L);
  c.setopt(h, kPostFields, request.body.data());
  c.setopt(h, kPostFieldSize, static_cast<long>(request.body.size()));
  c.setopt(h, kHeaders, headers.get());
  c.setopt(h, kConnectTimeoutMs, static_cast<long>(limits.connect_seconds * 1000));
  c.setopt(h, kTimeoutMs, static_cast<long>(limits.total_seconds * 1000));
  c.setopt(h, kErrorBuffer, said.data());
  c.setopt(h, kWriteFunction, take_body);
  c.setopt(h, kWriteData, &transfer);
  c.setopt(h, kHeaderFunction, take_header);
  c.setopt(h, kHeaderData, &transfer);
  c.setopt(h, kNoProgress, 0L);
  c.setopt(h, kProgressFunction, watch);
  c.setopt(h, kProgressData, &transfer);
  const int code = c.perform(h);
  return outcome(transfer, code, said[0] != 0 ? said.data() : c.strerror(code), without_query(request.url));
}

Expected<std::string> curl_version() {
  const auto& loaded = curl();
  if (!loaded) return Unexpected(loaded.error());
  return std::string(loaded->version());
}

}  // namespace kforge::llm
