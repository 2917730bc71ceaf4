# Language, warnings and tools that hold for every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Paths relative to the checkout, so that two checkouts share cached objects.
find_program(LEMMA_CCACHE ccache)
mark_as_advanced(LEMMA_CCACHE)
if(LEMMA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${LEMMA_CCACHE})
endif()

add_library(lemma_compile_options INTERFACE)
target_compile_options(lemma_compile_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely inside std::string and std::optional when it inlines deeply.
  target_compile_options(lemma_compile_options INTERFACE -Wno-restrict -Wno-error=maybe-uninitialized
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  # Where sources are compiled as one, it takes classes of a .cpp file for classes of a header.
  target_compile_options(lemma_compile_options INTERFACE $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-subobject-linkage>)
endif()
if(LEMMA_NATIVE)
  target_compile_options(lemma_compile_options INTERFACE -march=native)
endif()
if(LEMMA_CHECKED_STANDARD_LIBRARY)
  target_compile_definitions(lemma_compile_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Headers of the standard library and of third parties that most files include, compiled once. Sources still
# include what they use: cmake/check_edges.py and the test build_headers do not read this list.
set(LEMMA_PRECOMPILED_HEADERS
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <deque> <filesystem> <functional> <limits> <map> <memory>
    <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map> <unordered_set>
    <utility> <variant> <vector>
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
    <fmt/format.h> <fmt/ranges.h> <tl/expected.hpp>)

# lemma_precompile(TARGET NAME [HEADERS...]): TARGET reads the headers from those compiled for NAME, with HEADERS
# beside the usual ones. The first call for NAME makes them.
function(lemma_precompile target name)
  if(NOT TARGET ${name})
    file(WRITE "${PROJECT_BINARY_DIR}/${name}.cpp" "")
    add_library(${name} OBJECT "${PROJECT_BINARY_DIR}/${name}.cpp")
    target_link_libraries(${name} PRIVATE lemma_compile_options fmt::fmt tl::expected absl::flat_hash_map)
    target_precompile_headers(${name} PRIVATE ${LEMMA_PRECOMPILED_HEADERS} ${ARGN})
    get_target_property(type ${target} TYPE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
    if(type STREQUAL "EXECUTABLE")  # g++ refuses headers that were compiled with another of these flags
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIE)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()
