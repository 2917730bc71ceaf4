#include "operators/elementwise.h"

#include <fmt/format.h>

namespace lemma::operators {

Result<ImportedCall> import_early_broadcast(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() != 2 || !call.inputs[0].type.shape || !call.inputs[1].type.shape)
    return unsupported("operands of unknown rank");
  const Shape &a = *call.inputs[0].type.shape, &b = *call.inputs[1].type.shape;
  const Attributes& given = call.attributes;
  if (!given.has("broadcast") || given.integer("broadcast") == 0) {
    if (a == b) return imported;
    return unsupported("operands of different shapes");
  }
  if (element_count(b).is(1) && b.size() <= a.size()) return imported;
  if (b.size() > a.size()) return unsupported("the second operand has more axes");
  const auto last = static_cast<std::int64_t>(a.size() - b.size());
  std::int64_t axis = given.has("axis") ? given.integer("axis") : last;
  if (axis < 0) axis += static_cast<std::int64_t>(a.size());
  if (axis != last) return unsupported("the second operand stands at inner axes");
  return imported;
}

Result<ExportedCall> export_early_broadcast(const Instance& in, int opset, ExportedCall exported) {
  const Shape &a = in.shape(0), &b = in.shape(1);
  if (a == b) return exported;
  const auto both = broadcast(a, b);
  if (!both || *both != a)
    return unsupported(
        fmt::format("operator set {} cannot broadcast {} and {}", opset, text(a), text(b)));
  exported.attributes.set("broadcast", std::int64_t{1});
  return exported;
}

}  // namespace lemma::operators
