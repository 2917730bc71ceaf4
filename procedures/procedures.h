#pragma once
// The families of procedures (procedures/procedure.h), one file each; procedures/all_procedures.cpp joins them into one table.

#include <span>

#include "procedures/procedure.h"

namespace lemma::procedures {

std::span<const ProcedureRecord> selections();        // NonZero, Compress, Unique
std::span<const ProcedureRecord> box_selections();    // NonMaxSuppression
std::span<const ProcedureRecord> sequences();         // sequences and optional values
std::span<const ProcedureRecord> string_functions();  // operators on strings
std::span<const ProcedureRecord> features();       // n-grams, labels and others of classical models
std::span<const ProcedureRecord> bit_functions();  // BitCast of reals, Det
std::span<const ProcedureRecord> trees();          // TreeEnsemble
std::span<const ProcedureRecord> unpoolings();     // MaxUnpool
std::span<const ProcedureRecord> regions();        // RoiAlign
std::span<const ProcedureRecord> mel_weights();    // MelWeightMatrix
std::span<const ProcedureRecord> patterns();       // RegexFullMatch
std::span<const ProcedureRecord> random_draws();   // what is drawn at random

}  // namespace lemma::procedures
