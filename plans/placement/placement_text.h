#pragma once
// Meshes and placements as people write them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plans/placement/placement.h"

namespace lemma::plans {

/// "data=2,tensor=4": names and sizes of the axes.
Result<Mesh> parse_mesh(std::string_view text);

/// "NAME:0" or "NAME:replicated,1": for each axis of the mesh the axis of the tensor that it cuts, or `replicated`. The last
/// colon separates. `option` is for messages.
Result<std::map<std::string, Placement, std::less<>>> parse_placements(
    const std::vector<std::string>& texts, const Mesh& mesh, std::string_view option);

}  // namespace lemma::plans
