#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/dimension.h"
#include "ir/result.h"

namespace lemma {

/// "NAME:1,3,224,224" for each input; a size may be a symbol ("N"). The last colon separates, since
/// names may contain colons; "NAME:" is a scalar.
Result<std::map<std::string, Shape, std::less<>>> parse_shape_options(
    const std::vector<std::string>& options);

}  // namespace lemma
