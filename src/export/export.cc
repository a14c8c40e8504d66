// Writes the folder. Every file is written whole or not at all; a folder in use is left as it is.
#include "kforge/export.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "export/commands.h"
#include "export/parcel.h"
#include "kforge/report.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using exporting::Parcel;

std::vector<std::pair<std::string, std::string>> files_of(const Parcel& parcel, ExportForm form) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const exporting::Winner& winner : parcel.winners) files.emplace_back(winner.file, winner.tried->candidate.source);
  files.emplace_back(parcel.name + ".h", header_text(parcel));
  if (form == ExportForm::cpp) files.emplace_back(parcel.name + ".hpp", cpp_header_text(parcel));
  if (parcel.winners.size() > 1) files.emplace_back("dispatch.cpp", dispatch_text(parcel));
  if (parcel.reference) {
    files.emplace_back("reference.cpp", *parcel.reference);
    files.emplace_back("test.cpp", test_text(parcel));
    files.emplace_back("kforge_test.h", std::string(exporting::test_support_text()));
  }
  files.emplace_back("CMakeLists.txt", cmake_text(parcel, form));
  for (std::size_t i = 0; i < parcel.winners.size(); ++i)
    files.emplace_back(parcel.winners.size() > 1 ? fmt::format("verdict_{}.json", i + 1) : "verdict.json", to_json(parcel.winners[i].tried->verdict));
  files.emplace_back("README.md", readme_text(parcel, form));
  files.emplace_back("LICENCE.md", licence_text(parcel));
  return files;
}

Expected<void> prepare(const fs::path& folder, bool overwrite) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored)) return fail(ErrorCode::bad_input, "a file has the name of the folder", {folder.string(), 0, 0}, "-o names another folder");
  if (fs::is_directory(folder, ignored) && !fs::is_empty(folder, ignored) && !overwrite)
    return fail(ErrorCode::bad_input, "the folder is not empty", {folder.string(), 0, 0}, "-o names another folder; --force writes over what is there");
  return make_directories(folder);
}

}  // namespace

Expected<Exported> export_runs(const std::vector<RunRecord>& runs, const ExportOptions& options) {
  std::vector<const RunRecord*> all;
  for (const RunRecord& run : runs) all.push_back(&run);
  const auto parcel = exporting::make_parcel(all);
  if (!parcel) return Unexpected(parcel.error());
  const fs::path folder = options.folder.empty() ? fs::path(parcel->name) : fs::path(options.folder);
  if (auto ready = prepare(folder, options.overwrite); !ready) return Unexpected(ready.error());
  Exported done;
  done.folder = folder.string();
  done.has_test = parcel->reference.has_value();
  for (const auto& [file, text] : files_of(*parcel, options.form)) {
    if (auto written = write_file_atomic(folder / file, text); !written) return Unexpected(written.error());
    done.files.push_back(file);
  }
  exporting::add_commands(done);
  return done;
}

Expected<Exported> export_run(const RunRecord& run, const ExportOptions& options) { return export_runs({run}, options); }

}  // namespace kforge
