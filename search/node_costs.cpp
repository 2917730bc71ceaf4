#include "search/node_costs.h"

#include <cmath>
#include <limits>
#include <memory>

namespace lemma {

namespace {

constexpr double node_epsilon = 1e-11;  // far below any real cost

double seconds_of(const RooflineModel& model, const EGraph& egraph, ENodeId id) {
  const ENode& node = egraph.node(id);
  const std::vector<TensorType> inputs = egraph.input_types(id);
  const Instance instance{inputs, egraph.attributes(node), node.output_count};
  return model.seconds(record(node.op), instance, egraph.types(id.founded()));
}

}  // namespace

NodeCost node_costs(const RooflineModel& model) {
  const auto known = std::make_shared<std::vector<double>>();  // by form; NaN: not asked for yet
  return [&model, known](const EGraph& egraph, ENodeId id) {
    const ENode& node = egraph.node(id);
    switch (node.kind) {
      case ENodeKind::input:
      case ENodeKind::constant:
      case ENodeKind::projection: return 0.0;
      case ENodeKind::opaque: return model.opaque_seconds();
      case ENodeKind::operation: break;
    }
    if (egraph.weight_only(id)) return node_epsilon;
    const std::uint32_t form = egraph.form(id).v;
    if (form >= known->size())
      known->resize(egraph.form_count(), std::numeric_limits<double>::quiet_NaN());
    double& cost = (*known)[form];
    if (std::isnan(cost)) cost = node_epsilon + seconds_of(model, egraph, id);
    return cost;
  };
}

}  // namespace lemma
