#pragma once
// `lemma optimize --replay REPORT`: what an earlier run measured, in place of measuring it again.

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/optimize_model.h"

namespace lemma {

class ReplayedReport {
 public:
  /// A file that `lemma optimize --report` wrote. An error names the file.
  static Result<ReplayedReport> read(const std::string& file);

  /// Takes what the report says of the timing and the costs of a model. An error: it says nothing of it, or
  /// nothing that can be read.
  Result<void> take_measured(const std::string& model, OptimizeOptions& options) const;

 private:
  struct Entry {
    std::string model, timing, costs;  // JSON; costs may be empty
  };
  std::string file_;
  std::vector<Entry> entries_;
};

}  // namespace lemma
