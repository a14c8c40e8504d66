// Arguments of the commands that show and deliver: knowledge, report, explain, export, ci; and the commands.
#pragma once

#include <string>
#include <vector>

#include "kforge/export.h"

namespace kforge::cli {

struct KnowledgeArguments {
  std::string verb;          // search, show, add
  std::vector<std::string> words;   // of the search; the id; the file
  std::vector<std::string> context; // folders that are searched in place of the rules
  std::size_t count = 8;            // passages of them, or cases, at most
  std::string store;                // of cases
  bool json = false;
};

struct ReportArguments {
  std::string run;           // id, prefix, "last"; a file of JSON; "-" for stdin
  std::string format = "text", output, store;
  bool all = false;
};

struct ExplainArguments {
  std::string run, store;
};

struct ExportArguments {
  std::vector<std::string> runs;
  ExportOptions options;
  std::string store;
  bool json = false;
};

struct DatasetArguments {
  std::vector<std::string> runs;     // empty: all of the store
  std::string output = "-", store;
  bool preferences = false;
};

struct CiArguments {
  std::string folder;
  std::vector<std::string> record;   // task and candidate; empty: judge the folder
  std::string name, gpu, junit;      // of the record; file of the JUnit report
  double slower = 0.05;
  bool only_correctness = false, json = false;
};

int run(const KnowledgeArguments& arguments);
int run(const ReportArguments& arguments);
int run(const ExplainArguments& arguments);
int run(const ExportArguments& arguments);
int run(const CiArguments& arguments);

}  // namespace kforge::cli
