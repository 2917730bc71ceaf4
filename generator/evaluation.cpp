#include "generator/evaluation.h"

#include <algorithm>

namespace lemma::generator {
namespace {

constexpr std::size_t most_evaluated = std::size_t{1} << 17U;  // numbers that a thread remembers

}  // namespace

const double* ClassEvaluator::all_values(ClassId id) {
  if (const double* kept = table_.values(id); kept != nullptr) return kept;
  const std::size_t size = table_.size_of(table_.classes()[id].type);
  all_.resize(std::max(all_.size(), choice_count * size));
  for (std::size_t choice = 0; choice < choice_count; ++choice)
    evaluate(id, choice, all_.data() + choice * size);
  return all_.data();
}

// As deep as terms have operators.
void ClassEvaluator::evaluate(ClassId id, std::size_t choice, double* to, std::size_t depth) {
  const TermClass& known = table_.classes()[id];
  if (const double* kept = table_.values(id); kept != nullptr) {
    const std::size_t size = table_.size_of(known.type);
    std::copy_n(kept + choice * size, size, to);
    return;
  }
  const TermNode& node = table_.nodes()[known.representative];
  const Tape& tape = table_.plan_of(node).tape;
  if (registers_.size() <= depth) registers_.resize(depth + 1);
  registers_[depth].resize(std::max<std::size_t>(registers_[depth].size(), tape.register_count));
  for (std::size_t k = 0; k < tape.operands.size(); ++k)
    evaluate(node.operands[k], choice, registers_[depth].data() + tape.operands[k], depth + 1);
  tape.run<double, 1>(registers_[depth].data(), division_of(choice));
  for (const Register place : tape.outputs[node.output]) *to++ = registers_[depth][place];
}

const double* LaneEvaluator::evaluated(ClassId id, std::size_t choice, std::size_t size) {
  auto& [starts, numbers] = evaluated_[choice];
  const auto entry = starts.find(id);
  if (entry != starts.end()) return numbers.data() + entry->second;
  if (numbers.size() + size > most_evaluated) {
    starts.clear();
    numbers.clear();
  }
  const std::size_t start = numbers.size();
  numbers.resize(start + size);
  classes_.evaluate(id, choice, numbers.data() + start);
  starts.emplace(id, start);
  return numbers.data() + start;
}

}  // namespace lemma::generator
