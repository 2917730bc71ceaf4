#pragma once
// One model for each device, as one program.
//
// The models are the same but for their weights: the program of one device, which all run, with collectives between. A
// weight is compared with those of the single-device model: it is the whole of one, or a part of it, or a tensor of
// its own. An input has the name of one of the single-device model; how it is placed is told, or seen from its shape.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend_onnx/model.h"
#include "plans/program.h"

namespace lemma::plans {

struct RankModels {
  std::vector<const OnnxModel*> models;  // by rank: the last axis of the mesh is the fastest
  Mesh mesh;
  /// How inputs and outputs are placed, by name, where shapes do not tell.
  std::map<std::string, Placement, std::less<>> placements;
};

/// Errors name the node in which the models differ, a collective that is not understood, and inputs and outputs that do
/// not fit those of the single-device model.
Result<Program> lift(const OnnxModel& single, const RankModels& ranks);

}  // namespace lemma::plans
