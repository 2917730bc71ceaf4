#pragma once
// The files of emitted programs that hardly depend on the program, as text in this library.

#include <string_view>

namespace lemma::backend::parts {

extern const std::string_view scalar_operations;  // lowering/scalar_operations.h
extern const std::string_view half_precision;     // base/half_precision.h
extern const std::string_view half_types;         // parts/half_types.h
extern const std::string_view vectors;            // parts/vectors.h
extern const std::string_view field;              // lowering/field.h
extern const std::string_view fourier;            // lowering/fourier.h
extern const std::string_view rank_selection;     // lowering/rank_selection.h
extern const std::string_view residues;           // parts/residues.h
extern const std::string_view weight_checksum;    // parts/weight_checksum.h
extern const std::string_view fast_functions;     // parts/fast_functions.h
extern const std::string_view flow;               // parts/flow.h
// Those of parts/, where "{{word}}" stands for what the program has.
extern const std::string_view run_time, interface_header, interface_source, call_checks, comparison,
    tensors, selfcheck, operator_times, cmake, readme, symbols, program_names, library_readme,
    python_program, flow_run, flow_functions, flow_declarations;
extern const std::string_view python_library;  // python/lemma/_library.py

}  // namespace lemma::backend::parts
