# Run as a script (ROOT, OUTPUT): writes a C++ source with a digest of the sources that decide which code is emitted.

# The files, sorted, by their names below the root of the repository.
function(generator_sources root out)
  set(patterns "")
  foreach(folder IN ITEMS lowering backend backend/blocks backend/compile backend/emit
                          backend/emit/parts backend_cuda/emit_cuda backend_cuda/emit_cuda/parts
                          backend/fuse backend/layout backend/lower backend/memory
                          backend/schedule)
    list(APPEND patterns "${root}/${folder}/*.cpp" "${root}/${folder}/*.h" "${root}/${folder}/*.in")
    # A folder changes when a file comes or goes. CONFIGURE_DEPENDS of file(GLOB) would have every dry run of ninja
    # say that there is work to do.
    if(NOT CMAKE_SCRIPT_MODE_FILE)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${root}/${folder}")
    endif()
  endforeach()
  list(APPEND patterns "${root}/operators/own_kernels.cpp")
  file(GLOB files ${patterns})
  list(SORT files)
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  generator_sources("${ROOT}" files)
  set(digests "")
  foreach(file IN LISTS files)
    file(SHA256 "${file}" digest)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${ROOT}" OUTPUT_VARIABLE name)
    string(APPEND digests "${name} ${digest}\n")
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING "${digest}" 0 12 digest)
  file(WRITE "${OUTPUT}"
       "#include \"backend/execute/code_digest.h\"\n\nnamespace lemma::backend {\n\n"
       "const std::string_view code_digest = \"${digest}\";\n\n}  // namespace lemma::backend\n")
endif()
