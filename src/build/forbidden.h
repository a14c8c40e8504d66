// Symbols that a candidate's object must not offer: whoever is loaded after it, or looks a name up in it, would get the
// candidate's version of a CUDA, C library or worker function (contracts.md, "interface").
#pragma once

#include <string>
#include <vector>

#include "build/elf.h"

namespace kforge::build {

bool is_forbidden_symbol(const std::string& name);
std::vector<std::string> forbidden_symbols(const ElfFile& object, const std::string& launcher);

// Functions that the object asks for and that reach past a launcher's own work: other functions by their name, the process's memory map, files, descriptors,
// processes, signals, system calls; and memory that is both written and run. "mprotect (changes what memory may be used for)". System calls by an instruction of the candidate's own are the sandbox's
// to refuse: its two bytes stand in honest code, too, as parts of addresses.
std::vector<std::string> forbidden_imports(const ElfFile& object);

// Whether the object asks for a function that starts a thread: one that does not has no threads, whatever others its process has.
bool starts_threads(const ElfFile& object);

}  // namespace kforge::build
