#include "backend_cuda/regions/items.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/fuse/fuse.h"
#include "backend/lower/substitute.h"
#include "backend/simulate/lower_bound.h"
#include "costmodel/roofline.h"

namespace lemma::backend {

namespace {

double price_of(const LibraryProblem& problem, const Device& device) {
  OperationCount work;
  work.flops = operations_of(problem);
  work.bytes_read = bytes_of(problem);
  work.contraction = !std::holds_alternative<Pool>(problem);
  return roofline_seconds(
      work, std::visit([](const auto& alternative) { return alternative.type; }, problem), device);
}

class ItemMaker {
 public:
  ItemMaker(const ComputationGraph& graph, const CompileOptions& options, const Device& calls)
      : graph_(graph),
        options_(options),
        calls_(calls),
        makers_(graph.buffers.size()),
        readers_(graph.buffers.size()),
        items_(graph.computations.size(), 0) {
    for (std::size_t i = 0; i < graph.computations.size(); ++i) {
      makers_[graph.computations[i].result] = i;
      for (const BufferNumber operand : graph.computations[i].operands)
        if (operand != no_buffer) readers_[operand].push_back(i);
    }
  }

  Result<std::vector<Item>> run() {
    ComputationGraph numbered = graph_;
    for (std::size_t i = 0; i < numbered.computations.size(); ++i)
      numbered.computations[i].sources = {i};
    if (options_.fuses) numbered = fuse(std::move(numbered));
    std::vector<Item> items;
    for (const Computation& fused : numbered.computations) {
      LEMMA_ASSIGN_OR_RETURN(Item item, item_of(fused));
      for (const std::size_t member : item.members) items_[member] = items.size();
      items.push_back(std::move(item));
    }
    return items;
  }

 private:
  using Members = std::vector<std::size_t>;

  std::optional<std::size_t> maker_of(BufferNumber buffer) const {
    return buffer == no_buffer ? std::nullopt : makers_[buffer];
  }

  Result<Item> item_of(const Computation& fused) {
    Item item;
    item.members = fused.sources;
    std::sort(item.members.begin(), item.members.end());
    std::set<std::size_t> after;
    for (const std::size_t member : item.members)
      for (const BufferNumber operand : graph_.computations[member].operands)
        if (const auto maker = maker_of(operand); maker && !contains(item.members, *maker))
          after.insert(items_[*maker]);
    item.after.assign(after.begin(), after.end());
    LEMMA_ASSIGN_OR_RETURN(item.cost, cost_of_members(item.members));
    item.candidate = candidate_of(item.members);
    if (item.candidate && !item.candidate->rest.empty()) {
      LEMMA_ASSIGN_OR_RETURN(item.candidate->of_rest, cost_of_members(item.candidate->rest));
    }
    return item;
  }

  static bool contains(const Members& members, std::size_t member) {
    return std::binary_search(members.begin(), members.end(), member);
  }

  /// Compiled alone, without stitching; once for all that are equal but for their tensors, as steps of a recurrent
  /// network are.
  Result<PersistentCost> cost_of_members(const Members& members) {
    const auto [known, is_new] = costs_.try_emplace(structure_of_members(members));
    if (!is_new) return known->second;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<OperatorGraph> plans,
                           task_operators(part_of(graph_, members).graph, options_));
    const LowerBound bound = lower_bound(plans.back(), options_.device);
    known->second = {bound.work, std::max(bound.work, bound.path_with_events)};
    return known->second;
  }

