// Kernels for operators of Lemma, and no operators. That of Relu has an element that is wrong; that of Neg is right.

#include <array>
#include <string>

#include "lemma/ir/operator_library.h"

namespace {

using namespace lemma;  // NOLINT: one file, no header

bool is_f32(const Instance& in) { return in.type(0) == DataType::f32; }

std::int64_t elements(const Instance& in) { return element_count(in.shape(0)).offset(); }

std::string loop(std::int64_t end, const std::string& value) {
  return "for (std::int64_t i = 0; i < " + std::to_string(end) + "; ++i) y[i] = " + value + ";\n";
}

/// One element too few; the last one is 0.
std::string wrong_relu(const Instance& in) {
  const std::int64_t last = elements(in) - 1;
  return loop(last, "Maximum::apply(x0[i], 0.0f)") + "y[" + std::to_string(last) + "] = 0;\n";
}

std::string right_negation(const Instance& in) { return loop(elements(in), "-x0[i]"); }

double operations(const Instance& in) { return static_cast<double>(elements(in)); }

constexpr std::array<OperatorRecord, 0> records = {};
constexpr std::array kernels = {KernelOverride{.op = "Relu",
                                               .target = "rtask-cpu",
                                               .applies = is_f32,
                                               .source = wrong_relu,
                                               .operations = operations},
                                KernelOverride{.op = "Neg",
                                               .target = "rtask-cpu",
                                               .applies = is_f32,
                                               .source = right_negation,
                                               .operations = operations}};

}  // namespace

LEMMA_OPERATOR_LIBRARY(records)
LEMMA_KERNEL_OVERRIDES(kernels)
