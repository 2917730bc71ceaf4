#include "backend_cuda/emit_cuda/spread_nest.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/blocks/shared_terms.h"
#include "backend_cuda/emit/emit_element.h"
#include "backend_cuda/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;

class SpreadWriter {
 public:
  SpreadWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
               const std::vector<bool>& is_in_block, std::int64_t group_threads, int indent)
      : nest_(nest), bounds_(bounds), indent_(indent) {
    std::vector<std::int64_t> lengths;
    for (const LoopBounds& each : bounds_) {
      lengths.push_back(std::max<std::int64_t>(1, each.least));
      all_ *= each.extent;
    }
    lanes_ = spread_of(nest, is_in_block, std::move(lengths), group_threads).lanes;
  }

  Result<std::string> write() {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    open_loop();
    LEMMA_ASSIGN_OR_RETURN(
        const ElementSource element,
        emit_element(nest_, indent_,
                     lanes_ > 1 ? LongReductions::across_lanes : LongReductions::in_order));
    // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
    if (element.statements.find(", ok)") != std::string::npos) line("std::uint8_t ok = 1;");
    text_ += element.statements;
    lowering::Linear place;
    for (const LoopVariable axis : nest_.axes)
      place = lowering::combine(lowering::scale(place, nest_.graph.extent(axis)),
                                lowering::Linear::atom(axis));
    line(fmt::format("{}y[{}] = static_cast<{}>({});",
                     lanes_ > 1 ? "if (threads.rank % lanes == 0) " : "",
                     linear_text(nest_.graph, place), type, element.value));
    indent_ -= 2;
    line("}");
    return std::move(text_);
  }

 private:
  void line(std::string_view part) {
    text_ += std::string(static_cast<std::size_t>(indent_), ' ') + std::string(part) + "\n";
  }

  /// Numbers of elements have 32 bits where they can: divisions are much faster.
  std::string number_type() const {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    return all_ < most ? "std::uint32_t" : "std::uint64_t";
  }

  void open_loop() {
    std::string count;
    for (const LoopBounds& axis : bounds_)
      if (length_text(axis) != "1") count += (count.empty() ? "" : " * ") + length_text(axis);
    const std::string type = number_type();
    const std::string each = lanes_ > 1 ? " / lanes" : "";
    if (lanes_ > 1) line(fmt::format("constexpr unsigned lanes = {};  // of an element", lanes_));
    line(
        fmt::format("const {0} count = static_cast<{0}>({1});", type, count.empty() ? "1" : count));
    line(fmt::format(
        "for ({0} element = threads.rank{1}; element < count; element += threads.count{1}) {{",
        type, each));
    indent_ += 2;
    for (const std::string& index : index_lines(nest_.axes, bounds_, type, "element")) line(index);
  }

  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  int indent_;
  std::int64_t all_ = 1;
  std::int64_t lanes_ = 1;  // of an element
  std::string text_;
};

}  // namespace

std::string length_text(const LoopBounds& bounds) {
  if (bounds.first == "0") return bounds.end;
  if (bounds.end == bounds.first + " + 1") return "1";
  return fmt::format("({} - {})", bounds.end, bounds.first);
}

std::string index_text(const LoopBounds& bounds, const std::string& index) {
  return bounds.first == "0" ? index : fmt::format("{} + {}", bounds.first, index);
}

/// The last axis is the fastest.
std::vector<std::string> index_lines(const std::vector<LoopVariable>& axes,
                                     const std::vector<LoopBounds>& bounds, const std::string& type,
                                     const std::string& number) {
  std::vector<std::string> lines;
  // Rows and columns are numbered in one scope.
  const std::string rest = axes.size() > 1 ? number + "_rest" : number;
  if (axes.size() > 1) lines.push_back(fmt::format("{} {} = {};", type, rest, number));
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const std::string length = fmt::format("static_cast<{}>({})", type, length_text(bounds[axis]));
    lines.push_back(fmt::format("const std::int64_t {} = {};", variable_name(axes[axis]),
                                index_text(bounds[axis], axis > 0 ? rest + " % " + length : rest)));
    if (axis > 0) lines.push_back(fmt::format("{} /= {};", rest, length));
  }
  return lines;
}

Result<std::string> spread_nest_text(const LoweredOutput& nest,
                                     const std::vector<LoopBounds>& bounds,
                                     const std::vector<bool>& is_in_block,
                                     std::int64_t group_threads, int indent) {
  return SpreadWriter(nest, bounds, is_in_block, group_threads, indent).write();
}

}  // namespace lemma::backend
