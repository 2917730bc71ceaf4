#include "plans/lift/weights.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ir/run_time_value.h"

namespace lemma::plans {

namespace {

/// Where a rank's part of a tensor begins, by axis.
std::vector<std::int64_t> begin_of_part(const Placement& placement, const Mesh& mesh,
                                        std::int64_t rank, std::vector<std::int64_t> whole) {
  std::vector<std::int64_t> place(mesh.rank()), begin(whole.size(), 0);
  for (std::size_t i = mesh.rank(); i-- > 0;) {
    place[i] = rank % mesh.axes[i].size;
    rank /= mesh.axes[i].size;
  }
  for (std::size_t i = 0; i < mesh.rank(); ++i) {
    if (placement[i].sharing != Sharing::parted) continue;
    std::int64_t& size = whole[placement[i].axis];
    size /= mesh.axes[i].size;
    begin[placement[i].axis] += place[i] * size;
  }
  return begin;
}

/// Whether the elements of the part are those of the whole from `begin` on.
bool is_part(const Constant& part, const Constant& whole, const std::vector<std::int64_t>& begin) {
  const std::vector<std::int64_t> sizes = sizes_of(part), all = sizes_of(whole);
  if (part.element_count() == 0) return true;
  const std::size_t width = part.bytes().size() / part.element_count();
  if (width * part.element_count() != part.bytes().size()) return false;  // packed elements
  const std::size_t rank = sizes.size();
  // Rows of the last axis are compared as they stand.
  const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(sizes[rank - 1]);
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t at = 0; at < part.element_count(); at += row) {
    std::size_t from = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      from = from * static_cast<std::size_t>(all[axis]) +
             static_cast<std::size_t>(begin[axis] + index[axis]);
    if (std::memcmp(part.bytes().data() + at * width, whole.bytes().data() + from * width,
                    row * width) != 0)
      return false;
    for (std::size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
  return true;
}

/// So many places of a block in a tensor are looked at.
constexpr std::int64_t most_places = 1 << 20;

/// Where a block that some rank has begins in a tensor.
std::optional<std::vector<std::int64_t>> begin_of_block(const Constant& block,
                                                        const Constant& whole) {
  const std::vector<std::int64_t> sizes = sizes_of(block), all = sizes_of(whole);
  if (sizes.size() != all.size()) return std::nullopt;
  std::int64_t places = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > all[axis]) return std::nullopt;
    places *= all[axis] - sizes[axis] + 1;
    if (places > most_places) return std::nullopt;
  }
  std::vector<std::int64_t> begin(sizes.size(), 0);
  for (std::int64_t place = 0; place < places; ++place) {
    std::int64_t rest = place;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      const std::int64_t count = all[axis] - sizes[axis] + 1;
      begin[axis] = rest % count;
      rest /= count;
    }
    if (is_part(block, whole, begin)) return begin;
  }
  return std::nullopt;
}

}  // namespace

Weights::Weights(const Graph& single, const Mesh& mesh) : mesh_(mesh) {
  for (const NodeId id : single.live_nodes()) {
    const Node& node = single.node(id);
    if (node.kind != NodeKind::constant || single.constant(node).is_symbolic()) continue;
    candidates_.push_back(
        {node.output(), single.suggested_name(node.output()), &single.constant(node)});
  }
}

std::optional<PlacedWeight> Weights::find(const std::string& name,
                                          const std::vector<const Constant*>& ranks) const {
  for (const bool same_name : {true, false})
    for (const Candidate& candidate : candidates_) {
      if ((candidate.name == name) != same_name) continue;
      const TensorType &whole = candidate.contents->type(), &local = ranks[0]->type();
      if (whole.data_type != local.data_type) continue;
      for (const Placement& placement : placements_between(*whole.shape, *local.shape, mesh_, {})) {
        bool fits = true;
        for (std::size_t rank = 0; fits && rank < ranks.size(); ++rank)
          fits = is_part(*ranks[rank], *candidate.contents,
                         begin_of_part(placement, mesh_, static_cast<std::int64_t>(rank),
                                       sizes_of(*candidate.contents)));
        if (fits) return PlacedWeight{candidate.value, placement};
      }
    }
  return std::nullopt;
}

std::optional<WeightWindow> Weights::find_window(const std::string& name,
                                                 const Constant& contents) const {
  for (const bool same_name : {true, false})
    for (const Candidate& candidate : candidates_) {
      if ((candidate.name == name) != same_name || contents.is_symbolic() ||
          candidate.contents->type().data_type != contents.type().data_type)
        continue;
      const auto begin = begin_of_block(contents, *candidate.contents);
      if (!begin) continue;
      const std::vector<std::int64_t> sizes = sizes_of(contents);
      Window window;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        window.push_back({(*begin)[axis], sizes[axis]});
      return WeightWindow{candidate.value, normalized(window, sizes_of(*candidate.contents))};
    }
  return std::nullopt;
}

Constant stacked(const std::vector<const Constant*>& ranks, const Mesh& mesh) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const Constant* rank : ranks)
    bytes->insert(bytes->end(), rank->bytes().begin(), rank->bytes().end());
  Shape shape;
  for (const MeshAxis& axis : mesh.axes) shape.emplace_back(axis.size);
  const Shape& local = *ranks[0]->type().shape;
  shape.insert(shape.end(), local.begin(), local.end());
  return *Constant::create({ranks[0]->type().data_type, std::move(shape)}, bytes, *bytes);
}

}  // namespace lemma::plans
