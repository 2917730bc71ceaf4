#pragma once

#include <string_view>

namespace lemma::backend {

/// Of the sources that decide which code is emitted.
extern const std::string_view code_digest;

}  // namespace lemma::backend
