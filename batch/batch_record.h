#pragma once
// What a batch of models has done so far, so that a run that was ended can go on. Each run keeps a journal of its own in
// the output folder, which it holds locked; a journal that is not locked is of a run that has ended. An entry is
// believed only as far as its digests are those of what is there.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "batch/optimize_request.h"
#include "system/journal.h"

namespace lemma {

class BatchRecord {
 public:
  /// Begins the journal of this run in an existing folder. `resumes`: also reads those of other runs. Without a journal,
  /// which a full disk may be the reason for, a later run does the work again.
  BatchRecord(std::filesystem::path folder, bool resumes);

  /// The answer to the same request, if everything that it depends on is the same and what was written is still there.
  /// `why_not`: if another run has answered a request for this output, and that answer does not hold any more.
  std::optional<OptimizeAnswer> answer_to(const OptimizeRequest& request, std::string& why_not);
  void add(const OptimizeRequest& request, const OptimizeAnswer& answer);

  /// When nothing is left to do: removes this run's journal, and those of ended runs that were for these outputs only.
  void finish(const std::vector<OptimizeRequest>& requests);

 private:
  /// What an answer depends on, by its name in messages, but for the model.
  using Conditions = std::map<std::string, std::string>;
  Conditions conditions_of(const OptimizeRequest& request);
  const std::string& digest_of_folder(const std::string& folder);
  std::string digest_of_folders(const std::vector<std::string>& folders);
  const std::string& digest_of_file(const std::string& file);

  std::filesystem::path folder_, file_;
  Journal journal_;
  std::multimap<std::string, std::string> entries_;  // of other runs, by the name of the output
  std::map<std::string, std::string> digests_;       // of folders and files, by their paths
};

}  // namespace lemma
