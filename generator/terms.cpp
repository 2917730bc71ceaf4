#include "generator/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "generator/applications.h"
#include "generator/evaluation.h"
#include "interpreter/random.h"
#include "system/parallel.h"
#include "system/process_memory.h"

namespace lemma::generator {
namespace {

constexpr std::size_t choices = choice_count;
constexpr double tolerance = 0x1p-30;      // of equal elements, relative
constexpr unsigned dropped_bits = 14;      // of the functional
constexpr std::uint64_t close = 1U << 10;  // to the next bucket, in units of the last digit

/// A multiple of 1/64 between -10 and 10: products of a few have few digits. Zero is among them, so
/// that what divides by an input is not taken to be defined everywhere. The second choice is
/// positive, so that roots and logarithms are defined; in the fourth an input has one sign, so that
/// the maximum of many is not always positive, and in the last one the other sign.
double content(std::uint64_t seed, std::size_t choice, std::size_t input, std::size_t element) {
  constexpr double scales[choices] = {1.0 / 16, 1.0 / 16, 1.0 / 4, 1.0 / 64, 1.0 / 8, 1.0 / 16};
  const std::uint64_t word = interpreter::random_word(seed, input, element * choices + choice);
  const auto magnitude =
      static_cast<double>(choice == 1 ? 1 + word % 40 : word % 41) * scales[choice];
  const bool one_sign = choice == 3 || choice == 5;
  std::uint64_t sign = word >> 32U;
  if (one_sign) sign = interpreter::random_word(seed, input, 1U << 30U) + choice / 2;
  return choice == 1 || sign % 2 == 0 ? magnitude : -magnitude;
}

bool are_close(double a, double b) {
  if (a == b) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isnan(a) && std::isnan(b);
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

bool equal_values(const double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!are_close(a[i], b[i])) return false;
  return true;
}

TermTable::TermTable(const OperatorSet& set, std::uint64_t seed)
    : set_(set),
      buckets_(keys_),
      interned_(nodes_),
      evaluator_(std::make_unique<ClassEvaluator>(*this)) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(set.largest_value); ++i)
    weights_.push_back(
        1 + static_cast<double>(interpreter::random_word(seed, 1U << 20U, i) >> 11U) * 0x1p-53);
  add_inputs(seed);
}

TermTable::~TermTable() = default;

/// Inputs that can be exchanged get neighboring bits.
void TermTable::number_inputs() {
  input_bits_.resize(set_.inputs.size());
  unsigned next = 0;
  for (std::size_t i = 0; i < set_.inputs.size(); ++i) {
    const auto is_alike = [&](std::size_t j) {
      return set_.inputs[j].sizes == set_.inputs[i].sizes &&
             set_.inputs[j].weight == set_.inputs[i].weight;
    };
    bool is_first = true;
    for (std::size_t j = 0; j < i; ++j) is_first = is_first && !is_alike(j);
    if (!is_first) continue;
    const unsigned begin = next;
    for (std::size_t j = i; j < set_.inputs.size(); ++j)
      if (is_alike(j)) input_bits_[j] = next++;
    alike_.emplace_back(begin, (std::uint64_t{1} << (next - begin)) - 1);
  }
  for (std::size_t i = 0; i < set_.inputs.size(); ++i)
    if (set_.inputs[i].weight) weight_bits_ |= std::uint64_t{1} << input_bits_[i];
}

void TermTable::add_inputs(std::uint64_t seed) {
  number_inputs();
  for (std::size_t i = 0; i < set_.inputs.size(); ++i) {
    const std::uint32_t type = type_of(set_.inputs[i].sizes);
    const std::size_t size = sizes_[type];
    std::vector<double> contents;
    double functional = 1;
    for (std::size_t e = 0; e < choices * size; ++e) {
      contents.push_back(content(seed, e / size, i, e % size));
      if (e < size) functional += weights_[e] * (contents[e] + 2 * std::abs(contents[e]));
    }
    TermNode node;
    node.operands[0] = static_cast<std::uint32_t>(i);
    insert(node, type, key_of(type, functional), contents.data());
  }
}

std::uint32_t TermTable::type_of(const std::vector<std::int64_t>& sizes) {
  const auto position = std::find(types_.begin(), types_.end(), sizes);
  if (position != types_.end()) return static_cast<std::uint32_t>(position - types_.begin());
  types_.push_back(sizes);
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  sizes_.push_back(count);
  return static_cast<std::uint32_t>(types_.size() - 1);
}

TermTable::Key TermTable::key_of(std::uint32_t type, double functional) const {
  const auto bits = std::bit_cast<std::uint64_t>(functional);
  const std::uint64_t digit = bits >> dropped_bits;
  const std::uint64_t rest = bits & ((1U << dropped_bits) - 1);
  const auto bucket = [type](std::uint64_t number) {
    std::uint64_t x = (number ^ (static_cast<std::uint64_t>(type) << 50U)) * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 32U)) * 0xd6e8feb86659fd93U;
    return x ^ (x >> 32U);
  };
  Key key{bucket(digit), 0};
  key.neighbor = key.bucket;
  if (rest < close) key.neighbor = bucket(digit - 1);
  if (rest >= (1U << dropped_bits) - close) key.neighbor = bucket(digit + 1);
  return key;
}

