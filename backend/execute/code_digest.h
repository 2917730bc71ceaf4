#pragma once

#include <string_view>

namespace lemma::backend {

/// The digest of the sources that decide which code is emitted.
extern const std::string_view code_digest;

}  // namespace lemma::backend
