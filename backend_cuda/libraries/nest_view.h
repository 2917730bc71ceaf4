#pragma once
// A loop nest taken apart: a reduction over reads, and what is done to its value.

#include <optional>
#include <utility>
#include <vector>

#include "lowering/lower.h"

namespace lemma::backend {

struct NestView {
  explicit NestView(lowering::LoweredOutput lowered) : nest(std::move(lowered)) {}

  lowering::LoweredOutput nest;
  lowering::TermNumber reduction = 0;
  std::vector<lowering::TermNumber> factors;  // reads; of the product, or the one that is reduced
  bool guarded = false;                       // outside the guard the terms count for nothing
  std::vector<lowering::TermNumber> addends;  // reads
  bool relu = false;
  // Constants that stand around, for calls that compute the values and not only take as long (exact_call.h).
  double factor = 1;                   // of the reduction
  std::vector<double> addend_factors;  // the same of each addend
  double relu_factor = 1;              // of what stands below the maximum with 0
  /// The reduction is divided by something that no tensor tells; whether that is a constant.
  bool divided = false, divided_by_constant = false;
  std::optional<double> divisor;              // that constant
  std::optional<lowering::TermNumber> guard;  // a condition
  std::optional<lowering::TermNumber>
      beyond;  // a constant: what stands for terms outside the guard
};

/// Nothing: it is none. `grouped`: axes that occur divided are split into two variables.
std::optional<NestView> view_of(const Definition& definition,
                                const std::vector<lowering::InputView>& inputs, bool grouped,
                                std::uint32_t output = 0);

/// Position of the result's element in row-major order.
lowering::Linear result_address(const lowering::LoweredOutput& nest);

/// What a term is that depends on constants alone; nothing for others, and for functions of several kinds.
std::optional<double> constant_value(const lowering::TermGraph& graph, lowering::TermNumber id);

/// Whether a form is made of loop variables alone.
bool is_affine(const lowering::Linear& form);

}  // namespace lemma::backend
