#pragma once
// The targets whose operators are timed by Lemma itself.

#include <filesystem>
#include <functional>
#include <string_view>

#include "cli/model_profiler.h"

namespace lemma {

/// `name`: rtask-cpu or rtask-cuda. An error: the data folder lacks its description. What cannot be measured here is
/// said by OperatorTimer::identity(). Programs of whole models are kept in `model_programs`, else where those of
/// operators are. The compiler is given up
/// if it does not say its version within `seconds_for_version`.
Result<OperatorTarget> operator_target(std::string_view name, int threads,
                                       const std::function<bool()>& is_interrupted,
                                       const std::filesystem::path& model_programs = {},
                                       double seconds_for_version = 30);

}  // namespace lemma
