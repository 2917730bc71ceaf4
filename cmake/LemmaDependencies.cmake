# Third-party libraries. LemmaConfig.cmake.in repeats the list for users of the installed package.

find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Z3 REQUIRED)

# Programs that exact extraction asks for proofs when it runs (docs/extraction.md); it works without.
foreach(program IN ITEMS clasp cbc)
  string(TOUPPER "LEMMA_${program}_PROGRAM" program_variable)
  find_program(${program_variable} ${program})
  mark_as_advanced(${program_variable})
  if(NOT ${program_variable})
    message(STATUS "${program} not found: lemma extract will prove fewer optima on hard e-graphs")
  endif()
endforeach()
