#include "backend_cuda/regions/check_regions.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

/// A range of bytes of the arena that a node touches.
struct Touch {
  std::uint32_t node = 0;
  std::uint64_t begin = 0, end = 0;
  bool writes = false;
  std::optional<BufferNumber> buffer;  // none: tensors within a region
};

class Checker {
 public:
  explicit Checker(const RegionProgram& program) : program_(program) {}

  Result<void> run() {
    LEMMA_RETURN_IF_ERROR(find_order());
    LEMMA_RETURN_IF_ERROR(find_touches());
    for (const Touch& touched : touches_)
      for (const Touch& other : touches_) LEMMA_RETURN_IF_ERROR(check_pair(touched, other));
    for (const Touch& read : touches_)
      if (!read.writes) LEMMA_RETURN_IF_ERROR(check_read(read));
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      LEMMA_RETURN_IF_ERROR(check_output(i));
    return check_workspaces();
  }

 private:
  static Result<void> fault(std::string what) {
    return tl::unexpected(Error{ErrorKind::internal, "regions: " + std::move(what)});
  }

  /// Ancestors, by a walk from each node.
  Result<void> find_order() {
    const std::size_t count = program_.nodes.size();
    is_before_.assign(count, std::vector<bool>(count, false));
    for (std::uint32_t node = 0; node < count; ++node) {
      std::vector<std::uint32_t> pending = {node};
      while (!pending.empty()) {
        const std::uint32_t at = pending.back();
        pending.pop_back();
        for (const std::uint32_t earlier : program_.nodes[at].after) {
          if (earlier >= at) return fault("nodes wait for each other");
          if (is_before_[earlier][node]) continue;
          is_before_[earlier][node] = true;
          pending.push_back(earlier);
        }
      }
    }
    return {};
  }
  bool before(std::uint32_t a, std::uint32_t b) const { return is_before_[a][b]; }

  Result<void> touch(std::uint32_t node, BufferNumber number, bool writes) {
    const Buffer& buffer = program_.buffers[number];
    if (buffer.memory == Memory::weights) {
      if (writes) return fault("a node writes weights");
      if (buffer.offset + buffer.bytes() > program_.weight_bytes)
        return fault("weights lie outside of their memory");
      return {};
    }
    if (buffer.offset % region_alignment != 0) return fault("a buffer is not aligned");
    return touch({node, buffer.offset, buffer.offset + buffer.bytes(), writes, number});
  }
  Result<void> touch(const Touch& touched) {
    if (touched.end > program_.arena_bytes) return fault("a node leaves the arena");
    if (touched.begin < touched.end) touches_.push_back(touched);
    return {};
  }

