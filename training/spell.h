#pragma once
// Gradients in operators of ONNX: by rules, each of which says that a gradient is a term of other operators.

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma::training {

/// The rules of a folder rules/gradients/ below this one: those with both proofs, those with one, and then those
/// of spellings_without_proof.
Result<std::vector<Substitution>> spelling_rules(const std::filesystem::path& directory);

/// Those of sampled.rules, which have no proof and are compared on samples only. Whoever uses them says so.
Result<std::vector<Substitution>> spellings_without_proof(const std::filesystem::path& directory);

/// The graph without gradients of operators. Where no rule fits, the gradient of an operator that is composed of others is
/// what its record says it is composed of. An error names the first gradient for which there is neither. `used`: gets the
/// names of the rules that were used; or null.
Result<Graph> spelled_gradients(const Graph& graph, std::span<const Substitution> rules,
                                std::set<std::string>* used = nullptr);

}  // namespace lemma::training
