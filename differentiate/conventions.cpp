#include "differentiate/conventions.h"

#include <algorithm>
#include <array>

namespace lemma::differentiate {

namespace {

struct Exception {
  std::string_view op;
  Conventions conventions;
};

/// As in PyTorch: a pool takes the first of its largest elements, torch.clamp passes at its bounds.
constexpr std::array exceptions = {
    Exception{"MaxPool", {Conventions::Ties::first, false}},
    Exception{"GlobalMaxPool", {Conventions::Ties::first, false}},
    Exception{"Clip", {Conventions::Ties::shared, true}},
    Exception{"ClipTensor", {Conventions::Ties::shared, true}},
};

}  // namespace

Conventions conventions_of(std::string_view op) {
  const auto entry = std::find_if(exceptions.begin(), exceptions.end(),
                                  [op](const Exception& exception) { return exception.op == op; });
  return entry == exceptions.end() ? Conventions{} : entry->conventions;
}

}  // namespace lemma::differentiate
