#pragma once
// Bodies of a model's nodes (branches of If, bodies of Loop and Scan) as models of their own, and back.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend_onnx/import.h"
#include "frontend_onnx/model.h"

namespace lemma {

/// A body. Its inputs are those of the body and what it captures from around it, of the types that are known
/// there; captured constants that may be parameters of operators are constants here too.
struct Body {
  OnnxModel model;
  std::string place;  // for people: "If 'y', then_branch"
  /// All captured values are inputs of the model or computed from them without anything that may give NaN or
  /// an infinity, and the body has no inputs of its own.
  bool inputs_are_ordinary = false;
  /// For each output of the model whether something around the body may tell its NaN from numbers. Of
  /// Loop and Scan, which give them to the next step as well, all.
  std::vector<char> observed = {};
};

/// What may stand in the place of a body: the same inputs by name, or fewer, and the same outputs.
struct BetterBody {
  OnnxModel model;
  bool cheaper = false;
  bool counts_constants = false;  // a Constant node is a node like any other
};
/// Nothing: the body stays. It also stays unless it has fewer nodes then, or as many and is cheaper.
using RewriteBody = std::function<std::optional<BetterBody>(Body body)>;

bool has_bodies(const OnnxModel& model);
/// Of a graph's nodes that are no constants and their bodies, at any depth.
std::int64_t node_count(const Graph& graph);

struct BodyRewriting {
  RewriteBody rewrite;
  /// Initializers that only one body uses become its own before it is rewritten (frontend_onnx/moved_initializers.h).
  bool moves_initializers = false;
  /// Called with the place of each body that took the place of one.
  std::function<void(const std::string& place)> on_rewritten = {};
  /// Outputs of the model itself that something around it observes; empty: none.
  std::vector<char> observed = {};
};

/// The model with bodies rewritten, or nothing if none was and nothing was moved. `folder` is that of the model's
/// external data. What is said of the model's file is said of the original's still.
Result<std::optional<OnnxModel>> with_rewritten_bodies(const OnnxModel& model,
                                                       const std::filesystem::path& folder,
                                                       const ImportOptions& reading,
                                                       const BodyRewriting& rewriting);

}  // namespace lemma
