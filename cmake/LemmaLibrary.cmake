# lemma_add_library and lemma_add_program: one target per folder, held to cmake/edges.txt.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${PROJECT_SOURCE_DIR}/cmake/edges.txt")

# LEMMA_FOLDERS: the folders in order of dependency. lemma_edges_<folder>: what each may use.
file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/edges.txt" lemma_edge_lines REGEX "^folder ")
set(LEMMA_FOLDERS "")
foreach(line IN LISTS lemma_edge_lines)
  string(REGEX MATCH "^folder +([^ ]+) *:(.*)$" _ "${line}")
  set(folder "${CMAKE_MATCH_1}")
  string(STRIP "${CMAKE_MATCH_2}" allowed)
  string(REGEX REPLACE " +" ";" lemma_edges_${folder} "${allowed}")
  cmake_path(GET folder FILENAME name)
  set(lemma_folder_of_${name} "${folder}")
  if(NOT folder STREQUAL "tests")
    list(APPEND LEMMA_FOLDERS "${folder}")
  endif()
endforeach()

# Stops on a link that the table does not allow, and on one to a folder that makes no library.
function(lemma_check_links folder)
  foreach(link IN LISTS ARGN)
    if(link MATCHES "^Lemma::(.+)$")
      set(used "${lemma_folder_of_${CMAKE_MATCH_1}}")
      if(NOT used)
        message(FATAL_ERROR "${folder} links ${link}, which cmake/edges.txt does not name")
      endif()
      if(NOT used STREQUAL folder AND NOT "*" IN_LIST lemma_edges_${folder}
         AND NOT used IN_LIST lemma_edges_${folder})
        message(FATAL_ERROR "${folder} may not use ${used} (cmake/edges.txt)")
      endif()
      if(NOT TARGET ${link})
        message(FATAL_ERROR "${folder} links ${link}, but ${used} makes no library")
      endif()
    endif()
  endforeach()
endfunction()

function(lemma_check_sorted folder)
  set(sorted ${ARGN})
  list(SORT sorted)
  if(NOT "${sorted}" STREQUAL "${ARGN}")
    message(FATAL_ERROR "${folder}/CMakeLists.txt: SOURCES are not sorted")
  endif()
endfunction()

function(lemma_current_folder name out_folder)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}"
             OUTPUT_VARIABLE folder)
  if(NOT "${lemma_folder_of_${name}}" STREQUAL "${folder}")
    message(FATAL_ERROR "${folder}: cmake/edges.txt does not name this folder as ${name}")
  endif()
  set(${out_folder} "${folder}" PARENT_SCOPE)
endfunction()

# lemma_add_library(NAME ir SOURCES a.cpp... [ALONE a.cpp...] [PUBLIC_LINKS ...] [PRIVATE_LINKS ...])
# Makes the static library lemma_<name>, alias Lemma::<name>. Headers are included from the root of
# the repository ("ir/graph.h"). Where several sources are compiled as one (the preset release), those after ALONE
# are not: their local names occur in other files.
function(lemma_add_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;ALONE;PUBLIC_LINKS;PRIVATE_LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lemma_add_library: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  lemma_current_folder(${arg_NAME} folder)
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${folder}: lemma_add_library without SOURCES")
  endif()
  lemma_check_sorted(${folder} ${arg_SOURCES})
  lemma_check_links(${folder} ${arg_PUBLIC_LINKS} ${arg_PRIVATE_LINKS})

  set(target lemma_${arg_NAME})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(Lemma::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${LEMMA_INSTALL_HEADERS}>")
  target_link_libraries(${target}
    PUBLIC ${arg_PUBLIC_LINKS}
    PRIVATE ${arg_PRIVATE_LINKS} $<BUILD_INTERFACE:lemma_compile_options>)
  lemma_precompile(${target} lemma_precompiled)
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  lemma_install_library(${target})
endfunction()

# lemma_add_program(NAME lemma FOLDER_NAME cli SOURCES main.cpp... [ALONE ...] [PRECOMPILE <header>...] LINKS ...)
# Makes the program build/<preset>/bin/<name> from the sources of the current folder.
function(lemma_add_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;FOLDER_NAME" "SOURCES;ALONE;PRECOMPILE;LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lemma_add_program: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  lemma_current_folder(${arg_FOLDER_NAME} folder)
  lemma_check_sorted(${folder} ${arg_SOURCES})
  lemma_check_links(${folder} ${arg_LINKS})
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LINKS} lemma_compile_options)
  lemma_precompile(${arg_NAME} lemma_precompiled_${arg_FOLDER_NAME} ${arg_PRECOMPILE})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${arg_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  lemma_install_program(${arg_NAME})
endfunction()

# lemma_loads_operators(TARGET): libraries of operators find Lemma's functions in the program (docs/outside_operators.md).
function(lemma_loads_operators target)
  foreach(names IN ITEMS _ZN5lemma* _ZNK5lemma*)
    target_link_options(${target} PRIVATE "LINKER:--export-dynamic-symbol=${names}")
  endforeach()
endfunction()

# lemma_add_operator_library(TARGET SOURCES...): a library of operators as other projects make them with the installed
# package (LemmaConfig.cmake.in), for tests.
function(lemma_add_operator_library target)
  foreach(folder IN ITEMS base ir operators)
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/include/lemma/${folder}" SYMBOLIC)
  endforeach()
  add_library(${target} MODULE ${ARGN})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE
    absl::flat_hash_map absl::hash absl::inlined_vector absl::span fmt::fmt tl::expected lemma_compile_options)
  set_target_properties(${target} PROPERTIES
    PREFIX "" UNITY_BUILD OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/lib")
endfunction()
