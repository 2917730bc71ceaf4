#include "search/part_pass.h"

#include <algorithm>
#include <atomic>
#include <new>

#include <absl/hash/hash.h>

#include "system/parallel.h"

namespace lemma {

namespace {

/// A hash of the structure of a graph; names count for nothing.
std::uint64_t structure_hash(const Graph& graph) {
  std::vector<std::uint64_t> hashes(graph.node_count(), 0);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    std::uint64_t& hash = hashes[i];
    hash = absl::HashOf(static_cast<int>(node.kind), node.output_count);
    switch (node.kind) {
      case NodeKind::input: hash = absl::HashOf(hash, text(graph.type(node.output()))); break;
      case NodeKind::constant: hash = absl::HashOf(hash, graph.constant(node).hash()); break;
      case NodeKind::opaque: hash = absl::HashOf(hash, graph.opaque(node).payload); break;
      case NodeKind::operation: hash = absl::HashOf(hash, node.op.v, node.attributes.hash()); break;
    }
    for (const ValueId input : node.inputs)
      hash = input.is_none()
                 ? absl::HashOf(hash, 0)
                 : absl::HashOf(hash, hashes[graph.producer(input).v], graph.output_index(input));
    if (node.kind == NodeKind::input) hash = absl::HashOf(hash, node.payload);
  }
  std::uint64_t hash = graph.outputs().size();
  for (const GraphOutput& output : graph.outputs())
    hash = absl::HashOf(hash, hashes[graph.producer(output.value).v],
                        graph.output_index(output.value));
  return hash;
}

class PartSaturation {
 public:
  PartSaturation(const Graph& graph, const RuleSet& rules, const OperatorCosts& costs,
                 const PartPassOptions& options, const Deadline& deadline, KnownParts& known)
      : graph_(graph),
        rules_(rules),
        costs_(costs),
        options_(options),
        deadline_(deadline),
        known_(known) {}

  Result<PartPass> run() {
    LEMMA_ASSIGN_OR_RETURN(parts_, partition(graph_, options_.partition));
    rounds_.resize(parts_.size());
    const std::vector<ValueFacts> facts = facts_of_values(graph_, {}, Reads::succeed);
    const std::vector<char> observed = observed_values(graph_, facts);
    for (const Part& part : parts_) {
      hashes_.push_back(structure_hash(part.graph));
      surroundings_.emplace_back();
      // What is known of the values around a part is true of its inputs.
      for (const ValueId input : part.inputs) {
        surroundings_.back().inputs.push_back(facts[input.v]);
        hashes_.back() = absl::HashOf(hashes_.back(), text(facts[input.v]));
      }
      for (const ValueId output : part.outputs) {
        surroundings_.back().observed.push_back(observed[output.v]);
        hashes_.back() = absl::HashOf(hashes_.back(), observed[output.v]);
      }
    }
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (!known_.contains(hashes_[i])) untried_.push_back(i);
    work_through();
    return gather();
  }

 private:
  void work_through() {
    const std::size_t threads =
        std::clamp<std::size_t>(static_cast<std::size_t>(count_of_threads(options_.threads)), 1,
                                std::max<std::size_t>(untried_.size(), 1));
    std::atomic<bool> memory_is_short = false;  // the parts that are left stay as they are
    parallel_for(untried_.size(), options_.threads, [&](std::size_t i) {
      if (deadline_.passed() || memory_is_short) return;
      if (options_.round.cancelled != nullptr && options_.round.cancelled->load()) return;
      RoundLimits limits = options_.round;
      const double left = static_cast<double>(untried_.size() - i);
      const double share = deadline_.remaining() * static_cast<double>(threads) / left;
      limits.memory_limit_bytes /= threads;
      // Most parts take less than their share: those that need more get some of that.
      limits.saturation_seconds = std::min(deadline_.remaining() / 2, share);
      limits.extraction_seconds = limits.saturation_seconds / 2;
      try {
        rounds_[untried_[i]] =
            saturate_and_extract(parts_[untried_[i]].graph, rules_, costs_, limits,
                                 options_.explain, surroundings_[untried_[i]]);
      } catch (const std::bad_alloc&) {
        memory_is_short = true;
      }
    });
  }

  Result<PartPass> gather() {
    PartPass pass;
    pass.parts = parts_.size();
    std::vector<Graph> replacements;
    std::vector<ValueId> terms;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      replacements.push_back(parts_[i].graph);
      if (!rounds_[i]) continue;
      if (!*rounds_[i]) return tl::unexpected(std::move(rounds_[i]->error()));
      Round& round = **rounds_[i];
      ++pass.tried;
      pass.largest_nodes = std::max(pass.largest_nodes, round.nodes);
      if (!round.is_cheaper()) {
        if (round.stop != StopReason::time) known_.insert(hashes_[i]);
        continue;
      }
      pass.changed = true;
      for (const auto& [rule, count] : round.rules_used) pass.rules_used[rule] += count;
      if (round.derivation) {
        if (!pass.derivation) {
          pass.derivation.emplace();
          LEMMA_ASSIGN_OR_RETURN(terms, pass.derivation->add_graph(graph_));
        }
        LEMMA_RETURN_IF_ERROR(adopt(parts_[i], round, terms, *pass.derivation));
      }
      replacements.back() = std::move(round.graph);
    }
    if (!pass.changed) return pass;
    LEMMA_ASSIGN_OR_RETURN(pass.graph, assemble(graph_, parts_, replacements));
    return pass;
  }

  static Result<void> adopt(const Part& part, Round& round, const std::vector<ValueId>& terms,
                            Derivation& whole) {
    LEMMA_ASSIGN_OR_RETURN(const auto pairs, round.derivation->pairs(part.graph, round.graph));
    LEMMA_ASSIGN_OR_RETURN(const auto reasons, round.derivation->reasons(pairs));
    Derivation::InputTerms inputs;
    for (std::size_t k = 0; k < part.inputs.size(); ++k)
      inputs[part.graph.input_name(part.graph.node(part.graph.inputs()[k]))] =
          terms[part.inputs[k].v];
    return whole.adopt(*round.derivation, reasons, inputs);
  }

  const Graph& graph_;
  const RuleSet& rules_;
  const OperatorCosts& costs_;
  const PartPassOptions& options_;
  const Deadline& deadline_;
  KnownParts& known_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Surroundings> surroundings_;  // by part
  std::vector<std::size_t> untried_;
  std::vector<std::optional<Result<Round>>> rounds_;  // by part
};

}  // namespace

Result<PartPass> improve_parts(const Graph& graph, const RuleSet& rules, const OperatorCosts& costs,
                               const PartPassOptions& options, const Deadline& deadline,
                               KnownParts& known) {
  return PartSaturation(graph, rules, costs, options, deadline, known).run();
}

}  // namespace lemma
