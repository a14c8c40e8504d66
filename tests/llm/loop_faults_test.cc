// A run against a server that does wrong: it ends as it should, keeps its budget, its journal is whole, and the key is in no file and no output.
#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>

#include "base/text.h"
#include "kforge_runner.h"
#include "llm/fault_server_test.h"
#include "llm/http.h"

namespace kforge {
namespace {

using llm::FaultServer;
using llm::Script;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "sk-marker-7f3e9ab2c4d1";

const std::string kGood =
    "// strategy: grid stride\n#include <cuda_runtime.h>\n__global__ void add(const float* x, float* y, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2.0f * x[i];\n}\n"
    "extern \"C\" cudaError_t twice(const float* x, float* y, int n, cudaStream_t stream) {\n  add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n  return cudaGetLastError();\n}\n";
const char* kTask =
    "[task]\nname = \"twice\"\nsummary = \"twice x\"\n[semantics]\nformula = \"y = 2 * x\"\n[[semantics.tensor]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"n\"]\nrole = \"in\"\n"
    "[[semantics.tensor]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"n\"]\nrole = \"out\"\n[sizes]\nmeasure = [{n = 65536}]\n[hardware]\ngpu = \"h200\"\n[interface]\nfunction = \"twice\"\n";

std::string stream_of(const std::string& text, int input = 100, int output = 50) {
  const json piece{{"model", "m"}, {"choices", {{{"delta", {{"content", text}}}}}}};
  const json end{{"choices", {{{"delta", json::object()}, {"finish_reason", "stop"}}}}, {"usage", {{"prompt_tokens", input}, {"completion_tokens", output}}}};
  return llm::stream_head() + "data: " + piece.dump() + "\n\ndata: " + end.dump() + "\n\ndata: [DONE]\n\n";
}
std::string fenced(const std::string& source) { return "Here it is.\n\n```cuda\n" + source + "```\n"; }

class LoopFaults : public Runner {
 protected:
  void SetUp() override {
    if (!llm::curl_version()) GTEST_SKIP() << "no libcurl";
    std::ofstream(file("task.toml")) << kTask;
    std::ofstream(file("naive.cu")) << kGood;
    ::setenv("KFORGE_LLM_KEY", kKey, 1);
  }
  void TearDown() override {
    ::unsetenv("KFORGE_LLM_KEY");
    const std::string found = where_the_key_is();
    EXPECT_EQ(found, "") << "the key is in this file";
  }

