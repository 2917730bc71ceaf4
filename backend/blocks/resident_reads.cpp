#include "backend/blocks/resident_reads.h"

#include <algorithm>

#include "backend/region_box.h"

namespace lemma::backend {

namespace {

using lowering::InputView;
using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

/// Where the layout has the element at the indices.
Linear place_of(const std::vector<Linear>& indices, const std::vector<std::int64_t>& strides) {
  Linear place;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    place = lowering::combine(place, indices[axis], strides[axis]);
  return place;
}

/// Elements from the first to the last of the whole tensor.
std::int64_t span_of(const ResidentLayout& layout) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < layout.sizes.size(); ++axis)
    last += (layout.sizes[axis] - 1) * layout.strides[axis];
  return last + 1;
}

/// The sizes of an argument, if they are the same in all phases that read it and every read is
/// inside.
std::optional<lowering::Sizes> sizes_of(const TaskOperator& op, std::uint32_t argument) {
  std::optional<lowering::Sizes> sizes;
  for (const Phase& phase : op.body.phases) {
    const lowering::TermGraph& graph = phase.nest.graph;
    for (TermNumber id = 0; id < graph.size(); ++id) {
      const Term& read = graph.term(id);
      if (read.kind != ExpressionKind::read || phase.operands[read.input] != argument) continue;
      const lowering::Sizes& these = graph.inputs()[read.input].sizes;
      if (sizes && *sizes != these) return std::nullopt;
      sizes = these;
      for (std::size_t axis = 0; axis < these.size(); ++axis)
        if (!graph.is_inside(read, axis)) return std::nullopt;
    }
  }
  return sizes;
}

/// Strides in row-major order of the extents, with an odd number of elements in rows that are one of
/// several.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& extents,
                                     std::uint64_t element_bytes) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  bool is_padded = false;
  for (std::size_t axis = extents.size(); axis-- > 1;) {
    std::int64_t length = extents[axis];
    if (length > 1 && !is_padded) {
      // Rows of small elements are whole words.
      const auto in_word =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(resident_word / element_bytes));
      const std::int64_t words = (length + in_word - 1) / in_word;
      length = (words % 2 == 0 ? words + 1 : words) * in_word;
      is_padded = true;
    }
    strides[axis - 1] = strides[axis] * length;
  }
  return strides;
}

std::optional<ResidentLayout> layout_of(const TaskOperator& op, const Buffer& buffer,
                                        std::uint32_t argument, const TaskAccess& largest) {
  const Region* region = nullptr;
  for (const Region& read : largest.reads) {
    if (read.buffer != op.arguments[argument]) continue;
    if (region != nullptr && *region != read) return std::nullopt;
    region = &read;
  }
  const auto sizes = sizes_of(op, argument);
  if (region == nullptr || !sizes) return std::nullopt;
  const auto box = box_of_region(*region, *sizes);
  if (!box) return std::nullopt;
  ResidentLayout layout;
  layout.argument = argument;
  layout.sizes = *sizes;
  for (const auto& [first, end] : *box) layout.extents.push_back(end - first);
  layout.strides = strides_of(layout.extents, byte_size(buffer.type));
  if (!resident_part(layout, *region, byte_size(buffer.type))) return std::nullopt;
  return layout;
}

/// Whether what is left of a nest knows that its reads are inside.
bool are_inside(const PhaseProgram& body, std::uint32_t argument) {
  return std::all_of(body.phases.begin(), body.phases.end(), [argument](const Phase& phase) {
    const lowering::TermGraph& graph = phase.nest.graph;
    for (TermNumber id = 0; id < graph.size(); ++id)
      if (const Term& read = graph.term(id);
          read.kind == ExpressionKind::read && phase.operands[read.input] == argument)
        for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
          if (!graph.is_inside(read, axis)) return false;
    return true;
  });
}

void read_by(const ResidentLayout& layout, Phase& phase) {
  lowering::TermGraph& graph = phase.nest.graph;
  const std::size_t inputs = phase.operands.size();
  for (std::uint32_t input = 0; input < inputs; ++input) {
    if (phase.operands[input] != layout.argument) continue;
    InputView view = graph.inputs()[input];
    view.sizes = {span_of(layout)};
    const std::uint32_t resident = graph.add_input(std::move(view));
    phase.operands.push_back(layout.argument);
    for (TermNumber id = 0; id < graph.size(); ++id)
      if (const Term& read = graph.term(id);
          read.kind == ExpressionKind::read && read.input == input)
        graph.replace_by_read(id, resident, {place_of(read.indices, layout.strides)});
  }
}

}  // namespace

std::vector<ResidentLayout> resident_layouts(const TaskOperator& op,
                                             const std::vector<Buffer>& buffers,
                                             const TaskAccess& largest) {
  std::vector<ResidentLayout> layouts;
  for (std::uint32_t argument = 0; argument < op.operands().size(); ++argument) {
    const Buffer& buffer = buffers[op.arguments[argument]];
    if (buffer.memory != Memory::weights) continue;
    const auto layout = layout_of(op, buffer, argument, largest);
    if (layout && are_inside(with_resident_reads(op, {*layout}), argument))
      layouts.push_back(*layout);
  }
  return layouts;
}

PhaseProgram with_resident_reads(const TaskOperator& op,
                                 const std::vector<ResidentLayout>& layouts) {
  PhaseProgram body = op.body;
  for (Phase& phase : body.phases)
    for (const ResidentLayout& layout : layouts) read_by(layout, phase);
  return body;
}

}  // namespace lemma::backend
