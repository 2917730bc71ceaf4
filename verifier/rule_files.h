#pragma once
// Moving rules between hand-written files without changing layout and comments.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace lemma::verifier {

/// The text of a file of rules, without those named, and these. A rule goes with the comment lines directly above it.
std::pair<std::string, std::string> without_rules(std::string_view contents,
                                                  const std::set<std::string>& names);

/// Moves the rules with these names from the files *.rules of one folder to the ends of files of the
/// same names in the other, which is made if need be. A file that becomes empty is removed. Rules that are not there are no error.
Result<void> move_rules(const std::filesystem::path& from, const std::filesystem::path& to,
                        const std::set<std::string>& names);

}  // namespace lemma::verifier
