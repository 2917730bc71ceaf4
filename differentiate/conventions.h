#pragma once
// What the derivatives of single operators are where they have none, where that differs from what is usual.

#include <string_view>

#include "differentiate/derive.h"

namespace lemma::differentiate {

Conventions conventions_of(std::string_view op);

}  // namespace lemma::differentiate
