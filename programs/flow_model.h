#pragma once
// A model with If, Loop or Scan as segments, which are graphs without these, and the control flow between them.

#include <cstdint>
#include <vector>

#include "backend/flow/flow_blocks.h"
#include "base/result.h"
#include "frontend_onnx/model.h"
#include "ir/graph.h"

namespace lemma {

struct FlowModel {
  std::vector<Graph> segments;
  backend::FlowBlocks blocks;
};

/// Whether a node that the outputs need is an If, Loop or Scan that only a run decides.
bool has_control_flow(const Graph& graph);

/// Sizes must be fixed, those of what loops hand from step to step, too. `most_rows`: the rows that there is room for where a
/// loop makes as many as it takes steps, and only a run decides how many these are. Errors name the node.
Result<FlowModel> flow_model(const OnnxModel& model, std::int64_t most_rows);

}  // namespace lemma
