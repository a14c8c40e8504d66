// `--device gpu`, `bench` and `doctor` as a user runs them, on a machine that is a fake.
#include <algorithm>

#include <gmock/gmock.h>

#include "fake_gpu.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

TEST_F(FakeGpu, AnHonestKernelIsJudgedAndTimedThere) {
  const Answer answer = check("honest/plain.cu");
  ASSERT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  const json verdict = answer.parsed();
  EXPECT_EQ(verdict["device"], "NVIDIA H200");
  for (const char* rung : {"emulate", "correct", "time"}) EXPECT_EQ(find(verdict["rungs"], "name", rung)->at("status"), "passed") << rung;
  EXPECT_TRUE(find(verdict["cases"], "device", "gpu"));
  EXPECT_TRUE(find(verdict["cases"], "device", "gpu timed"));
  const json& time = verdict["time"];
  EXPECT_EQ(time["source"], "measured");
  EXPECT_GT(time["us"], 0);
  EXPECT_GT(time["modelled_us"], 0);
  EXPECT_GE(time["verified"], 2);
  EXPECT_EQ(time["conditions"]["driver"], "580.65.06");
  EXPECT_EQ(time["conditions"]["sm_mhz"], 1980);
  EXPECT_EQ(find(verdict["contracts"], "id", "honest")->at("status"), "passed");
  EXPECT_THAT(verdict["unproven"].dump(), HasSubstr("differs from the data sheet h200: l2_bytes"));
}

TEST_F(FakeGpu, TheSameKernelIsJudgedAlikeWithoutIt) {
  for (const char* candidate : {"dishonest/half_of_it.cu", "dishonest/changes_input.cu", "dishonest/other_stream.cu", "faulty/illegal.cu"}) {
    const json with = check(candidate).parsed(), without = kforge({"check", (kHere / "task.toml").string(), (kHere / candidate).string(), "--json"}).parsed();
    EXPECT_EQ(with["status"], without["status"]) << candidate;
    EXPECT_EQ(with["status"], "rejected") << candidate;
    EXPECT_EQ(find(with["rungs"], "name", "time")->at("status"), "skipped") << candidate;
  }
}

struct Cheat { const char* file; const char* says; };
class TimedCheat : public FakeGpu, public ::testing::WithParamInterface<Cheat> {};

