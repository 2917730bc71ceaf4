#pragma once
// What devices have of a tensor, axis by axis of a mesh. What choosing a plan, making its program and proving it speak of.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lemma::plans {

enum class Sharing : std::uint8_t {
  replicated,  // every device has all of it
  parted,      // each device has its part along an axis of the tensor
  partial,  // every device has a tensor of the whole's shape, and the whole is their sum (maximum, minimum, mean)
};
enum class Reduction : std::uint8_t { sum, max, min, mean };

std::string_view name(Reduction reduction);

/// What the devices along one axis of a mesh have of a tensor.
struct Share {
  Sharing sharing = Sharing::replicated;
  std::size_t axis = 0;                  // parted: the axis of the tensor
  Reduction reduction = Reduction::sum;  // partial
  friend auto operator<=>(const Share&, const Share&) = default;
};

/// A share for each axis of the mesh. If one axis of the tensor is cut along several axes of the mesh, the first of
/// these cuts it into the largest parts.
using Placement = std::vector<Share>;

bool is_partial(const Placement& placement);

}  // namespace lemma::plans
