#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/dimension.h"

namespace lemma {

/// "NAME:1,3,224,224" or "NAME:1x3x224x224" for each input; a size may be a symbol ("N"). The last colon
/// separates, since names may contain colons; "NAME:" is a scalar. `option` is for messages.
Result<std::map<std::string, Shape, std::less<>>> parse_shape_options(
    const std::vector<std::string>& options, std::string_view option = "--shape");

/// The same for several sizes of the inputs: "x:1/4/16,128". All lists have as many sizes; the first of each belong
/// together, the second, and so on. A size without others is that of all. There is at least one result.
Result<std::vector<std::map<std::string, Shape, std::less<>>>> parse_shape_lists(
    const std::vector<std::string>& options, std::string_view option = "--shape");

}  // namespace lemma