  /// All that the cost of members depends on.
  std::string structure_of_members(const Members& members) const {
    std::map<BufferNumber, std::size_t> numbers;
    std::string result;
    const auto number_of = [&](BufferNumber buffer) {
      if (buffer == no_buffer) return std::string("-");
      const auto [known, is_new] = numbers.emplace(buffer, numbers.size());
      if (!is_new) return fmt::format("{}", known->second);
      const Buffer& buffer_record = graph_.buffers[buffer];
      return fmt::format("{}:{} {} [{}] {}", known->second, static_cast<int>(buffer_record.type),
                         buffer_record.memory == Memory::weights,
                         fmt::join(buffer_record.sizes, " "), is_used_elsewhere(buffer, members));
    };
    for (const std::size_t member : members) {
      const Computation& computation = graph_.computations[member];
      result += fmt::format("{}\n{} {}", text(computation.definition), computation.output,
                            computation.is_stored);
      for (const lowering::InputView& view : computation.views)
        result += fmt::format("|{} {}", static_cast<int>(view.type), fmt::join(view.sizes, " "));
      for (const BufferNumber operand : computation.operands) result += "," + number_of(operand);
      result += ">" + number_of(computation.result) + "\n";
    }
    return result;
  }

  bool is_used_elsewhere(BufferNumber buffer, const Members& members) const {
    return graph_.buffers[buffer].memory == Memory::output ||
           std::any_of(readers_[buffer].begin(), readers_[buffer].end(),
                       [&](std::size_t reader) { return !contains(members, reader); });
  }

  /// The call that does the most work, and of those of one product or window the one that computes the most.
  std::optional<CallCandidate> candidate_of(const Members& members) const {
    std::optional<CallCandidate> best;
    for (const std::size_t member : members) {
      auto candidate = candidate_from(members, member);
      if (candidate &&
          (!best || operations_of(candidate->call.problem) > operations_of(best->call.problem)))
        best = std::move(candidate);
    }
    return best;
  }

  std::optional<CallCandidate> candidate_from(const Members& members, std::size_t first) const {
    const Computation& computation = graph_.computations[first];
    if (!exact_call(computation.definition, computation.views, computation.output))
      return std::nullopt;
    std::optional<CallCandidate> best;
    for (std::optional<std::size_t> last = first; last; last = reader_of(members, *last))
      if (auto candidate = candidate_up_to(members, *last)) best = std::move(candidate);
    return best;
  }

  /// The one of the members that reads a result; they are fused, so that there is one at most.
  std::optional<std::size_t> reader_of(const Members& members, std::size_t member) const {
    const BufferNumber result = graph_.computations[member].result;
    for (const std::size_t reader : members) {
      const std::vector<BufferNumber>& operands = graph_.computations[reader].operands;
      if (std::find(operands.begin(), operands.end(), result) != operands.end()) return reader;
    }
    return std::nullopt;
  }

  /// A call for a member and all others that it is made from.
  std::optional<CallCandidate> candidate_up_to(const Members& members, std::size_t last) const {
    Computation fused = graph_.computations[last];
    CallCandidate candidate;
    candidate.computed = {last};
    for (std::uint32_t i = 0; i < fused.operands.size(); ++i) {
      const auto maker = maker_of(fused.operands[i]);
      if (!maker || !contains(members, *maker)) continue;
      candidate.computed.push_back(*maker);
      fused = substitute(fused, i, graph_.computations[*maker]);
    }
    auto call = exact_call(fused.definition, fused.views, fused.output);
    if (!call) return std::nullopt;
    std::sort(candidate.computed.begin(), candidate.computed.end());
    std::set_difference(members.begin(), members.end(), candidate.computed.begin(),
                        candidate.computed.end(), std::back_inserter(candidate.rest));
    for (const CallOperand& operand : call->operands)
      candidate.operands.push_back(fused.operands[operand.input]);
    candidate.result = fused.result;
    candidate.seconds = price_of(call->problem, calls_);
    candidate.call = *std::move(call);
    return candidate;
  }

  const ComputationGraph& graph_;
  const CompileOptions& options_;
  const Device& calls_;
  std::vector<std::optional<std::size_t>> makers_;  // by buffer
  std::vector<std::vector<std::size_t>> readers_;   // by buffer
  std::vector<std::size_t> items_;                  // by computation
  std::map<std::string, PersistentCost> costs_;     // by structure
};

}  // namespace

Result<std::vector<Item>> items_of(const ComputationGraph& graph, const CompileOptions& options,
                                   const Device& calls) {
  return ItemMaker(graph, options, calls).run();
}

}  // namespace lemma::backend