ClassId TermTable::find_equal(const Key& key, std::uint32_t type, const double* values) const {
  const std::size_t count = choices * sizes_[type];
  for (const std::uint64_t bucket : {key.bucket, key.neighbor}) {
    for (ClassId id = buckets_.find(bucket); id != nothing; id = next_[id])
      if (classes_[id].type == type && equal_values(evaluator_->all_values(id), values, count))
        return id;
    if (key.neighbor == key.bucket) break;
  }
  return nothing;
}

ClassId TermTable::insert(TermNode node, std::uint32_t type, const Key& key, const double* values) {
  const ClassId known = find_equal(key, type, values);
  const auto node_id = static_cast<TermNodeId>(nodes_.size());
  const ClassId id = known != nothing ? known : static_cast<ClassId>(classes_.size());
  node.id = id;
  nodes_.push_back(node);
  next_member_.push_back(nothing);
  if (node.op != nothing) interned_.add(node_id);
  if (known != nothing) {
    next_member_[classes_[id].last] = node_id;
    classes_[id].last = node_id;
    return id;
  }
  const std::uint64_t inputs = node.op == nothing
                                   ? std::uint64_t{1} << input_bits_[node.operands[0]]
                                   : inputs_of(node.operands);
  classes_.push_back({type, node_id, node_id, node.cost, inputs});
  const std::size_t count = choices * sizes_[type];
  if (double* kept = values_.add(count); kept != nullptr) std::copy(values, values + count, kept);
  keys_.push_back(key.bucket);
  next_.push_back(buckets_.replace(id, key.bucket));
  ++statistics_.classes;
  return id;
}

std::span<const std::uint32_t> TermTable::applications(TermNodeId id) const {
  const std::size_t cost = nodes_[id].cost;
  if (cost == 0) return {};
  return applications_by_cost_[cost][id - level_begins_[cost]];
}

std::size_t TermTable::bytes() const {
  std::size_t result = nodes_.bytes() + next_member_.bytes() + classes_.bytes() + keys_.bytes() +
                       next_.bytes() + buckets_.bytes() + interned_.bytes();
  for (const Rows<std::uint32_t>& rows : applications_by_cost_) result += rows.bytes();
  return result;
}

std::uint64_t TermTable::digest() const {
  std::uint64_t result = types_.size();
  const auto add = [&result](std::uint64_t word) {
    result = (result ^ word) * 0x9e3779b97f4a7c15U;
    result ^= result >> 29U;
  };
  for (const TermNode& node : nodes_) {
    add(std::uint64_t{node.op} << 32U | node.id);
    add(std::uint64_t{node.operands[0]} << 32U | node.operands[1]);
    add(std::uint64_t{node.operands[2]} << 32U | node.output);
  }
  return result;
}

void TermTable::shrink_to(std::size_t bytes) {
  if (!values_.can_shrink() || resident_bytes() <= bytes) return;
  give_back_memory();
  const std::size_t resident = resident_bytes(), held = values_.bytes();
  if (resident <= bytes) return;
  values_.shrink_to(held - std::min(held, resident - bytes));
  give_back_memory();
}

Result<void> TermTable::check_memory(const Options& options, std::size_t cost) const {
  if (options.memory == 0 || resident_bytes() <= options.memory) return {};
  give_back_memory();
  if (resident_bytes() <= options.memory) return {};
  return bad_input(
      fmt::format("the terms of {} operators do not fit into the {} MB of the memory limit: {} "
                  "terms of up to {} "
                  "operators take {} MB",
                  cost, options.memory / 1'000'000, nodes_.size(), cost, bytes() / 1'000'000));
}

std::vector<char> TermTable::agreement(ClassId a, ClassId b) const {
  const std::size_t size = sizes_[classes_[a].type];
  std::vector<char> result(size, 1);
  ClassEvaluator first(*this), second(*this);
  const double *x = first.all_values(a), *y = second.all_values(b);
  for (std::size_t i = 0; i < choices * size; ++i)
    if (!are_close(x[i], y[i])) result[i % size] = 0;
  return result;
}

bool TermTable::fits_weights(std::uint32_t op, const Operands& operands) const {
  for (std::size_t i = 0; i < set_.operators[op].pattern.inputs.size(); ++i)
    if (!fits_weight(op, i, operands[i])) return false;
  return true;
}

bool TermTable::fits_weight(std::uint32_t op, std::size_t operand, ClassId id) const {
  const bool is_weight = (classes_[id].inputs & ~weight_bits_) == 0;
  return !set_.tells_weights_apart ||
         is_weight == set_.operators[op].pattern.inputs[operand].weight;
}

Operands TermTable::normalized(std::uint32_t op, Operands operands) const {
  if (set_.operators[op].commutative && operands[1] < operands[0])
    std::swap(operands[0], operands[1]);
  return operands;
}

std::optional<TermNodeId> TermTable::find(std::uint32_t op, std::uint32_t output,
                                          Operands operands) const {
  return interned_.find(op, output, normalized(op, operands));
}

