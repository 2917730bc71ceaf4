#pragma once
// The families of procedures (ir/procedure.h), one file each; operators/all_procedures.cpp joins them into one table.

#include <span>

#include "ir/procedure.h"

namespace lemma::operators {

std::span<const ProcedureRecord> selections();        // NonZero, Compress, Unique
std::span<const ProcedureRecord> box_selections();    // NonMaxSuppression
std::span<const ProcedureRecord> sequences();         // sequences and optional values
std::span<const ProcedureRecord> string_functions();  // operators on strings
std::span<const ProcedureRecord> features();       // n-grams, labels and others of classical models
std::span<const ProcedureRecord> bit_functions();  // BitCast of reals, Det
std::span<const ProcedureRecord> trees();          // TreeEnsemble

}  // namespace lemma::operators
