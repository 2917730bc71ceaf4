#include "cli/batch_record.h"

#include <fstream>

#include <fmt/format.h>

#include "ir/sha256.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

/// Of the options, and of the file as far as its size and time tell.
std::string digest_of(const OptimizeRequest& request) {
  std::error_code ignored;
  const auto size = fs::file_size(request.model, ignored);
  const auto time = fs::last_write_time(request.model, ignored).time_since_epoch().count();
  return sha256(fmt::format("{} {} {}", to_json(request), size, time));
}

}  // namespace

BatchRecord::BatchRecord(const fs::path& folder, bool resumes) : file_(folder / ".lemma-optimize") {
  if (!resumes) remove();
  std::ifstream in(file_);
  for (std::string digest, answer; in >> digest && in.get() == ' ' && std::getline(in, answer);)
    answers_[digest] = answer;
}

std::optional<OptimizeAnswer> BatchRecord::answer_to(const OptimizeRequest& request) const {
  if (answers_.empty() || !fs::exists(request.output)) return std::nullopt;
  const auto found = answers_.find(digest_of(request));
  if (found == answers_.end()) return std::nullopt;
  auto answer = parse_answer(found->second);
  return answer ? std::optional(std::move(*answer)) : std::nullopt;
}

void BatchRecord::add(const OptimizeRequest& request, const OptimizeAnswer& answer) {
  std::ofstream(file_, std::ios::app) << digest_of(request) + " " + to_json(answer) + "\n";
}

void BatchRecord::remove() {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

}  // namespace lemma
