#pragma once
// Elements of classes, and running plans on many operands at once.

#include <cmath>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/terms.h"

namespace lemma::generator {

/// The choice of contents for which what is divided by zero is undefined.
inline constexpr std::size_t strict_choice = 2;
/// Terms are equal where they are so in both kinds of arithmetic.
inline Tape::Division division_of(std::size_t choice) {
  return choice == strict_choice ? Tape::Division::undefined_by_zero : Tape::Division::ieee;
}

/// Elements of classes, which the table keeps or which are evaluated from representatives. One for each thread.
class ClassEvaluator {
 public:
  explicit ClassEvaluator(const TermTable& table) : table_(table) {}

  /// Writes the elements for one choice of the inputs.
  void evaluate(ClassId id, std::size_t choice, double* to) { evaluate(id, choice, to, 0); }
  /// The elements for all choices, until the next call.
  const double* all_values(ClassId id);

 private:
  void evaluate(ClassId id, std::size_t choice, double* to, std::size_t depth);

  const TermTable& table_;
  std::vector<std::vector<double>> registers_;  // by depth
  std::vector<double> all_;
};

/// Runs one plan on up to tape_lanes tuples of operands. One evaluator per thread.
class LaneEvaluator {
 public:
  explicit LaneEvaluator(const TermTable& table) : table_(table), classes_(table) {}

  void start(const Plan& plan) {
    plan_ = &plan;
    count_ = 0;
    if (registers_.size() < plan.tape.register_count * tape_lanes)
      registers_.resize(plan.tape.register_count * tape_lanes);
  }
  bool add(const Operands& operands) {
    operands_[count_++] = operands;
    return count_ == tape_lanes;
  }
  std::size_t count() const { return count_; }
  void clear() { count_ = 0; }
  const Operands& operands(std::size_t lane) const { return operands_[lane]; }

  void run(std::size_t choice) {
    for (std::size_t k = 0; k < plan_->tape.operands.size(); ++k) gather(k, choice);
    plan_->tape.run<double, tape_lanes>(registers_.data(), division_of(choice));
  }

  /// Computes for each lane the functional of an output; of one that is undefined everywhere it is
  /// NaN.
  void functional(std::size_t output, double* result) const {
    const std::vector<Register>& places = plan_->tape.outputs[output];
    double defined[tape_lanes] = {};
    for (std::size_t l = 0; l < tape_lanes; ++l) result[l] = 1;
    for (std::size_t e = 0; e < places.size(); ++e) {
      const double* x = registers_.data() + places[e] * tape_lanes;
      const double weight = table_.weights()[e];
      for (std::size_t l = 0; l < tape_lanes; ++l) {
        const bool is_number = x[l] == x[l];
        const double value = is_number ? x[l] : 777.125;
        defined[l] += is_number ? 1 : 0;
        result[l] += weight * (value + 2 * std::min(std::abs(value), 0x1p500));
      }
    }
    for (std::size_t l = 0; l < tape_lanes; ++l)
      if (defined[l] == 0) result[l] = std::numeric_limits<double>::quiet_NaN();
  }

  void copy_values(std::size_t output, std::size_t lane, double* to) const {
    for (const Register place : plan_->tape.outputs[output])
      *to++ = registers_[place * tape_lanes + lane];
  }

 private:
  void gather(std::size_t k, std::size_t choice) {
    const std::size_t size = plan_->tape.operand_sizes[k];
    double* to = registers_.data() + plan_->tape.operands[k] * tape_lanes;
    for (std::size_t l = 0; l < tape_lanes; ++l) {
      const ClassId id = operands_[l < count_ ? l : 0][k];
      const double* kept = table_.values(id);
      const double* from = kept != nullptr ? kept + choice * size : evaluated(id, choice, size);
      for (std::size_t e = 0; e < size; ++e) to[e * tape_lanes + l] = from[e];
    }
  }
  const double* evaluated(ClassId id, std::size_t choice, std::size_t size);

  /// Elements that were evaluated lately, for one choice of the inputs.
  struct Evaluated {
    absl::flat_hash_map<ClassId, std::size_t> starts;
    std::vector<double> numbers;
  };
  const TermTable& table_;
  ClassEvaluator classes_;
  std::array<Evaluated, choice_count> evaluated_;
  const Plan* plan_ = nullptr;
  std::array<Operands, tape_lanes> operands_;
  std::size_t count_ = 0;
  std::vector<double> registers_;
};

}  // namespace lemma::generator
