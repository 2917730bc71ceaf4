#include "check/compare_files.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "check/check_inputs.h"
#include "check/drawn_inputs.h"
#include "check/opaque_pairs.h"
#include "check/second_judge.h"
#include "check/whole_run.h"
#include "facts/cut.h"
#include "facts/same_structure.h"
#include "frontend_onnx/file_facts.h"
#include "frontend_onnx/value_file.h"
#include "outputs/scratch.h"
#include "runner/run_graph.h"

namespace lemma {

namespace {

constexpr std::int64_t element_limit = std::int64_t{1} << 28;
constexpr double judge_seconds = 20;
constexpr int enough_sets = 8;
constexpr std::size_t most_symbol_sizes = 12;

std::vector<std::pair<std::string, DataType>> input_types(const Graph& graph) {
  std::vector<std::pair<std::string, DataType>> types;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    types.emplace_back(graph.input_name(node), graph.type(node.output()).data_type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

std::string difference_of_inputs(const Graph& original, const Graph& other) {
  const auto before = input_types(original), after = input_types(other);
  for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
    if (before[i].first != after[i].first) break;
    if (before[i].second != after[i].second)
      return fmt::format("input '{}' has elements of {}, and of {} in the original",
                         before[i].first, name(after[i].second), name(before[i].second));
  }
  return before == after ? "" : "the inputs have other names";
}

/// Empty if both may take each other's place: the comparison relies on it.
std::string difference_of_interfaces(const OnnxModel& first, const OnnxModel& second) {
  const Graph &original = first.graph, &other = second.graph;
  if (std::string difference = difference_of_inputs(original, other); !difference.empty())
    return difference;
  if (original.outputs().size() != other.outputs().size())
    return fmt::format("{} outputs, and {} in the original", other.outputs().size(),
                       original.outputs().size());
  for (std::size_t i = 0; i < original.outputs().size(); ++i) {
    const GraphOutput &left = original.outputs()[i], &right = other.outputs()[i];
    if (left.name != right.name)
      return fmt::format("output {} is named '{}', and '{}' in the original", i + 1, right.name,
                         left.name);
    const DataType left_type = original.type(left.value).data_type,
                   right_type = other.type(right.value).data_type;
    if (left_type != right_type)
      return fmt::format("output '{}' has elements of {}, and of {} in the original", left.name,
                         name(right_type), name(left_type));
  }
  if (const auto differing = input_with_other_default(first, second))
    return fmt::format("the initializer of input '{}' is another one", *differing);
  return "";
}

bool has_unknown_outputs(const Graph& graph) {
  return std::any_of(
      graph.outputs().begin(), graph.outputs().end(),
      [&](const GraphOutput& output) { return !graph.type(output.value).is_known(); });
}

class FileJudge {
 public:
  FileJudge(const FileComparisonRequest& request, const OnnxModel& original, const OnnxModel& other)
      : request_(request), original_(original), other_(other) {}

  Result<FileComparison> run() {
    if (std::string difference = difference_of_interfaces(original_, other_); !difference.empty())
      return differ(ComparedBy::interface, std::move(difference));
    LEMMA_ASSIGN_OR_RETURN(const ContextGraph original, graph_with_contexts(original_));
    LEMMA_ASSIGN_OR_RETURN(ContextGraph other, graph_with_contexts(other_));
    has_bodies_ = !original.with_bodies.empty() || !other.with_bodies.empty();
    const bool is_same = check_same_structure(original.graph, other.graph).has_value();
    if (is_understood(original.graph) && is_understood(other.graph)) {
      auto checked = compute(original.graph, other.graph);
      if (checked) return FileComparison{ComparedBy::computing, std::move(*checked)};
      if (is_same) return FileComparison{ComparedBy::structure, {}};
      return unsupported("the check is impossible: " + checked.error().message);
    }
    if (is_same) return FileComparison{ComparedBy::structure, {}};
    return compare_parts(original, other);
  }

 private:
  static bool is_understood(const Graph& graph) {
    return !has_opaque_nodes(graph) && !has_unknown_outputs(graph);
  }

  static FileComparison differ(ComparedBy way, std::string difference) {
    FileComparison result;
    result.way = way;
    result.check.passed = false;
    result.check.difference = std::move(difference);
    return result;
  }

  Result<SampledCheck> compute(const Graph& original, const Graph& other) const {
    SampledCheckOptions options = request_.check;
    options.deadline = request_.deadline.within(0.5 * request_.deadline.remaining()).at();
    return compare_on_random_inputs(original, other, options);
  }

  /// Between opaque nodes both are computed; where these are not the same, both are run whole.
  Result<FileComparison> compare_parts(const ContextGraph& original, ContextGraph& other) {
    OpaquePairs pairs = pair_opaque_nodes(original, other);
    if (!pairs.objection.empty()) {
      // Nodes may have other names.
      take_labels(original.graph, other.graph);
      if (OpaquePairs renamed = pair_opaque_nodes(original, other); renamed.objection.empty())
        pairs = std::move(renamed);
    }
    std::string objection = pairs.objection;
    if (objection.empty()) {
      const auto checked = compute(original.graph, other.graph);
      if (checked && pairs.different.empty()) return FileComparison{ComparedBy::parts, *checked};
      if (!checked) objection = checked.error().message;
      if (checked && !checked->passed) objection = checked->difference;
    }
    if (auto judged = run_both(pairs, objection.empty())) return *judged;
    return unsupported(fmt::format("they cannot be compared: {}", reason(pairs, objection)));
  }

  std::string reason(const OpaquePairs& pairs, const std::string& objection) const {
    std::string text = pairs.different.empty() ? objection
                                               : fmt::format("{} is not the same in both files",
                                                             pairs.different.front().place);
    return text + "; running both whole: " + failure_;
  }

  /// Nothing: neither can run them, or not all of what differs. `rest_is_equal`: all but the nodes that are told to
  /// differ is known to be equal.
  std::optional<FileComparison> run_both(const OpaquePairs& pairs, bool rest_is_equal) {
    for (const std::vector<NamedValues>& drawn : inputs_to_try()) {
      const auto sets = variants_of_all(drawn);
      WholeRunRequest request;
      request.original = request_.original;
      request.result = request_.other;
      request.sets = sets;
      request.containers = containers();
      request.enough_sets = std::max(enough_sets, static_cast<int>(drawn.size()));
      request.step_limit = runner::RunOptions().step_limit;
      request.reading = request_.reading;
      request.tolerance = tolerance_for(original_.graph, request_.check);
      request.threads = request_.check.threads;
      request.deadline = request_.deadline.within(0.7 * request_.deadline.remaining()).at();
      const WholeRunAnswer answer = run_whole(request);
      if (answer.verdict == WholeRunVerdict::agrees) {
        failure_ = untaken_body(answer, pairs, rest_is_equal);
        if (!failure_.empty()) return std::nullopt;
        FileComparison result;
        result.way = ComparedBy::running;
        result.check.samples = answer.sets;
        result.check.max_error = answer.max_error;
        return result;
      }
      if (failure_.empty()) failure_ = answer.message;
      if (answer.verdict == WholeRunVerdict::differs && answer.result_is_unsupported) break;
      if (answer.verdict == WholeRunVerdict::differs)
        return differ(ComparedBy::running, answer.message);
      if (request_.deadline.passed()) break;
    }
    if (failure_.empty()) failure_ = "no inputs can be made for it";
    return ask_onnx_runtime(pairs, rest_is_equal);
  }

  /// A body that would have to be run and was not.
  static std::string untaken_body(const WholeRunAnswer& answer, const OpaquePairs& pairs,
                                  bool rest_is_equal) {
    for (const std::string& place : answer.untaken) {
      const bool is_needed =
          !rest_is_equal || std::any_of(pairs.different.begin(), pairs.different.end(),
                                        [&](const DifferentNode& node) {
                                          return place.starts_with(node.place + ",");
                                        });
      if (is_needed)
        return fmt::format("on none of {} sets of inputs {} is run", answer.sets, place);
    }
    return "";
  }

  std::set<std::string> containers() const {
    std::set<std::string> names;
    for (const NodeId id : original_.graph.inputs()) {
      const std::string& name = original_.graph.input_name(original_.graph.node(id));
      if (is_declared_as_container(original_.envelope, name)) names.insert(name);
    }
    return names;
  }

  /// The inputs to try: for each choice of sizes the sets that differ in what is no number: one, if all
  /// inputs are numbers.
  std::vector<std::vector<NamedValues>> inputs_to_try() const {
    const bool all_are_numbers = !has_inputs_without_numbers(original_.graph);
    const auto texts =
        all_are_numbers ? std::vector<std::string>() : texts_to_try(original_, other_);
    std::vector<std::vector<NamedValues>> result;
    for (SymbolSizes& tried : tried_sizes()) {
      InputPlan plan;
      plan.size = tried.size;
      plan.sizes = std::move(tried.sizes);
      plan.seed = request_.check.seed;
      if (all_are_numbers) {
        const auto inputs = make_inputs(original_.graph, plan, {}, element_limit);
        if (inputs) result.push_back({values_of(*inputs)});
      } else if (auto drawn = draw_inputs(original_, plan, texts, element_limit)) {
        result.push_back(std::move(*drawn));
      }
    }
    return result;
  }

  /// First the sets themselves, then each of their variants.
  std::vector<NamedValues> variants_of_all(const std::vector<NamedValues>& drawn) const {
    std::vector<std::vector<NamedValues>> variants;
    std::size_t most = 0;
    for (const NamedValues& inputs : drawn) {
      variants.push_back(variants_of(inputs, request_.check.seed));
      most = std::max(most, variants.back().size());
    }
    std::vector<NamedValues> sets;
    for (std::size_t variant = 0; variant < most; ++variant)
      for (std::vector<NamedValues>& of_input : variants)
        if (variant < of_input.size()) sets.push_back(std::move(of_input[variant]));
    return sets;
  }

  std::vector<SymbolSizes> tried_sizes() const {
    std::vector<SymbolSizes> sizes = sizes_to_try(original_.graph);
    if (sizes.size() > most_symbol_sizes) sizes.resize(most_symbol_sizes);
    for (SymbolSizes& tried : sizes)
      for (const auto& [symbol, size] : request_.check.sizes)
        tried.sizes.insert_or_assign(symbol, size);
    return sizes;
  }

  /// ONNX Runtime does not tell which bodies it ran, and what random operators give differs from run to run.
  std::optional<FileComparison> ask_onnx_runtime(const OpaquePairs& pairs, bool rest_is_equal) {
    const bool bodies_are_equal =
        !has_bodies_ ||
        (rest_is_equal && std::none_of(pairs.different.begin(), pairs.different.end(),
                                       [](const DifferentNode& node) { return node.has_bodies; }));
    if (!request_.onnx_runtime || !bodies_are_equal || request_.deadline.passed())
      return std::nullopt;
    const TemporaryDirectory scratch;
    OnnxRuntimeWorker* worker = scratch.good() ? request_.onnx_runtime() : nullptr;
    if (worker == nullptr) return std::nullopt;
    JudgeRequest judge;
    judge.original = std::filesystem::absolute(request_.original);
    judge.result = std::filesystem::absolute(request_.other);
    for (std::vector<NamedValues>& drawn : inputs_to_try())
      std::move(drawn.begin(), drawn.end(), std::back_inserter(judge.sets));
    judge.tolerance = tolerance_for(original_.graph, request_.check);
    judge.threads = request_.check.threads;
    judge.scratch_folder = scratch.path();
    judge.time_limit_seconds = std::min(judge_seconds, request_.deadline.remaining());
    const JudgeAnswer answer = ask_second_judge(*worker, judge);
    if (answer.verdict == JudgeVerdict::differs)
      return differ(ComparedBy::onnx_runtime, answer.message);
    if (answer.verdict != JudgeVerdict::agrees) {
      failure_ += "; ONNX Runtime: " + answer.message;
      return std::nullopt;
    }
    FileComparison result;
    result.way = ComparedBy::onnx_runtime;
    result.check.samples = answer.sets;
    result.check.max_error = answer.max_error;
    return result;
  }

  const FileComparisonRequest& request_;
  const OnnxModel &original_, &other_;
  bool has_bodies_ = false;  // in either file
  std::string failure_;      // why running both whole said nothing
};

}  // namespace

std::string_view name(ComparedBy way) {
  constexpr std::array<std::string_view, 6> names = {"interface", "computing", "structure",
                                                     "parts",     "running",   "onnx runtime"};
  return names[static_cast<std::size_t>(way)];
}

Result<FileComparison> compare_files(const FileComparisonRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel original, import_model(request.original, request.reading));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel other, import_model(request.other, request.reading));
  return FileJudge(request, original, other).run();
}

}  // namespace lemma