  ProcessResult optimize(const FaultServer& server, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"optimize", "task.toml", "--llm", "compatible:m", "--llm-url", server.url(), "--proposers", "model", "--budget-seconds", "60", "--jobs", "1"};
    if (std::find(more.begin(), more.end(), "--candidates") == more.end()) words.insert(words.end(), {"--candidates", "3"});
    words.insert(words.end(), more.begin(), more.end());
    auto out = kforge(words);
    EXPECT_THAT(out.out, Not(HasSubstr(kKey)));
    EXPECT_THAT(out.err, Not(HasSubstr(kKey)));
    return out;
  }
  std::string steps() const { return kforge({"runs", "last", "--steps"}).out; }
  // What an agent reads of the run over the Model Context Protocol.
  void read_over_mcp() const {
    int id = 0;
    const auto ask = [&id](const char* method, const json& params) { return json{{"jsonrpc", "2.0"}, {"id", ++id}, {"method", method}, {"params", params}}.dump() + "\n"; };
    std::string input = ask("initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", json::object()}, {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    input += R"({"jsonrpc":"2.0","method":"notifications/initialized"})" "\n";
    input += ask("tools/call", {{"name", "list_runs"}, {"arguments", json::object()}}) + ask("tools/call", {{"name", "get_best"}, {"arguments", {{"run", "last"}}}});
    input += ask("resources/read", {{"uri", "kforge://run/last"}}) + ask("resources/read", {{"uri", "kforge://story/last"}});
    const auto served = kforge({"mcp"}, 60, input);
    EXPECT_THAT(served.out, HasSubstr("kforge.run/1")) << served.err;
    std::ofstream(file("mcp.txt")) << served.out << served.err;
  }
  // The first file of the run that holds the marker; reports, messages, records and what agents read are among them.
  std::string where_the_key_is() const {
    if (std::filesystem::exists(file(".kforge/store/store.db"))) read_over_mcp();
    kforge({"export", "dataset", "-o", file("dataset.jsonl")});
    kforge({"export", "dataset", "--preferences", "-o", file("preferences.jsonl")});
    for (const char* format : {"html", "json", "markdown"}) kforge({"report", "last", "--format", format, "-o", file(std::string("report.") + format)});
    kforge({"runs", "last", "--messages", file("messages.jsonl")});
    kforge({"runs", "last", "--training-records", file("training.jsonl")});
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file())
        if (const auto text = read_file(entry.path()); text && text->find(kKey) != std::string::npos) return entry.path().string();
    return {};
  }
};

TEST_F(LoopFaults, AServerThatEchoesTheKeyDoesNotSpreadIt) {
  FaultServer server([](int, const std::string&) { return Script{{stream_of(fenced("// strategy: key " + std::string(kKey) + "\n" + kGood))}}; });
  const auto ended = optimize(server);
  EXPECT_NE(ended.exit_status, 3) << ended.err;
  EXPECT_THAT(steps(), HasSubstr("answered"));
  EXPECT_THAT(record().dump(), HasSubstr("[key]")) << "the answer was taken, without the key";
}

TEST_F(LoopFaults, AnEvaluationDoesNotSpreadTheKeyEither) {
  FaultServer server([](int, const std::string&) { return Script{{stream_of(fenced("// strategy: key " + std::string(kKey) + "\n" + replace_all(kGood, "256", "128")))}}; });
  std::ofstream(file("suite.txt")) << "task.toml\n";
  for (const char* form : {"--json", "--jobs=1"}) {
    const auto ended = kforge({"eval", "suite.txt", "--llm", "compatible:m", "--llm-url", server.url(), "--proposers", "model", "--candidates", "1", "--budget-seconds", "60", form});
    EXPECT_THAT(ended.out, HasSubstr("accepted")) << ended.err;
    std::ofstream(file(std::string("eval") + form + ".txt")) << ended.out << ended.err;
  }
  EXPECT_THAT(record().dump(), HasSubstr("[key]")) << "the answer was taken, without the key";
}

TEST_F(LoopFaults, AHostileKernelIsRejectedLikeAnyOther) {
  const std::string exits = replace_all(replace_all(kGood, "#include <cuda_runtime.h>", "#include <cuda_runtime.h>\n#include <cstdlib>"), "  add<<<", "  std::_Exit(0);\n  add<<<");
  FaultServer server([&](int n, const std::string&) { return Script{{stream_of(fenced(n == 0 ? exits : replace_all(kGood, "256", n == 1 ? "128" : "512")))}}; });
  const auto ended = optimize(server);
  EXPECT_EQ(ended.exit_status, 0) << ended.out << ended.err;
  const json ran = record();
  bool rejected = false;
  for (const json& tried : ran["tried"])
    if (tried["candidate"]["source"].get<std::string>().find("_Exit") != std::string::npos) rejected = tried["verdict"]["status"] == "rejected";
  EXPECT_TRUE(rejected);
  EXPECT_THAT(server.body(1), HasSubstr("run.exit")) << "the model is told what was wrong";
}

TEST_F(LoopFaults, AnAnswerThatTalksToTheHostIsNotTakenAndAskedForAgain) {
  FaultServer server([&](int n, const std::string&) { return Script{{stream_of(fenced(n == 0 ? kGood + "void g() { system(\"true\"); }\n" : replace_all(kGood, "256", n == 1 ? "128" : "512")))}}; });
  const auto ended = optimize(server, {"--candidates", "1"});
  EXPECT_EQ(ended.exit_status, 0) << ended.err;
  EXPECT_THAT(steps(), HasSubstr("talks to other programs"));
  EXPECT_THAT(server.body(1), HasSubstr("Your answer was not taken"));
}

TEST_F(LoopFaults, ABudgetOfTokensEndsTheAsking) {
  FaultServer server([&](int n, const std::string&) { return Script{{stream_of(fenced(replace_all(kGood, "256", std::to_string(64 * (n + 1)))), 9'000, 2'000)}}; });
  const auto ended = optimize(server, {"--candidates", "50", "--max-tokens", "30000", "--stagnation", "0"});
  EXPECT_LE(server.requests(), 3);
  EXPECT_EQ(record()["outcome"], "budget") << ended.err;
  EXPECT_THAT(record()["outcome_why"].get<std::string>(), HasSubstr("30000 tokens"));
}

TEST_F(LoopFaults, MoneyIsKeptToOnlyWhereThePriceIsKnown) {
  FaultServer server([&](int, const std::string&) { return Script{}; });
  const auto ended = optimize(server, {"--max-money", "1"});
  EXPECT_EQ(ended.exit_status, 2);
  EXPECT_THAT(ended.err, HasSubstr("price of 'm' is not known"));
}

TEST_F(LoopFaults, ARefusedKeyEndsTheRunAndItCanGoOn) {
  FaultServer server([&](int n, const std::string&) {
    return n == 0 ? Script{{llm::http(401, std::string(R"({"error":{"message":"bad key )") + kKey + R"("}})")}} : Script{{stream_of(fenced(replace_all(kGood, "256", std::to_string(64 * n))))}};
  });
  const auto refused = optimize(server);
  EXPECT_EQ(refused.exit_status, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("[key]"));
  EXPECT_EQ(record()["outcome"], "failed");
  const auto resumed = kforge({"optimize", "--resume", "last"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
}

TEST_F(LoopFaults, ATenMegabyteAnswerIsCutOffAndTheRunEnds) {
  FaultServer server([&](int, const std::string&) {
    Script script{{llm::stream_head()}};
    for (int i = 0; i < 12; ++i) script.push_back({"data: " + json{{"choices", {{{"delta", {{"content", std::string(1 << 20, 'x')}}}}}}}.dump() + "\n\n"});
    return script;
  });
  const auto ended = optimize(server);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_THAT(steps(), HasSubstr("longer than 10.0 MiB"));
  EXPECT_NE(record()["outcome"], "running");
  EXPECT_FALSE(ended.timed_out);
}

}  // namespace
}  // namespace kforge
