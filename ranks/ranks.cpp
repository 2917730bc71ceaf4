#include "ranks/ranks.h"

#include <utility>

#include "ranks/packing.h"

namespace lemma::ranks {

Result<std::vector<std::string>> Ranks::gather(const std::string& bytes) {
  return exchange(std::vector<std::string>(size(), bytes));
}

Result<std::string> Ranks::broadcast(const std::string& bytes) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<std::string> all,
                         exchange(std::vector<std::string>(size(), is_first() ? bytes : "")));
  return std::move(all[0]);
}

Result<std::vector<std::string>> Ranks::divide(
    std::size_t count, const std::function<std::string(std::size_t)>& find) {
  std::vector<std::string> own;
  for (std::size_t i = rank(); i < count; i += size()) own.push_back(find(i));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> all, gather(to_bytes(own)));
  std::vector<std::string> result(count);
  for (std::size_t from = 0; from < size(); ++from) {
    Reader reader(all[from]);
    std::vector<std::string> part = texts_of(reader);
    for (std::size_t i = 0; i < part.size(); ++i) result[from + i * size()] = std::move(part[i]);
  }
  return result;
}

}  // namespace lemma::ranks
