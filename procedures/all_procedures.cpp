// The table of all procedures (declared in procedures/procedure.h): the families, joined and sorted.

#include <algorithm>
#include <tuple>

#include "procedures/procedures.h"

namespace lemma {
namespace {

std::vector<ProcedureRecord> join_procedures() {
  std::vector<ProcedureRecord> table;
  for (const auto family :
       {procedures::selections(), procedures::box_selections(), procedures::sequences(),
        procedures::string_functions(), procedures::features(), procedures::bit_functions(),
        procedures::trees(), procedures::unpoolings(), procedures::regions(),
        procedures::mel_weights(), procedures::patterns(), procedures::random_draws()})
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
