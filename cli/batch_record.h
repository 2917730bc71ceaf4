#pragma once
// What a batch of models has done so far, so that a run that was ended can go on: a file in the output
// folder, a line for each model.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cli/optimize_request.h"

namespace lemma {

class BatchRecord {
 public:
  /// Reads what an earlier run has left there, or begins anew.
  BatchRecord(const std::filesystem::path& folder, bool resumes);

  /// The answer to the same request for the same file, if its output is still there.
  std::optional<OptimizeAnswer> answer_to(const OptimizeRequest& request) const;
  /// A record that cannot be written makes a later run do the work again.
  void add(const OptimizeRequest& request, const OptimizeAnswer& answer);
  /// When nothing is left to do.
  void remove();

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> answers_;  // lines, by digest of the request
};

}  // namespace lemma
