#include "backend/layout/stored_groups.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/layout/integer_weights.h"
#include "backend/layout/summed_factors.h"

namespace lemma::backend {

namespace {

/// The buffer whose elements these are, in the same order.
std::optional<BufferNumber> copied_buffer(const Computation& computation) {
  const auto nest = nest_of(computation);
  if (!nest) return std::nullopt;
  const auto input = lowering::copied_input(*nest);
  if (!input || computation.views[*input].type != nest->type) return std::nullopt;
  return computation.operands[*input];
}

/// Elements of an axis in groups along it, the last one with zeros where there are no more. The elements of a group are
/// cases of one place (backend/cases.h).
Definition grouping_of(const lowering::Sizes& sizes, std::size_t axis, std::int64_t elements,
                       DataType type) {
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    axes.push_back(builder.variable(i == axis ? (sizes[i] + elements - 1) / elements : sizes[i]));
  const Expression element = builder.variable(elements);
  const auto element_at = [&](std::int64_t number) {
    std::vector<Expression> indices = axes;
    indices[axis] = axes[axis] * Dimension(elements) + Dimension(number);
    const Expression read = builder.read(0, type, indices);
    if (number < sizes[axis] % elements || sizes[axis] % elements == 0) return read;
    return builder.select(indices[axis] < builder.integer(sizes[axis]), read,
                          builder.integer(0, type));
  };
  Expression value = element_at(elements - 1);
  for (std::int64_t number = elements - 1; number-- > 0;)
    value = builder.select(element == builder.integer(number), element_at(number), value);
  axes.push_back(element);
  builder.output(axes, value);
  return std::move(builder).finish();
}

}  // namespace

lowering::Sizes in_groups(lowering::Sizes sizes, std::size_t axis, std::int64_t elements) {
  sizes[axis] = (sizes[axis] + elements - 1) / elements;
  sizes.push_back(elements);
  return sizes;
}

BufferNumber StoredGroups::stored_in_groups(const Computation& computation, std::size_t axis,
                                            std::int64_t elements) {
  lowering::Sizes sizes;
  for (const VariableId v : output_of(computation).axes)
    sizes.push_back(computation.definition.extent(v).offset());
  const bool is_last = axis + 1 == sizes.size();
  const bool has_gap = sizes[axis] % elements != 0;
  const lowering::Sizes grouped = in_groups(sizes, axis, elements);
  // Groups along the last axis are neighbours anyway.
  if (is_last && !has_gap) return stored(computation, grouped);
  const BufferNumber ungrouped = stored(computation, sizes);
  const DataType type = integers_.graph.buffers[ungrouped].type;
  Computation groups;
  groups.operands = {ungrouped};
  groups.views = {{type, sizes, false}};
  groups.definition = grouping_of(sizes, axis, elements, type);
  return stored(std::move(groups), grouped);
}

/// A buffer of a computation of small integers: weights, if it reads only weights, and what is there already, if it copies
/// that.
BufferNumber StoredGroups::stored(Computation computation, const lowering::Sizes& sizes) {
  if (const auto copied = copied_buffer(computation)) return *copied;
  std::string key = text(computation.definition) + fmt::format(" {}", fmt::join(sizes, ", "));
  for (std::size_t i = 0; i < computation.operands.size(); ++i)
    key += fmt::format("\n{} [{}]", computation.operands[i],
                       fmt::join(computation.views[i].sizes, ", "));
  const auto [at, is_new] =
      stored_.try_emplace(key, static_cast<BufferNumber>(integers_.graph.buffers.size()));
  if (!is_new) return at->second;
  Buffer buffer;
  buffer.name = factor_name(computation) + " as integers";
  buffer.type = computation.definition.node(output_of(computation).value).type;
  buffer.sizes = sizes;
  buffer.elements = 1;
  for (const std::int64_t size : sizes) buffer.elements *= size;
  if (auto contents = integer_weights(computation, integers_.graph.buffers, sizes)) {
    buffer.memory = Memory::weights;
    buffer.contents = std::move(*contents);
  } else {
    computation.name = buffer.name;
    computation.description = "integers";
    computation.result = at->second;
    computation.is_stored = true;
    integers_.graph.computations.push_back(std::move(computation));
  }
  integers_.add_buffer(std::move(buffer));
  return at->second;
}

std::string StoredGroups::factor_name(const Computation& computation) const {
  for (const BufferNumber operand : computation.operands)
    if (operand != no_buffer) return integers_.graph.buffers[operand].name;
  return "constant";
}

}  // namespace lemma::backend
