// Compiled once for each instruction set, whose name is INSTRUCTION_SET, with the options of emitted programs, so that the
// loops become vectors as they do there.

#include "tests/backend/function_values.h"

#include "backend/emit/parts/fast_functions.h"

namespace INSTRUCTION_SET {
namespace {

template <float (*function)(float)>
void apply(const float* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = function(from[i]);
}

}  // namespace

const FunctionTable& functions() {
  static constexpr FunctionTable table = {{{"exp", apply<fast::exp>},
                                           {"tanh", apply<fast::tanh>},
                                           {"erf", apply<fast::erf>},
                                           {"log", apply<fast::log>},
                                           {"sin", apply<fast::sin>},
                                           {"cos", apply<fast::cos>},
                                           {"tan", apply<fast::tan>},
                                           {"asin", apply<fast::asin>},
                                           {"acos", apply<fast::acos>},
                                           {"atan", apply<fast::atan>},
                                           {"sinh", apply<fast::sinh>},
                                           {"cosh", apply<fast::cosh>},
                                           {"asinh", apply<fast::asinh>},
                                           {"acosh", apply<fast::acosh>},
                                           {"atanh", apply<fast::atanh>}}};
  return table;
}

void quotients(const float* from, float by, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = fast::quotient(from[i], by);
}

}  // namespace INSTRUCTION_SET
