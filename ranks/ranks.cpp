#include "ranks/ranks.h"

#include <utility>

namespace lemma::ranks {

Result<std::vector<std::string>> Ranks::gather(const std::string& bytes) {
  return exchange(std::vector<std::string>(size(), bytes));
}

Result<std::string> Ranks::broadcast(const std::string& bytes) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<std::string> all,
                         exchange(std::vector<std::string>(size(), is_first() ? bytes : "")));
  return std::move(all[0]);
}

}  // namespace lemma::ranks
