#pragma once
// Plans in the form that ONNX has for them: a model whose nodes have sharding specifications for a configuration of devices
// (docs/plans.md, "ONNX's sharding specifications").
//
// A specification says where the parts of a node's inputs are when it reads them, and where those of its outputs are when it
// has made them. What has to be exchanged for that is not in the model: it follows.

#include <string>
#include <variant>

#include "base/result.h"
#include "frontend_onnx/model.h"
#include "plans/assignment/assignment.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/partition/partition.h"
#include "plans/program.h"

namespace lemma::plans {

/// Whether a model has configurations of devices.
bool is_sharded(const OnnxModel& model);

/// How the model's own graph is computed on the devices: all of them have parts of each operator, or each operator is on one.
using ShardedPlan = std::variant<PlanChoice, Assignment>;

/// The plan of the configuration of this name; of the only one, if it is empty. Nothing is proved of it: a node whose operands
/// are placed so that its copies do not compute it gives what its specification says. Errors name the node and the tensor:
/// specifications that do not fit the tensor, the devices, or what the node can read.
Result<ShardedPlan> sharded_plan(const OnnxModel& model, const std::string& configuration);

/// The program of another model's graph that is meant to equal the single-device one. Inputs are those of this name, and
/// weights those of the same contents; what is no weight of the single-device graph stands in the program as it is.
Result<Program> on_single(const Program& program, const Graph& own, const Graph& single);
/// The same; all weights have to be in the single-device graph.
Result<RankedProgram> on_single(RankedProgram program, const Graph& own, const Graph& single);

/// The model with the specifications of a plan, for a configuration of this name. Errors say what a specification cannot: parts
/// of a sum as operands, weights that are elsewhere than where they are read, microbatches.
Result<OnnxModel> with_plan(const OnnxModel& single, const PlanChoice& choice,
                            const std::string& configuration);
Result<OnnxModel> with_plan(const OnnxModel& single, const Assignment& assignment,
                            const std::string& configuration);

}  // namespace lemma::plans
