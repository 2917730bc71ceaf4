#pragma once
// From operator sets to a rule database in a folder: what `lemma rules build` does (docs/database.md).

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "database/build.h"
#include "database/enumerate_sets.h"

namespace lemma::database {

struct DatabaseFolders {
  std::filesystem::path rules;         // with the axioms to prove from
  std::filesystem::path hand_written;  // with rules that become part of the database; empty: none
  std::filesystem::path work;          // what a job that was interrupted resumes from
  std::filesystem::path output;
};

struct DatabaseOptions {
  std::string name;  // of the files of found rules
  DatabaseFolders folders;
  /// Its number of threads and cancelled() are those of `build`.
  EnumerationOptions enumeration;
  std::vector<std::filesystem::path> candidates;  // files of them, beside the sets
  /// Its rules written by hand are read from their folder.
  BuildOptions build;
  /// On the first rank: an axiom without a proof is not used.
  std::function<void(const std::string& axiom, const std::string& reason)> on_refused_axiom;
  /// On the first rank: so many answers are known from an earlier run.
  std::function<void(std::size_t answers)> on_resumed;
};

struct DatabaseReport {
  EnumerationFigures enumeration;
  Build build;
};

/// Enumerates, proves and minimizes, and writes the result. With several ranks, all of them call it and the
/// first one reads and writes. A job that was ended anywhere, or whose cancelled() said so, resumes
/// when it is called again with the same options.
///
/// An error: the output folder is as it was, or, if writing failed, does not load.
Result<DatabaseReport> build_database(const DatabaseOptions& options);

}  // namespace lemma::database
