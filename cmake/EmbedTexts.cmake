# Writes OUTPUT, a C++ file that defines NAMESPACE::FUNCTION (declared in HEADER): each file of FILES (a list, relative to
# ROOT) with its content. The standard promises 64 KiB for a raw string; GCC takes any length.
set(text "// Written by EmbedTexts.cmake; edit the files, not this one.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\nconstexpr EmbeddedText kTexts[] = {\n")
foreach(path ${FILES})
  file(READ ${ROOT}/${path} content)
  string(FIND "${content}" ")kforge\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} holds the end mark of the raw string")
  endif()
  string(APPEND text "    {\"${path}\", R\"kforge(${content})kforge\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nstd::span<const EmbeddedText> ${FUNCTION}() { return kTexts; }\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
