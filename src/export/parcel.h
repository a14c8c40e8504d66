// What an export is made of, before anything is written: the task, the winners, and the texts of the files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kforge/export.h"
#include "task/task.h"

namespace kforge::exporting {

struct Winner {
  const RunRecord* run = nullptr;
  const TriedCandidate* tried = nullptr;
  std::string file;        // "winner.cu", or "winner_1.cu", ... where there are several
  std::string symbol;      // the launcher's name in the library: the task's own, or with a number behind it
  task::Sizes sizes;       // of the run's first measure size: where it is best
};

struct Parcel {
  task::Task task;
  std::string name;        // an identifier: library, header, namespace
  int sm = 0;
  std::vector<Winner> winners;                 // at least one
  std::optional<std::string> reference;        // C++ text; absent: no test
  std::string no_reference;                    // why
};

// Errors: bad_input.
Expected<Parcel> make_parcel(const std::vector<const RunRecord*>& runs);

// "const float* x, float* y, int rows, int cols, float scale": the launcher's parameters without the stream.
std::string parameters(const task::Task& task);
// "x, y, rows, cols, scale"
std::string arguments(const task::Task& task);
std::string size_type(const task::Task& task);   // "int" or "long long"
std::string include_lines(const task::Task& task);   // headers that the parameters' types need

// Files of the folder by their name.
std::string header_text(const Parcel& parcel);
std::string cpp_header_text(const Parcel& parcel);
std::string dispatch_text(const Parcel& parcel);        // only with several winners
std::string cmake_text(const Parcel& parcel, ExportForm form);
std::string test_text(const Parcel& parcel);            // REQUIRES: a reference
std::vector<task::Sizes> test_sizes(const Parcel& parcel);   // at which it compares; each small enough for the reference on the host
std::string_view test_support_text();                   // kforge_test.h, the same for all
std::string readme_text(const Parcel& parcel, ExportForm form);
std::string licence_text(const Parcel& parcel);

}  // namespace kforge::exporting
