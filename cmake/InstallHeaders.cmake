# cmake -DSOURCE=... -DDESTINATION=... -DVERSION_HEADER=... -P InstallHeaders.cmake
# Writes the public headers and all that they include to DESTINATION/lemma/. Within the repository headers include each other
# as "ir/graph.h"; where they are installed, as "lemma/ir/graph.h", so that another project may have an ir/graph.h
# of its own. A header that has not changed keeps its time.

cmake_minimum_required(VERSION 3.25)

file(STRINGS "${SOURCE}/cmake/public_headers.txt" open REGEX "^[a-z]")
set(headers "")
while(open)
  list(POP_FRONT open header)
  if(header IN_LIST headers)
    continue()
  endif()
  if(NOT EXISTS "${SOURCE}/${header}")
    message(FATAL_ERROR "cmake/public_headers.txt: there is no ${header}")
  endif()
  list(APPEND headers "${header}")
  file(STRINGS "${SOURCE}/${header}" lines REGEX "^#include \"[^\"]+\"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    list(APPEND open "${included}")
  endforeach()
endwhile()

foreach(header IN LISTS headers)
  file(READ "${SOURCE}/${header}" text)
  string(REGEX REPLACE "(^|\n)#include \"" "\\1#include \"lemma/" text "${text}")
  file(CONFIGURE OUTPUT "${DESTINATION}/lemma/${header}" CONTENT "@text@" @ONLY)
endforeach()
file(COPY_FILE "${VERSION_HEADER}" "${DESTINATION}/lemma/version.h" ONLY_IF_DIFFERENT)
list(LENGTH headers count)
message(STATUS "Headers: ${count} in ${DESTINATION}/lemma")
