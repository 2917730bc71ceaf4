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
  /// The reduction is divided by something that no tensor tells; whether that is a constant.
  bool divided = false, divided_by_constant = false;
};

/// Nothing: it is none. `grouped`: axes that occur divided are split into two variables.
std::optional<NestView> view_of(const Definition& definition,
                                const std::vector<lowering::InputView>& inputs, bool grouped);

/// Position of the result's element in row-major order.
lowering::Linear result_address(const lowering::LoweredOutput& nest);

/// Whether a form is made of loop variables alone.
bool is_affine(const lowering::Linear& form);

}  // namespace lemma::backend
