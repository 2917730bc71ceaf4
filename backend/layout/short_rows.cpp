#include "backend/layout/short_rows.h"

#include <algorithm>

#include "backend/lower/copy_definition.h"

namespace lemma::backend {

double share_used(std::int64_t length) {
  std::int64_t lanes = 1;
  while (2 * lanes <= length && lanes < 32) lanes *= 2;
  const std::int64_t blocks = (length + lanes - 1) / lanes;
  // Vectors of fewer than 16 elements leave a part of the registers empty.
  return static_cast<double>(length) / static_cast<double>(blocks * lanes) *
         static_cast<double>(std::min<std::int64_t>(lanes, 16)) / 16;
}

void forget_unread(Computation& computation) {
  const Definition& definition = computation.definition;
  const auto is_reached = reachable_expressions(definition, definition.outputs()[0].value);
  std::vector<bool> is_read(computation.operands.size(), false);
  for (std::size_t i = 0; i < is_reached.size(); ++i)
    if (is_reached[i] && definition.nodes()[i].kind == ExpressionKind::read)
      is_read[definition.nodes()[i].input] = true;
  for (std::size_t i = 0; i < is_read.size(); ++i)
    if (!is_read[i]) {
      computation.operands[i] = no_buffer;
      computation.views[i] = {};
    }
}

}  // namespace lemma::backend
