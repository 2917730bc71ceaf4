// The table of all procedures (declared in ir/procedure.h): the families, joined and sorted.

#include <algorithm>
#include <tuple>

#include "operators/procedures.h"

namespace lemma {
namespace {

std::vector<ProcedureRecord> join_procedures() {
  std::vector<ProcedureRecord> table;
  for (const auto family : {operators::selections(), operators::box_selections(),
                            operators::sequences(), operators::string_functions(),
                            operators::features(), operators::bit_functions(), operators::trees()})
    table.insert(table.end(), family.begin(), family.end());
  std::sort(table.begin(), table.end(), [](const ProcedureRecord& a, const ProcedureRecord& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return table;
}

}  // namespace

std::span<const ProcedureRecord> all_procedures() {
  static const std::vector<ProcedureRecord> table = join_procedures();
  return table;
}

}  // namespace lemma
