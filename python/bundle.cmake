# Copies the shared libraries that LEMMA_PROGRAM_FILES need into LEMMA_BUNDLE_FOLDER, each under the name that is
# asked for (a wheel holds no links). The C library stays that of the machine. The licences of these libraries, and of those
# that are compiled into the programs, stand in licenses/, a file for each package of Debian; licenses/libraries says which library
# is of which package.

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

set(LICENSES "${LEMMA_BUNDLE_FOLDER}/licenses")
find_program(DPKG_QUERY dpkg-query)

# The package that a file came with; empty where that is not known. Packages may know a file below /lib that is below
# /usr/lib now.
function(find_package_of file result)
  set(${result} "" PARENT_SCOPE)
  if(NOT DPKG_QUERY)
    return()
  endif()
  string(REGEX REPLACE "^/usr" "" former "${file}")
  foreach(path IN ITEMS "${file}" "${former}")
    execute_process(COMMAND "${DPKG_QUERY}" --search "${path}"
      OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND answer MATCHES "^([^:]+):")
      set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# With the licences that it refers to by their place on the machine.
function(copy_license package)
  set(text "/usr/share/doc/${package}/copyright")
  if(NOT EXISTS "${text}")
    message(WARNING "the licence of '${package}' is not found")
    return()
  endif()
  file(READ "${text}" content)
  file(WRITE "${LICENSES}/${package}.txt" "${content}")
  string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]" references "${content}")
  list(REMOVE_DUPLICATES references)
  foreach(reference IN LISTS references)
    if(EXISTS "${reference}")
      cmake_path(GET reference FILENAME name)
      file(READ "${reference}" content)
      file(WRITE "${LICENSES}/common-licenses/${name}" "${content}")
    endif()
  endforeach()
endfunction()

file(MAKE_DIRECTORY "${LEMMA_BUNDLE_FOLDER}")
set(origins "")
set(packages libcli11-dev libexpected-dev nlohmann-json3-dev)  # headers alone
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" source)
  file(COPY_FILE "${source}" "${LEMMA_BUNDLE_FOLDER}/${name}" ONLY_IF_DIFFERENT)
  find_package_of("${source}" package)
  if(package)
    list(APPEND packages "${package}")
    string(APPEND origins "${name} ${package}\n")
  else()
    message(WARNING "the licence of '${name}' is not found")
  endif()
endforeach()
list(REMOVE_DUPLICATES packages)
file(WRITE "${LICENSES}/libraries" "${origins}")
foreach(package IN LISTS packages)
  copy_license("${package}")
endforeach()
