#pragma once

#include <string_view>

namespace lemma {

// The version of the project, as "major.minor.patch".
std::string_view version();

}  // namespace lemma
