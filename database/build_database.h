#pragma once
// From operator sets to a rule database in a folder: what `lemma rules build` does (docs/database.md).

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "database/build.h"
#include "database/enumerate_sets.h"

namespace lemma::database {

/// What a build reads and writes.
struct DatabaseFolders {
  std::filesystem::path rules;         // with the axioms to prove from
  std::filesystem::path hand_written;  // with rules that become part of the database; empty: none
  std::filesystem::path work;          // what a job that was interrupted resumes from
  std::filesystem::path output;        // the new database; after an error see build_database()
  /// Databases whose rules are known: only what is new is written.
  std::vector<std::filesystem::path> over = {};
};

/// A job of build_database().
struct DatabaseOptions {
  std::string name;         // of the files of found rules
  DatabaseFolders folders;  // where rules come from, and where the result goes
  /// Options of the enumeration. The number of threads and cancelled() are those of `build`.
  EnumerationOptions enumeration;
  std::vector<std::filesystem::path> candidates;  // files of them, beside the sets
  /// Options of the build. The hand-written rules are read from the folder above.
  BuildOptions build;
  /// Called on the first rank for an axiom that is not used because it has no proof.
  std::function<void(const std::string& axiom, const std::string& reason)> on_refused_axiom;
  /// Called on the first rank of a resumed job, with the number of known answers.
  std::function<void(std::size_t answers)> on_resumed;
};

/// What a build did, on the first rank.
struct DatabaseReport {
  EnumerationFigures enumeration;  // of the candidates
  Build build;                     // of what became of them
};

/// Enumerates, proves, minimizes and writes the result. With several ranks, all of them call it,
/// and the first one reads and writes files. A job that was interrupted is resumed when the
/// function is called again with the same options.
///
/// On an error the output folder is unchanged, or, if writing failed, cannot be loaded.
Result<DatabaseReport> build_database(const DatabaseOptions& options);

}  // namespace lemma::database
