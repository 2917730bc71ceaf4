#include "differentiate/conventions.h"

#include <algorithm>
#include <array>

namespace lemma::differentiate {

namespace {

struct Exception {
  std::string_view op;
  Conventions conventions;
};

using Ties = Conventions::Ties;
using Bounds = Conventions::Bounds;

/// As in PyTorch: a pool takes the first of its largest elements, torch.clamp passes at its bounds. Celu and Softplus are
/// smooth at 0, where both parts of their definitions have a bound. Softmax and its like subtract the maximum, which changes
/// nothing but the range.
constexpr std::array exceptions = {
    Exception{"MaxPool", {Ties::first, Bounds::stop, {}}},
    Exception{"GlobalMaxPool", {Ties::first, Bounds::stop, {}}},
    Exception{"Celu", {Ties::shared, Bounds::share, {}}},
    Exception{"Clip", {Ties::shared, Bounds::pass, {}}},
    Exception{"ClipTensor", {Ties::shared, Bounds::pass, {}}},
    Exception{"LogSoftmax", {Ties::shared, Bounds::stop, "ReduceMax"}},
    Exception{"LogSoftmaxFlattened", {Ties::shared, Bounds::stop, "ReduceMax"}},
    Exception{"ReduceLogSumExp", {Ties::shared, Bounds::stop, "ReduceMax"}},
    Exception{"Softmax", {Ties::shared, Bounds::stop, "ReduceMax"}},
    Exception{"SoftmaxFlattened", {Ties::shared, Bounds::stop, "ReduceMax"}},
    Exception{"Softplus", {Ties::shared, Bounds::share, {}}},
};

}  // namespace

Conventions conventions_of(std::string_view op) {
  const auto entry = std::find_if(exceptions.begin(), exceptions.end(),
                                  [op](const Exception& exception) { return exception.op == op; });
  return entry == exceptions.end() ? Conventions{} : entry->conventions;
}

}  // namespace lemma::differentiate
