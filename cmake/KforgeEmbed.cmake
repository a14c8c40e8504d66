# kforge_embed_texts(TARGET ROOT FILES... ): the texts of data/ that a room needs, embedded, so that one binary works wherever it is copied.
function(kforge_embed_texts target)
  cmake_parse_arguments(ARG "" "NAMESPACE;FUNCTION;HEADER;ROOT" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.gen.cc)
  set(paths ${ARG_FILES})
  list(TRANSFORM paths PREPEND ${ARG_ROOT}/)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARG_FILES}" -DROOT=${ARG_ROOT} -DOUTPUT=${output} -DNAMESPACE=${ARG_NAMESPACE} -DFUNCTION=${ARG_FUNCTION} -DHEADER=${ARG_HEADER}
            -P ${CMAKE_SOURCE_DIR}/cmake/EmbedTexts.cmake
    DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/EmbedTexts.cmake
    COMMENT "Embedding the texts of ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