// ---- Plans ------------------------------------------------------------------------------------

/// A plan whose output types have no numbers yet.
struct TermTable::PlanDraft {
  Plan plan;
  std::vector<std::vector<std::int64_t>> output_sizes;
};

Result<std::optional<TermTable::PlanDraft>> TermTable::draft_plan(const PlanKey& key) const {
  const Substitution& pattern = set_.operators[key[0]].enumerated;
  RuleBindings bindings;
  std::vector<Shape> shapes;
  for (std::uint32_t i = 0; i < pattern.inputs.size(); ++i) {
    const std::vector<std::int64_t>& sizes = types_[key[1 + i]];
    shapes.emplace_back(sizes.begin(), sizes.end());
    if (!match_shape(pattern, i, shapes.back(), bindings)) return std::nullopt;
  }
  if (!shapes_agree(pattern, shapes, bindings)) return std::nullopt;
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(inputs.emplace_back(),
                           graph.add_input(pattern.inputs[i].name, {DataType::f32, shapes[i]}));
  }
  const auto outputs = instantiate(pattern, pattern.left, inputs, bindings, graph);
  if (!outputs) return std::nullopt;  // not well typed for these operands
  PlanDraft draft;
  draft.plan.op = key[0];
  std::copy(key.begin() + 1, key.end(), draft.plan.operand_types.begin());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const auto sizes = constant_sizes(*graph.type((*outputs)[i]).shape);
    if (!sizes) return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t size : *sizes) count *= size;
    if (count < 1 || count > set_.largest_value) return std::nullopt;
    draft.output_sizes.push_back(*sizes);
    LEMMA_RETURN_IF_ERROR(graph.add_output(fmt::format("{}", i), (*outputs)[i]));
  }
  auto tape = make_tape(graph);
  if (!tape) {
    const SetOperator& op = set_.operators[key[0]];
    return with_context(fmt::format("{}: operator '{}'", place(set_, op.line), op.name),
                        std::move(tape.error()));
  }
  draft.plan.tape = std::move(*tape);
  return draft;
}

std::vector<TermTable::PlanKey> TermTable::plan_keys(
    std::uint32_t op, std::span<const std::vector<std::uint32_t>> types) const {
  const std::size_t arity = set_.operators[op].pattern.inputs.size();
  PlanKey key = {op, nothing, nothing, nothing};
  std::array<std::size_t, most_operands> at = {};
  std::vector<PlanKey> result;
  for (std::size_t i = 0; i < arity; ++i)
    if (types[i].empty()) return result;
  while (true) {
    for (std::size_t i = 0; i < arity; ++i) key[1 + i] = types[i][at[i]];
    result.push_back(key);
    std::size_t i = arity;
    while (i > 0 && ++at[i - 1] == types[i - 1].size()) at[--i] = 0;
    if (i == 0) return result;
  }
}

Result<void> TermTable::make_plans(const std::vector<PlanKey>& keys, int threads) {
  std::vector<PlanKey> wanted;
  for (const PlanKey& key : keys)
    if (plans_.try_emplace(key, nullptr).second) wanted.push_back(key);
  std::vector<std::optional<PlanDraft>> drafts(wanted.size());
  LEMMA_RETURN_IF_ERROR(parallel_try(wanted.size(), threads, [&](std::size_t i) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(drafts[i], draft_plan(wanted[i]));
    return {};
  }));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::optional<PlanDraft>& draft = drafts[i];
    if (!draft) continue;
    for (const auto& sizes : draft->output_sizes)
      draft->plan.output_types.push_back(type_of(sizes));
    plans_[wanted[i]] = std::make_unique<Plan>(std::move(draft->plan));
  }
  return {};
}

const Plan& TermTable::plan_of(const TermNode& node) const {
  PlanKey key = {node.op, nothing, nothing, nothing};
  for (std::size_t i = 0; i < most_operands && node.operands[i] != nothing; ++i)
    key[1 + i] = classes_[node.operands[i]].type;
  return *plans_.at(key);
}

// ---- What is applied ----------------------------------------------------------------------------

void TermTable::count_applications(const std::vector<Piece>& pieces) {
  statistics_.applications.resize(set_.operators.size());
  for (const Piece& piece : pieces)
    statistics_.applications[piece.plan->op] += static_cast<std::uint64_t>(Level::size(piece));
}

bool TermTable::is_taken(std::size_t input) const {
  const auto id = static_cast<ClassId>(input);
  return std::any_of(plans_.begin(), plans_.end(), [&](const auto& entry) {
    if (entry.second == nullptr) return false;
    const Plan& plan = *entry.second;
    for (std::size_t i = 0; i < most_operands && plan.operand_types[i] != nothing; ++i)
      if (plan.operand_types[i] == classes_[id].type && fits_weight(plan.op, i, id)) return true;
    return false;
  });
}

std::uint64_t TermTable::classes_of(std::uint32_t op) const {
  std::uint64_t result = 0;
  for (const TermClass& known : classes_)
    if (nodes_[known.representative].op == op) ++result;
  return result;
}

}  // namespace lemma::generator
