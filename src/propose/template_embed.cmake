# Writes OUTPUT, a C++ file that holds each file of FILES (a list, relative to ROOT) as strings beside its path. Raw strings are limited to
# 64 KiB; a file here has a quarter of that at most.
set(text "// Written by template_embed.cmake from data/kernels; edit the templates, not this file.\n#include \"propose/template.h\"\n\n")
string(APPEND text "namespace kforge::propose {\nnamespace {\nconstexpr EmbeddedFile kFiles[] = {\n")
foreach(path ${FILES})
  file(READ ${ROOT}/${path} content)
  string(FIND "${content}" ")kforge\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} holds the end mark of the raw string")
  endif()
  string(APPEND text "    {\"${path}\", R\"kforge(${content})kforge\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nstd::span<const EmbeddedFile> embedded_kernels() { return kFiles; }\n\n}  // namespace kforge::propose\n")
file(WRITE ${OUTPUT} "${text}")
