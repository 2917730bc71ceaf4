# Tests: GoogleTest binaries and scripts. Each carries the name of its folder below tests/ as label. What takes
# minutes and is seldom needed has the label `long` too (LONG): scripts/test runs it with --all only. What takes
# seconds, to build as well, has the label `quick` (QUICK, or LEMMA_QUICK_TESTS set for a folder): scripts/test
# --quick builds and runs nothing else. gtest_discover_tests takes no list of labels, so both words are one label.
# COST says about how many seconds a test takes that takes many: ctest begins with those, so that none of them is left
# alone in the end.

find_package(GTest REQUIRED)
include(GoogleTest)

add_custom_target(quick_tests)

# lemma_add_test(ir_graph_test SOURCES graph_test.cpp... [LINKS Lemma::ir ...] [TIMEOUT SECONDS] [COST SECONDS]
#                [SUITES | WHOLE] [LOADS_RULES])
# One ctest entry per TEST, listed when ctest runs; GTEST_SKIP is reported as skipped. SUITES makes one entry of each
# suite, and WHOLE one of the binary, in one process: for tests that share what takes seconds, such as all rules, loaded,
# or all axioms, evaluated; a test that is skipped is not reported there. LOADS_RULES: what the operators mean is known
# from the build, as in the programs, and not computed by each process; rule_language_operator_meaning_test compares.
function(lemma_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SUITES;WHOLE;LOADS_RULES" "TIMEOUT;COST" "SOURCES;LINKS")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lemma_add_test(${name}): bad arguments")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_COST)
    set(arg_COST 0)
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  if(LEMMA_QUICK_TESTS)
    string(APPEND label " quick")
    add_dependencies(quick_tests ${name})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE
    ${arg_LINKS} GTest::gtest GTest::gtest_main lemma_compile_options)
  if(arg_LOADS_RULES)
    target_link_libraries(${name} PRIVATE lemma_built_digests)
  endif()
  lemma_precompile(${name} lemma_precompiled_tests <gtest/gtest.h>)
  target_link_libraries(lemma_precompiled_tests PRIVATE GTest::gtest)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin"
    UNITY_BUILD OFF)  # test files use the same short names
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
    return()
  endif()
  if(arg_SUITES)
    set(entries "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/TestSuites.cmake.in" "${entries}" @ONLY)
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${entries}")
    return()
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}."
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${label}" TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
endfunction()

# lemma_add_script_test(readme COMMAND program arguments... [TIMEOUT SECONDS] [COST SECONDS] [LONG | QUICK]
#                       [LONG_PART])
# The program says with exit code 77 that it could not run here; that is reported as skipped. LONG_PART adds a second,
# long test NAME_long of what has the mark @long in the script (tests/cli/tested_programs.py).
function(lemma_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LONG;QUICK;LONG_PART" "TIMEOUT;COST" "COMMAND")
  if(NOT arg_COMMAND OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lemma_add_script_test(${name}): bad arguments")
  endif()
  # An empty variable before a script would leave its run to the script's mode.
  list(GET arg_COMMAND 0 program)
  if(program MATCHES "\\.py$")
    message(FATAL_ERROR "lemma_add_script_test(${name}): ${program} needs an interpreter before it")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_COST)
    set(arg_COST 0)
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  if(arg_LONG)
    string(APPEND label " long")
  elseif(arg_QUICK)
    string(APPEND label " quick")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  # Results of tests must not depend on timing, nor on what was measured before.
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "LEMMA_TARGET=cpu;LEMMA_PROFILE=:memory:"
    SKIP_RETURN_CODE 77 LABELS "${label}" TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
  if(arg_LONG_PART)
    lemma_add_script_test(${name}_long COMMAND ${arg_COMMAND} --long TIMEOUT 3600 LONG)
  endif()
endfunction()
