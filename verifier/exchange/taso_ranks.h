#pragma once
// How many axes the tensors of a TASO rule have.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "verifier/exchange/taso_format.h"

namespace lemma::exchange {

std::optional<std::int64_t> parameter(const TasoOperator& op, TasoKey key);

struct Ranks {
  struct Input {
    std::string group;      // leading axes; no name: there are none
    bool is_empty = false;  // the right side wants that the group has no axes
    std::size_t axes = 0;   // the others
  };
  std::vector<std::int64_t> inputs;  // in order of their first use
  std::map<std::int64_t, Input> of;

  std::size_t axes(std::int64_t input) const { return of.at(input).axes; }
  const std::string& group(std::int64_t input) const { return of.at(input).group; }
  bool is_empty(std::int64_t input) const { return of.at(input).is_empty; }
};

Result<Ranks> infer_ranks(const TasoRule& rule);

}  // namespace lemma::exchange
