#pragma once
// Candidates of operator sets. They are kept in a folder, from which a later run of the same job
// reads them.

#include <filesystem>
#include <functional>
#include <vector>

#include "base/result.h"
#include "generator/generate.h"
#include "ranks/ranks.h"
#include "rule_language/substitution.h"

namespace lemma::database {

/// What an enumeration has covered. The number of graphs may exceed 64 bits.
struct EnumerationFigures {
  double graphs = 0;
  std::uint64_t classes = 0;
};

/// Enumerates the set of a file and writes its candidates to another.
/// All ranks of the options call it; the first one writes, and has the figures.
using EnumerateSet = std::function<Result<EnumerationFigures>(
    const std::filesystem::path& set, const std::filesystem::path& candidates,
    const generator::GenerateOptions& options)>;

/// Does this in the calling process, or in those of the options' ranks.
Result<EnumerationFigures> enumerate_set(const std::filesystem::path& set,
                                         const std::filesystem::path& candidates,
                                         const generator::GenerateOptions& options);

struct EnumerationOptions {
  std::vector<std::filesystem::path> sets;
  /// The job sets its work folder, threads, ranks and cancelled().
  generator::GenerateOptions generation;
  /// A program may replace it by a function that uses a child process, whose memory is released at
  /// its end.
  EnumerateSet enumerate = enumerate_set;
};

struct EnumeratedSets {
  std::vector<Substitution> candidates;
  EnumerationFigures figures;  // of all sets, on the first rank
};

/// A set that was enumerated before is read from `work`, as long as its text and the limit of operators
/// are the same. All ranks get the candidates.
Result<EnumeratedSets> enumerate_sets(const EnumerationOptions& options,
                                      const std::filesystem::path& work, ranks::Ranks& ranks);

/// The set of a file that the first rank reads.
Result<generator::OperatorSet> operator_set_of_first_rank(const std::filesystem::path& file,
                                                          ranks::Ranks& ranks);
/// The rules in a file that the first rank reads.
Result<std::vector<Substitution>> read_on_first_rank(const std::filesystem::path& file,
                                                     ranks::Ranks& ranks);

}  // namespace lemma::database