  Result<void> find_touches() {
    for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) {
      const RegionNode& node = program_.nodes[i];
      switch (node.kind) {
        case RegionNode::Kind::input:
          LEMMA_RETURN_IF_ERROR(touch(i, program_.inputs[node.number], true));
          break;
        case RegionNode::Kind::output:
          LEMMA_RETURN_IF_ERROR(touch(i, program_.outputs[node.number], false));
          break;
        case RegionNode::Kind::call: {
          const LibraryStep& step = program_.calls[node.number];
          LEMMA_RETURN_IF_ERROR(touch(i, step.result, true));
          for (const BufferNumber operand : step.operands)
            LEMMA_RETURN_IF_ERROR(touch(i, operand, false));
          break;
        }
        case RegionNode::Kind::region:
          LEMMA_RETURN_IF_ERROR(touch_region(i, program_.regions[node.number]));
      }
    }
    return {};
  }

  /// The buffers of its task program are its inputs, its outputs, weights and what lies in its part of the arena.
  Result<void> touch_region(std::uint32_t node, const RegionStep& region) {
    const OperatorGraph& graph = region.program.graph;
    std::vector<bool> is_known(graph.buffers.size(), false);
    const auto add = [&](const std::vector<BufferNumber>& numbers,
                         const std::vector<BufferNumber>& whole, bool writes) -> Result<void> {
      if (numbers.size() != whole.size()) return fault("a region has other tensors");
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const Buffer &inner = graph.buffers[numbers[i]], &outer = program_.buffers[whole[i]];
        if (inner.offset != outer.offset || inner.bytes() != outer.bytes() ||
            inner.type != outer.type || inner.memory != outer.memory)
          return fault("a region has a tensor at another place");
        is_known[numbers[i]] = true;
        LEMMA_RETURN_IF_ERROR(touch(node, whole[i], writes));
      }
      return {};
    };
    LEMMA_RETURN_IF_ERROR(add(graph.inputs, region.inputs, false));
    LEMMA_RETURN_IF_ERROR(add(graph.outputs, region.outputs, true));
    for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
      const Buffer& buffer = graph.buffers[i];
      if (is_known[i] || buffer.elements == 0) continue;
      const bool is_weight = buffer.memory == Memory::weights &&
                             buffer.offset + buffer.bytes() <= program_.weight_bytes;
      const bool is_own = buffer.memory == Memory::arena && buffer.offset >= region.first &&
                          buffer.offset + buffer.bytes() <= region.first + region.bytes;
      if (!is_weight && !is_own) return fault("a region leaves its part of the arena");
    }
    return touch({node, region.first, region.first + region.bytes, true, std::nullopt});
  }

  static bool overlap(const Touch& a, const Touch& b) { return a.begin < b.end && b.begin < a.end; }

  /// Nodes that touch the same byte, of which one writes it, are ordered; a node touches none of it twice.
  Result<void> check_pair(const Touch& touched, const Touch& other) const {
    if (&touched == &other || !overlap(touched, other) || (!touched.writes && !other.writes))
      return {};
    if (touched.node == other.node) return fault("a node writes what it reads");
    if (!before(touched.node, other.node) && !before(other.node, touched.node))
      return fault(fmt::format("nodes {} and {} touch the same memory in any order", touched.node,
                               other.node));
    return {};
  }

  /// Checks that what is read has been written, as a whole and last of all, for the same buffer.
  Result<void> check_read(const Touch& read) const {
    const auto writer = std::find_if(touches_.begin(), touches_.end(), [&](const Touch& touched) {
      return touched.writes && touched.buffer == read.buffer;
    });
    if (writer == touches_.end() || !before(writer->node, read.node))
      return fault(fmt::format("node {} reads what has not been written", read.node));
    for (const Touch& touched : touches_) {
      if (!touched.writes || &touched == &*writer || !overlap(touched, read)) continue;
      if (!before(touched.node, writer->node) && !before(read.node, touched.node))
        return fault(
            fmt::format("node {} reads what node {} has overwritten", read.node, touched.node));
    }
    return {};
  }

  Result<void> check_output(std::size_t output) const {
    if (program_.buffers[program_.outputs[output]].elements == 0) return {};
    for (const RegionNode& node : program_.nodes)
      if (node.kind == RegionNode::Kind::output && node.number == output) return {};
    return fault("an output is not brought");
  }

  Result<void> check_workspaces() const {
    for (std::uint32_t a = 0; a < program_.nodes.size(); ++a)
      for (std::uint32_t b = 0; b < a; ++b) {
        const RegionNode &node = program_.nodes[a], &other = program_.nodes[b];
        if (node.kind == RegionNode::Kind::region && other.kind == node.kind && !before(b, a))
          return fault("two task programs run at the same time");
        if (node.kind != RegionNode::Kind::call || other.kind != node.kind) continue;
        if (program_.calls[node.number].workspace == program_.calls[other.number].workspace &&
            !before(b, a))
          return fault("two calls have a workspace at the same time");
      }
    return {};
  }

  const RegionProgram& program_;
  std::vector<std::vector<bool>> is_before_;
  std::vector<Touch> touches_;
};

}  // namespace

Result<void> check_regions(const RegionProgram& program) { return Checker(program).run(); }

}  // namespace lemma::backend
