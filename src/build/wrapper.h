// The generated source around a candidate or a reference: it includes the user's file by its path (so that diagnostics and
// line information name that file), asserts that the declared launcher is the one of the task, and adds the trampoline
// `kforge_call`. Its own lines are named kWrapperFile and never reach a report.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"

namespace kforge::build {

inline constexpr std::string_view kWrapperFile = "kforge-interface";
inline constexpr std::string_view kInterfaceMessage = "kforge interface: ";
inline constexpr int kWrapperVersion = 6;   // part of the cache key: raise it when the text or the build changes

// `text` of the file is needed where its path is not plain (evidence/plain_path.h): it then stands in the wrapper, under its plain name.
std::string candidate_wrapper(const std::string& source_path, const Interface& interface, std::string_view text = {});
std::string reference_wrapper(const std::string& source_path, const Interface& interface, std::string_view text = {});

// The source's folder as the compilers are told it: itself, or a link to it in `folder`, where its path is not plain.
Expected<std::string> include_folder(const std::string& source_path, const std::filesystem::path& folder);
// A path as the compilers tell it, as the user knows it: undoes what candidate_wrapper and include_folder do.
std::string user_path(const std::string& told, const std::string& source_path, const std::filesystem::path& folder = {});

// "extern "C" cudaError_t f(const float* x, ...)": for messages.
std::string expected_launcher(const Interface& interface);
std::string expected_reference(const Interface& interface);

// Line (from 1) of the definition of `function` in C++ text, else of its first mention followed by "(", else 0.
int find_function_line(std::string_view text, std::string_view function);

// Sorts the diagnostics of a failed build: those of the wrapper's own lines become statements about the launcher (at its
// line) or about the file's end. Returns "interface" when the launcher alone is at fault, else "compile".
std::string attribute_to_source(std::vector<Diagnostic>& diagnostics, const std::string& source_path, std::string_view source_text,
                                const Interface& interface);

}  // namespace kforge::build