// bench goes to the GPU at once: nothing but the rung time stands between the cheat and its figure.
TEST_P(TimedCheat, IsFoundOut) {
  const Answer answer = bench({GetParam().file}, {"--json"});
  EXPECT_EQ(answer.exit_code, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Candidates, TimedCheat,
                         ::testing::Values(Cheat{"dishonest/cached_by_pointer.cu", "\"wrong\""}, Cheat{"dishonest/first_calls.cu", "\"wrong\""}, Cheat{"dishonest/every_third.cu", "\"wrong\""},
                                           Cheat{"dishonest/half_of_it.cu", "\"wrong\""}, Cheat{"dishonest/changes_input.cu", "\"wrong\""},
                                           Cheat{"faulty/illegal.cu", "in a timed call"}, Cheat{"faulty/exits.cu", "exit code 0"}),
                         [](const auto& cheat) {
                           std::string name = fs::path(cheat.param.file).stem().string();
                           return name;
                         });

class CubList : public FakeGpu, public ::testing::WithParamInterface<const char*> {};

// CUB's sum, prefix sums and sort are built from their sources in data/baselines, and run.
TEST_P(CubList, AnswersRightly) {
  const Answer answer = kforge({"bench", (kHere / "lists" / GetParam()).string(), "--with", "cub", "--time-seconds", "0.2", "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  const json rows = answer.parsed()["rows"];
  ASSERT_EQ(rows.size(), 1u) << answer.out << answer.err;
  EXPECT_EQ(rows[0]["candidate"], "cub");
  EXPECT_EQ(rows[0]["right"], "right") << rows[0]["failure"];
}
INSTANTIATE_TEST_SUITE_P(Baselines, CubList, ::testing::Values("sum.toml", "scan.toml", "sort.toml"), [](const auto& list) { return fs::path(list.param).stem().string(); });

TEST_F(FakeGpu, AFaultyKernelDisturbsNoOther) {
  const Answer answer = bench({"honest/plain.cu", "faulty/illegal.cu", "honest/halves.cu"}, {"--json"});
  const json rows = answer.parsed()["rows"];
  ASSERT_EQ(rows.size(), 3u) << answer.err;
  EXPECT_EQ(rows[0]["right"], "right");
  EXPECT_NE(rows[1]["failure"], "");
  EXPECT_EQ(rows[2]["right"], "right");
  EXPECT_GT(rows[2]["us"], 0);
}

// The call that makes its buffers warm is on other inputs.
TEST_F(FakeGpu, WarmSamplesAreNoSecondCallOnTheSameInputs) {
  const Answer answer = bench({"dishonest/again_on_the_same.cu", "honest/plain.cu"}, {"--warm", "--json"});
  const json rows = answer.parsed()["rows"];
  ASSERT_EQ(rows.size(), 2u) << answer.err;
  EXPECT_EQ(rows[0]["right"], "wrong");
  EXPECT_EQ(rows[1]["right"], "right");
}

// As drivers do; a candidate that asks for these functions is refused for that alone.
TEST_F(FakeGpu, ThreadsMayBeNamed) {
  const Answer answer = kforge({"bench", (kHere / "task.toml").string(), (kHere / "honest/names_thread.cu").string(), "--time-seconds", "0.3"}, "small", {{"KFORGE_DEFENCES_OFF", "imports"}});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
}

// A candidate gets a glance on the GPU; what leads there is proven on both.
TEST_F(FakeGpu, OptimizeEndsWithAMeasuredWinner) {
  const fs::path folder = fs::temp_directory_path() / ("kforge-optimize-gpu-" + std::to_string(::getpid()));
  const Answer answer = kforge({"optimize", (kHere / "task.toml").string(), "--from", (kHere / "honest/plain.cu").string(), "--device", "gpu:0", "--candidates", "2", "--budget-seconds", "90", "--json"}, "small",
                               {{"KFORGE_STORE", folder.string()}});
  fs::remove_all(folder);
  EXPECT_LE(answer.exit_code, 1) << answer.err;   // whether a fake GPU calls it faster is chance
  EXPECT_THAT(answer.out, HasSubstr("\"source\": \"measured\"")) << answer.err;
}

TEST_F(FakeGpu, BenchPrintsATableJsonAndCsv) {
  const Answer table = bench({"honest/plain.cu", "honest/workspace.cu"});
  EXPECT_EQ(table.exit_code, 0) << table.out << table.err;
  EXPECT_THAT(table.out, HasSubstr("n=4096 on NVIDIA H200, cold L2"));
  EXPECT_THAT(table.out, HasSubstr("workspace.cu"));
  const Answer csv = bench({"honest/plain.cu"}, {"--csv"});
  EXPECT_THAT(csv.out, HasSubstr("candidate,sizes,us,p99_us"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 2);
}

class Watched : public FakeGpu {
 protected:
  // The fake CUPTI of that kind, in a folder of its own.
  Answer bench_with(const std::string& kind, const std::string& defences_off = "", bool as_json = true) {
    auto made = TemporaryDirectory::create("device_test");
    EXPECT_TRUE(made);
    const fs::path library = made->path() / ("libkforge_fake_cupti_" + kind + ".so");
    fs::copy_file(kFakeCupti, library);
    return kforge({"bench", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--time-seconds", "0.2", as_json ? "--json" : "--warm"}, "small", {{"KFORGE_LIBCUPTI", library.string()}, {"KFORGE_DEFENCES_OFF", defences_off}});
  }
};

TEST_F(Watched, WhatTheGpuDoesIsCounted) {
  const Answer answer = bench_with("usual");
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  const json seen = answer.parsed()["rows"][0]["activity"];
  EXPECT_EQ(seen, json::parse(R"({"trouble": "", "kernels": 2, "streams": 2, "copies": 1, "host_copies": 1, "copied_bytes": 4096, "fills": 1, "names": ["_Z12decay_kernelPKfPfi"]})")) << answer.err;
  EXPECT_THAT(bench_with("usual", "", false).out, HasSubstr("2 kernels on 2 streams, 1 copy (4.0 KiB), 1 of them from or to the host, 1 fill"));
}

TEST_F(Watched, WorkThatTheStreamDoesNotWaitForIsALie) {
  const Answer answer = bench_with("late");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr("CUPTI sees the kernel _Z12decay_kernelPKfPfi going on for 90.0 us after the given stream is done"));
  EXPECT_EQ(bench_with("late", "quiet").exit_code, 0);
}

TEST_F(Watched, AKernelFromOutsideTheObjectIsNamed) {
  const Answer answer = bench_with("foreign");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr("CUPTI sees the kernel _ZN7library5sgemmEPKfS1_Pf, which the object does not hold"));
  EXPECT_EQ(bench_with("foreign", "libraries").exit_code, 0);
}

TEST_F(Watched, WithoutCuptiNothingIsConcluded) {
  const auto trouble = [](const Answer& answer) { return answer.exit_code == 0 ? answer.parsed()["rows"][0]["activity"]["trouble"].get<std::string>() : answer.out + answer.err; };
  EXPECT_THAT(trouble(bench_with("refuses")), HasSubstr("CUPTI records nothing here: error 15"));
  EXPECT_THAT(trouble(bench_with("blind")), HasSubstr("recorded nothing of the given stream"));
  const std::vector<std::string> call = {"bench", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--time-seconds", "0.2", "--json"};
  EXPECT_THAT(trouble(kforge(call, "small", {{"KFORGE_LIBCUPTI", "/nowhere/libcupti.so"}})), HasSubstr("/nowhere/libcupti.so, which does not exist"));
  EXPECT_THAT(trouble(kforge(call, "small", {{"KFORGE_LIBCUPTI", kFakeDriver}})), HasSubstr("is no CUPTI"));
}

// A timing loop of somebody else's takes turns with the candidates, and is no candidate.
TEST_F(FakeGpu, AnotherLoopIsTimedBesideThem) {
  auto made = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(made);
  const auto write = [&](const std::string& name, const std::string& text) {
    const fs::path path = made->path() / name;
    std::ofstream(path) << "#!/bin/bash\n" << text;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  };
  const std::string loop = write("loop", "while read -r calls sizes; do echo \"$calls $sizes\" >>" + (made->path() / "asked").string() + "; for ((i = 0; i < calls; ++i)); do printf '12.5 '; done; echo; done\n");
  const Answer answer = bench({"honest/plain.cu", "honest/workspace.cu"}, {"--beside", loop + " an argument", "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  const json rows = answer.parsed()["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]["right"], "right");
  EXPECT_EQ(rows[2]["candidate"], loop + " an argument");
  EXPECT_EQ(rows[2]["us"], 12.5);
  EXPECT_GE(rows[2]["samples"], 30);
  EXPECT_THAT(rows[2]["right"].get<std::string>(), HasSubstr("another program's own figure"));
  EXPECT_THAT(read_file(made->path() / "asked").value_or(""), HasSubstr(" n=4096\n"));
  const auto failure = [&](const std::string& text) { return bench({"honest/plain.cu"}, {"--beside", write("wrong", text), "--json"}).parsed()["rows"][1]["failure"].get<std::string>(); };
  EXPECT_THAT(failure("exit 1\n"), HasSubstr("has ended"));
  EXPECT_THAT(failure("while read -r line; do echo 3.5 4; done\n"), testing::ContainsRegex("gives 2 times for [0-9]+ calls"));
  EXPECT_THAT(failure("while read -r line; do echo fast; done\n"), HasSubstr("says 'fast' where a time"));
  EXPECT_EQ(bench({"honest/plain.cu"}, {"--beside", "/nowhere/loop"}).exit_code, 3);
}

TEST_F(FakeGpu, SamplesUnderHeatAreDropped) {
  const Answer answer = kforge({"bench", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--time-seconds", "0.3"}, "hot");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr("slowed down by heat"));
}

TEST_F(FakeGpu, WhatCannotBeUsedIsNamed) {
  const std::string task = (kHere / "task.toml").string(), candidate = (kHere / "honest/plain.cu").string();
  const auto on = [&](const std::string& machine, const std::string& device) { return kforge({"check", task, candidate, "--device", device}, machine); };
  EXPECT_EQ(on("none", "gpu").exit_code, 3);
  EXPECT_THAT(on("none", "gpu").err, HasSubstr("finds no GPU"));
  EXPECT_EQ(on("old", "gpu").exit_code, 3);
  EXPECT_THAT(on("old", "gpu").err, HasSubstr("serves CUDA 12.2"));
  EXPECT_THAT(on("mismatch", "gpu").err, HasSubstr("version mismatch"));
  EXPECT_EQ(on("small", "gpu:3").exit_code, 2);
  EXPECT_THAT(on("small", "gpu:3").err, HasSubstr("there is no GPU 3"));
  EXPECT_EQ(on("small", "tpu").exit_code, 2);
  EXPECT_THAT(kforge({"check", task, candidate, "--device", "gpu"}, "small", {{"KFORGE_LIBCUDA", "/nowhere/libcuda.so"}}).err, HasSubstr("install NVIDIA's driver"));
  EXPECT_EQ(kforge({"bench", task, candidate, "--device", "emulator"}).exit_code, 2);
}

// Whatever command wants a GPU that is not there says what is missing and how to get it, and ends as one that cannot be done.
TEST_F(FakeGpu, EveryCommandSaysWhatIsMissing) {
  const std::string task = (kHere / "task.toml").string(), candidate = (kHere / "honest/plain.cu").string();
  const std::vector<std::vector<std::string>> commands = {{"check", task, candidate, "--device", "gpu:0"}, {"check", task, candidate, "--gpu", "this"}, {"bench", task, candidate}, {"bench", task, candidate, "--with", "cublas"},
                                                          {"optimize", task, "--device", "gpu:0", "--candidates", "1"}, {"plan", task, "--gpu", "this"}, {"profile", task, candidate, "--gpu", "this"}, {"gpus", "--this"}};
  struct Machine { const char *name, *driver, *says; };
  const Machine machines[] = {{"none", kFakeDriver, "finds no GPU"}, {"mismatch", kFakeDriver, "version mismatch"}, {"small", "/nowhere/libcuda.so", "install NVIDIA's driver"}};
  for (const Machine& machine : machines)
    for (const auto& command : commands) {
      const Answer answer = kforge(command, machine.name, {{"KFORGE_LIBCUDA", machine.driver}});
      EXPECT_EQ(answer.exit_code, 3) << command[0] << " on " << machine.name << ": " << answer.err;
      EXPECT_THAT(answer.err, HasSubstr(machine.says)) << command[0] << " on " << machine.name;
      EXPECT_EQ(answer.out, "") << command[0] << " on " << machine.name;
    }
  // A sheet can be read with an old driver; nothing can be run with it.
  for (const auto& command : commands) {
    if (std::find(command.begin(), command.end(), "this") != command.end() || command[0] == "gpus") continue;
    const Answer answer = kforge(command, "old");
    EXPECT_EQ(answer.exit_code, 3) << command[0] << ": " << answer.err;
    EXPECT_THAT(answer.err, HasSubstr("branch 580 or later")) << command[0];
  }
  // An unknown GPU is judged by the sheet that its driver gives.
  const Answer unknown = kforge({"check", task, candidate, "--gpu", "this", "--only", "correctness", "--json"}, "unknown");
  EXPECT_EQ(unknown.exit_code, 0) << unknown.out << unknown.err;
}

TEST_F(FakeGpu, TheGpuAtHandHasASheet) {
  const Answer answer = kforge({"gpus", "--this"}, "unknown");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("NVIDIA H300 Imaginary"));
  EXPECT_THAT(answer.err, HasSubstr("not among the data sheets"));
  const Answer planned = kforge({"plan", (kHere / "task.toml").string(), "--gpu", "this"}, "unknown");
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
}

TEST_F(FakeGpu, AnotherMachineJudgesByCommand) {
  const std::string command = std::string("cmd:") + KFORGE_BINARY_DIR + "/bin/kforge worker --device gpu:0";
  const std::string task = (kHere / "task.toml").string();
  const Answer answer = kforge({"check", task, (kHere / "honest/plain.cu").string(), "--device", command, "--time-seconds", "0.2", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  EXPECT_EQ(answer.parsed()["device"], "NVIDIA H200");
  EXPECT_EQ(answer.parsed()["time"]["source"], "measured");
  EXPECT_EQ(answer.parsed()["candidate"], (kHere / "honest/plain.cu").string());
  EXPECT_EQ(kforge({"check", task, (kHere / "dishonest/half_of_it.cu").string(), "--device", std::string("cmd:") + KFORGE_BINARY_DIR + "/bin/kforge worker", "--json"}).exit_code, 1);
  const Answer dead = kforge({"check", task, (kHere / "honest/plain.cu").string(), "--device", "cmd:false"});
  EXPECT_EQ(dead.exit_code, 3);
  EXPECT_THAT(dead.err, HasSubstr("without an answer"));
  const Answer absent = kforge({"check", task, (kHere / "honest/plain.cu").string(), "--device", std::string("cmd:") + KFORGE_BINARY_DIR + "/bin/kforge worker --device gpu:5"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.err, HasSubstr("there is no GPU 5"));
}

TEST_F(FakeGpu, AWorkerAnswersWhatIsNoRequest) {
  ProcessRequest request;
  request.arguments = {KFORGE_BINARY_DIR "/bin/kforge", "worker"};
  request.stdin_text = "nonsense\n{\"schema\": \"kforge.request/1\", \"id\": 7}\n"
                       "{\"schema\": \"kforge.request/1\", \"id\": 8, \"task\": \"t\", \"candidate\": \"c\", \"files\": {\"../outside\": \"x\"}}\n";
  const auto result = run_process(request);
  ASSERT_TRUE(result && result->succeeded());
  EXPECT_THAT(result->out, HasSubstr("this is no request"));
  EXPECT_THAT(result->out, HasSubstr("the request lacks something"));
  EXPECT_THAT(result->out, HasSubstr("'../outside' is no name"));
}

TEST_F(FakeGpu, AFolderOfCandidatesIsJudgedAndKept) {
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  const fs::path candidates = folder->path() / "candidates", out = folder->path() / "out";
  fs::create_directory(candidates);
  fs::copy_file(kHere / "honest/plain.cu", candidates / "a.cu");
  fs::copy_file(kHere / "dishonest/half_of_it.cu", candidates / "b.cu");
  const std::vector<std::string> call = {"check", (kHere / "task.toml").string(), candidates.string(), "--out", out.string(), "--only", "correctness", "--json"};
  const Answer first = kforge(call);
  EXPECT_EQ(first.exit_code, 1) << first.err;
  ASSERT_EQ(first.parsed().size(), 2u);
  EXPECT_EQ(first.parsed()[0]["status"], "accepted");
  EXPECT_EQ(first.parsed()[1]["status"], "rejected");
  fs::remove(out / "b.cu.key");   // as if it had been cut off there
  const json again = kforge(call).parsed();
  EXPECT_EQ(again[0]["kept"], true);
  EXPECT_EQ(again[1]["kept"], false);
  EXPECT_EQ(again[1]["status"], "rejected");
  EXPECT_EQ(kforge({"check", (kHere / "task.toml").string(), candidates.string()}).exit_code, 2);
}

class Doctor : public WithPrograms {
 protected:
  json row(const std::string& name, const std::string& machine, const std::map<std::string, std::string>& more = {}) {
    const json rows = kforge({"doctor", "--json"}, machine, more).parsed();
    const json* found = find(rows, "name", name);
    return found ? *found : json::object();
  }
};

TEST_F(Doctor, KnowsTheDriverAndTheGpu) {
  EXPECT_EQ(row("driver", "h200")["found"], true);
  EXPECT_THAT(row("gpu:0", "h200")["detail"].get<std::string>(), HasSubstr("NVIDIA H200, sm_90"));
  EXPECT_THAT(row("gpu:0", "unknown")["detail"].get<std::string>(), HasSubstr("not among the data sheets"));
  EXPECT_EQ(row("driver", "old")["found"], false);
  EXPECT_THAT(row("driver", "old")["how_to_get"].get<std::string>(), HasSubstr("580"));
  EXPECT_EQ(row("GPU", "none")["found"], false);
  EXPECT_THAT(row("GPU", "h200", {{"KFORGE_LIBCUDA", "/nowhere"}})["how_to_get"].get<std::string>(), HasSubstr("driver"));
  EXPECT_THAT(row("NVML", "hot")["detail"].get<std::string>(), HasSubstr("thermal slowdown"));
  EXPECT_THAT(row("NVML", "mismatch")["detail"].get<std::string>(), HasSubstr("version mismatch"));
}

TEST_F(Doctor, KnowsWhetherCountersCanBeRead) {
  const std::string restricted = write("restricted", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n"), open = write("open", "RmProfilingAdminOnly: 0\n");
  EXPECT_EQ(row("hardware counters", "h200", {{"KFORGE_NVIDIA_PARAMS", restricted}})["found"], false);
  EXPECT_THAT(row("hardware counters", "h200", {{"KFORGE_NVIDIA_PARAMS", restricted}})["how_to_get"].get<std::string>(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_EQ(row("hardware counters", "h200", {{"KFORGE_NVIDIA_PARAMS", open}})["found"], true);
}

// Tools that may not do their work, or are of another make, leave their rung unknown and the verdict to the emulator's evidence.
TEST_F(Doctor, ToolsThatCannotWorkLeaveTheVerdictToTheRest) {
  const auto rungs = [&] {
    const Answer answer = kforge({"check", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--device", "gpu:0", "--time-seconds", "0.2", "--counters", "--sanitize", "--json"}, "small", {{"PATH", path_with_programs()}});
    EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
    return answer.parsed();
  };
  write("ncu", "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.'\nexit 1\n", true);
  write("compute-sanitizer", "#!/bin/sh\necho '========= Error: the device is not supported'\nexit 1\n", true);
  json verdict = rungs();
  EXPECT_EQ(find(verdict["rungs"], "name", "profile")->at("status"), "unknown");
  EXPECT_THAT(find(verdict["rungs"], "name", "profile")->at("why").get<std::string>(), HasSubstr("may not read the hardware counters"));
  EXPECT_EQ(find(verdict["rungs"], "name", "sanitize")->at("status"), "unknown");
  EXPECT_EQ(find(verdict["contracts"], "id", "compute.issue")->at("status"), "unknown");
  write("ncu", "#!/bin/sh\necho 'a version that prints something else'\n", true);
  verdict = rungs();
  EXPECT_THAT(find(verdict["rungs"], "name", "profile")->at("why").get<std::string>(), HasSubstr("printed no table"));
  EXPECT_EQ(find(verdict["contracts"], "id", "compute.issue")->at("status"), "unknown");
}

TEST_F(Doctor, KnowsProgramsAndLibraries) {
  write("ncu", "#!/bin/sh\necho 'Version 2025.3.1.0'\n", true);
  write("compute-sanitizer", "#!/bin/sh\necho 'NVIDIA (R) Compute Sanitizer 2025.3'\n", true);
  write("python3", "#!/bin/sh\necho 2.11.0\n", true);
  const std::map<std::string, std::string> with = {{"PATH", path_with_programs()}, {"KFORGE_LIBCUBLAS", kFakeDriver}};
  EXPECT_THAT(row("ncu", "h200", with)["detail"].get<std::string>(), HasSubstr("2025.3.1.0"));
  EXPECT_THAT(row("compute-sanitizer", "h200", with)["detail"].get<std::string>(), HasSubstr("2025.3"));
  EXPECT_THAT(row("PyTorch", "h200", with)["detail"].get<std::string>(), HasSubstr("2.11.0"));
  EXPECT_EQ(row("cuBLAS", "h200", with)["found"], true);
  write("python3", "#!/bin/sh\nexit 1\n", true);
  EXPECT_EQ(row("PyTorch", "h200", with)["found"], false);
  EXPECT_EQ(row("cuBLAS", "h200", {{"KFORGE_LIBCUBLAS", "/nowhere"}})["found"], false);
  for (const auto& [name, variable] : {std::pair{"CUPTI", "KFORGE_LIBCUPTI"}, std::pair{"cuDNN", "KFORGE_LIBCUDNN"}}) {
    EXPECT_EQ(row(name, "h200", {{variable, kFakeCupti}})["found"], true) << name;
    const json absent = row(name, "h200", {{variable, "/nowhere"}});
    EXPECT_EQ(absent["found"], false) << name;
    EXPECT_NE(absent["how_to_get"], "") << name;
  }
}

}  // namespace
}  // namespace kforge
