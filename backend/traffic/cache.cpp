#include "backend/traffic/cache.h"

namespace lemma::backend {

void Cache::access(std::uint64_t line, bool is_write, bool is_kept_back) {
  const auto place = places_.find(line);
  if (place != places_.end()) {
    place->second->is_written = place->second->is_written || is_write;
    lines_.splice(lines_.begin(), lines_, place->second);
    return;
  }
  // A line that is written first is written whole: nothing has to be read for it.
  if (!is_write && (!is_kept_back || dropped_.contains(line))) ++lines_read_;
  lines_.push_front({line, is_write, is_kept_back});
  places_[line] = lines_.begin();
  if (lines_.size() <= most_lines_) return;
  const Line& last = lines_.back();
  if (last.is_written) {
    ++lines_written_;
    dropped_[last.number] = true;
  }
  places_.erase(last.number);
  lines_.pop_back();
}

void Cache::empty() {
  for (const Line& line : lines_)
    if (line.is_written && !line.is_kept_back) ++lines_written_;
  lines_.clear();
  places_.clear();
  dropped_.clear();
}

}  // namespace lemma::backend
