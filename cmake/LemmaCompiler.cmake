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
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LEMMA_CCACHE})
endif()

add_library(lemma_compile_options INTERFACE)
target_compile_options(lemma_compile_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely inside std::string and std::optional when it inlines deeply.
  target_compile_options(lemma_compile_options INTERFACE -Wno-restrict -Wno-error=maybe-uninitialized
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread)
endif()
if(LEMMA_NATIVE)
  target_compile_options(lemma_compile_options INTERFACE -march=native)
endif()
if(LEMMA_CHECKED_STANDARD_LIBRARY)
  target_compile_definitions(lemma_compile_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
