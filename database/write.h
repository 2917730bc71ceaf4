#pragma once
// A built database as files: a folder that loads like rules/.
//
//   axioms/, axioms.rounding, axioms.proofs   copies of what the proofs start from
//   substitutions/THEME_NAME.rules             what was found, by theme: the basis, and derived rules that are kept
//   substitutions/*.rules                     copies of the rules written by hand
//   substitutions/*.certificates              beside each file of rules the certificates of these
//   one_proof/, one_proof.proofs               rules with one proof only: not used, with the reason
//   substitutions.derived                     a line for each: NAME from NAME... : why it is kept
//   substitutions.proofs                      a record for each rule
//   NAME.candidates                           a JSON line for each candidate: what became of it
//   NAME.report                               the totals
//
// The contents are the same for the same build; nothing in them speaks of time or machine.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "database/build.h"

namespace lemma::database {

struct DatabaseSources {
  std::filesystem::path axioms;  // folder that the axioms were read from
  /// Files that the rules written by hand were read from. Those of a folder one_proof stay in one.
  std::vector<std::filesystem::path> hand_written;
  std::vector<AxiomRecord> axiom_records;
};

/// All files change together (outputs/folder_update.h). The folder may be one of those of the sources.
Result<void> write_database(const std::filesystem::path& folder, const std::string& name,
                            const Build& build, const DatabaseSources& sources);

/// An error: the folder holds rules that are neither of this database nor among the sources. Their certificates and
/// records would be lost.
Result<void> check_output(const std::filesystem::path& output, const std::string& name,
                          const std::vector<std::filesystem::path>& hand_written);

/// Whether a file with this stem is one that a build of this name writes, in substitutions/ or one_proof/.
bool is_found_file(std::string_view stem, const std::string& name);

/// The lines of substitutions.derived, in the order of the rules.
std::string derived_lines(const Build& build, std::span<const Substitution> order);

/// "NAME from A, B: why"
struct DerivedMark {
  std::string rule;
  std::vector<std::string> from;
  std::string reason;
};
Result<std::vector<DerivedMark>> parse_derived_lines(std::string_view text, std::string_view file);

}  // namespace lemma::database
