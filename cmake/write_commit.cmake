# Writes LEMMA_HEADER, which names the commit that the checkout LEMMA_SOURCE is at; none where git does not say. A header
# that says the same is left alone.

execute_process(COMMAND git rev-parse --short=12 HEAD
  WORKING_DIRECTORY "${LEMMA_SOURCE}" OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
set(content "#pragma once\n#include <string_view>\nnamespace lemma {\n\
inline constexpr std::string_view built_from_commit = \"${commit}\";\n}  // namespace lemma\n")
set(before "")
if(EXISTS "${LEMMA_HEADER}")
  file(READ "${LEMMA_HEADER}" before)
endif()
if(NOT before STREQUAL content)
  file(WRITE "${LEMMA_HEADER}" "${content}")
endif()
