# Copies the shared libraries that LEMMA_PROGRAM_FILES need into LEMMA_BUNDLE_FOLDER, each under the name that is
# asked for (a wheel holds no links). The C library stays that of the machine.

cmake_minimum_required(VERSION 3.25)
if(NOT CMAKE_OBJDUMP)
  unset(CMAKE_OBJDUMP)
endif()

file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${LEMMA_PROGRAM_FILES}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|util)\\.so")
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()

file(MAKE_DIRECTORY "${LEMMA_BUNDLE_FOLDER}")
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" source)
  file(COPY_FILE "${source}" "${LEMMA_BUNDLE_FOLDER}/${name}" ONLY_IF_DIFFERENT)
endforeach()
