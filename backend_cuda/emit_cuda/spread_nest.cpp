#include "backend_cuda/emit_cuda/spread_nest.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "backend/blocks/shared_terms.h"
#include "backend/emit/emit_element.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using source::Statements;

constexpr std::int64_t bytes_of_access = 16;

bool is_read_together(const LoweredOutput& nest, const lowering::Term& read,
                      const std::vector<bool>& is_in_block, std::int64_t together) {
  if (together == 1 || is_in_block[read.input] ||
      together * static_cast<std::int64_t>(byte_size(read.type)) > bytes_of_access)
    return false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!nest.graph.is_inside(read, axis)) return false;
  lowering::Linear rest = nest.graph.address(read);
  for (const LoopVariable axis : nest.axes) {
    const std::int64_t step = rest.coefficient(axis);
    const bool is_last = axis == nest.axes.back();
    if (is_last ? step != 1 : step % together != 0) return false;
    rest = lowering::combine(rest, lowering::Linear::atom(axis), -step);
  }
  return rest.terms.empty() && rest.constant % together == 0;
}

class SpreadWriter {
 public:
  SpreadWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
               const std::vector<bool>& is_in_block, bool is_stored_in_memory,
               std::int64_t group_threads, std::int64_t warp_lanes)
      : nest_(nest),
        bounds_(bounds),
        is_in_block_(is_in_block),
        is_stored_in_memory_(is_stored_in_memory) {
    std::vector<std::int64_t> lengths;
    std::int64_t least = 1;
    for (const LoopBounds& axis : bounds_) {
      lengths.push_back(std::max<std::int64_t>(1, axis.least));
      least *= lengths.back();
      all_ *= axis.extent;
    }
    lanes_ = spread_of(nest, is_in_block, std::move(lengths), group_threads, warp_lanes).lanes;
    if (lanes_ == 1 && !bounds_.empty())
      batch_ = batch_of(nest, bounds_.back().multiple, least, group_threads);
  }

  Result<Statements> write() {
    LEMMA_ASSIGN_OR_RETURN(type_, stored_type(nest_.type));
    LEMMA_ASSIGN_OR_RETURN(
        ElementSource element,
        lanes_ > 1 ? emit_element_across_lanes(nest_, terms_of_lanes(nest_, is_in_block_, lanes_))
                   : emit_element(nest_, LongReductions::in_order));
    open_loop();
    if (batch_.elements() > 1)
      write_batch(std::move(element));
    else
      write_element(std::move(element));
    source_.close();
    return source_.take();
  }

 private:
  void write_element(ElementSource element) {
    source_.add(declare_indices(nest_.axes, bounds_, number_type(), "element"));
    // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
    source_.add(source::with_ok(std::move(element.statements)));
    source::Assignment store = ElementStore{fmt::format("y[{}]", place()), type_}.of(element.value);
    if (lanes_ > 1) store.condition = "threads.rank % lanes == 0";
    source_.add(std::move(store));
  }

  std::map<std::uint32_t, lowering::TermNumber> reads_together() const {
    return reads_of_neighbours(nest_, is_in_block_, batch_.together);
  }

  /// Reads, before a loop over neighbours, what each of them needs one of.
  void read_together(const std::map<std::uint32_t, lowering::TermNumber>& reads) {
    if (reads.empty()) return;
    for (const auto& [input, id] : reads)
      source_.add(source::Declaration{
          .type = fmt::format("ptx::Together<{}, {}>",
                              stored_type(nest_.graph.inputs()[input].type).value_or(""),
                              batch_.together),
          .name = fmt::format("near{}", input)});
    source_.open(source::Block{});
    source_.add(source::constant("unsigned", "neighbour", "0"));
    source_.add(indices_of_neighbour());
    for (const auto& [input, id] : reads)
      source_.add(source::Assignment{
          fmt::format("near{}", input),
          fmt::format("ptx::load_together<{}>({} + ({}))", batch_.together, input_name(input),
                      linear_text(nest_.graph, nest_.graph.address(nest_.graph.term(id))))});
    source_.close();
  }

  /// Results of all groups first. A group behind the last one computes that one again, and stores nothing.
  void write_batch(ElementSource element) {
    const std::string groups = fmt::format("{}", batch_.groups),
                      together = fmt::format("{}", batch_.together);
    const auto reads = reads_together();
    source_.add(source::Declaration{.type = fmt::format("ptx::Together<{}, {}>", type_, together),
                                    .name = "results",
                                    .extents = {groups}});
    open_unrolled("group", groups);
    source_.add(source::constant(number_type(), "own", "element + group * threads.count"));
    source_.add(source::constant(number_type(), "number", "own < count ? own : count - 1"));
    read_together(reads);
    open_unrolled("neighbour", together);
    source_.add(indices_of_neighbour());
    for (const auto& [input, id] : reads)
      source_.add(
          source::constant(fmt::format("KnownElement<{}>",
                                       stored_type(nest_.graph.inputs()[input].type).value_or("")),
                           input_name(input), fmt::format("{{near{}.at[neighbour]}}", input)));
    source_.add(source::with_ok(std::move(element.statements)));
    source_.add(ElementStore{"results[group].at[neighbour]", type_}.of(element.value));
    source_.close(2);
    open_unrolled("group", groups);
    source_.add(source::constant(number_type(), "number", "element + group * threads.count"));
    source_.open(source::Guard{"number < count", {}, {}});
    if (is_stored_in_memory_) {
      source_.add(source::constant("unsigned", "neighbour", "0"));
      source_.add(indices_of_neighbour());
      source_.add(source::Call{"ptx::store_together",
                               {fmt::format("y + ({})", place()), "results[group]"}});
      source_.close(2);
      return;
    }
    open_unrolled("neighbour", together);
    source_.add(indices_of_neighbour());
    source_.add(source::Assignment{fmt::format("y[{}]", place()), "results[group].at[neighbour]"});
    source_.close(3);
  }

  void open_unrolled(const std::string& variable, const std::string& count) {
    source::Loop loop = source::counting_loop(variable, "0", count, "1", "unsigned");
    loop.is_unrolled = true;
    source_.open(std::move(loop));
  }

  /// Numbers count what lies side by side as one.
  Statements indices_of_neighbour() const {
    const LoopBounds& last = bounds_.back();
    Statements indices = declare_indices(nest_.axes, in_batches(), number_type(), "number");
    // The last axis is declared first, or second where there are others.
    auto& declaration = std::get<source::Declaration>(indices[nest_.axes.size() > 1 ? 1 : 0].kind);
    const std::string index = nest_.axes.size() > 1
                                  ? fmt::format("number_rest % {}", length_of_batches(last))
                                  : std::string("number");
    declaration.value = index_text(
        last,
        fmt::format("static_cast<std::int64_t>({}) * {} + neighbour", index, batch_.together));
    // An axis of which neighbours read nothing else than what was read together.
    for (source::Statement& statement : indices)
      if (auto* const index_of_axis = std::get_if<source::Declaration>(&statement.kind))
        index_of_axis->may_be_unused = true;
    return indices;
  }

  std::string length_of_batches(const LoopBounds& axis) const {
    return fmt::format("static_cast<{}>({} / {})", number_type(), length_text(axis),
                       batch_.together);
  }

  /// The bounds, where the last axis counts what lies side by side as one.
  std::vector<LoopBounds> in_batches() const {
    std::vector<LoopBounds> bounds = bounds_;
    LoopBounds& last = bounds.back();
    last.end = fmt::format("{} / {}", length_text(last), batch_.together);
    last.first = "0";
    return bounds;
  }

  std::string place() const {
    lowering::Linear place;
    for (const LoopVariable axis : nest_.axes)
      place = lowering::combine(lowering::scale(place, nest_.graph.extent(axis)),
                                lowering::Linear::atom(axis));
    return linear_text(nest_.graph, place);
  }

  /// Numbers of elements have 32 bits where they can: divisions are much faster.
  std::string number_type() const {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    return all_ < most ? "std::uint32_t" : "std::uint64_t";
  }

  void open_loop() {
    const std::string type = number_type();
    const std::string of_lanes = lanes_ > 1 ? " / lanes" : "";
    if (lanes_ > 1) {
      source::Declaration lanes =
          source::compile_time_constant("unsigned", "lanes", fmt::format("{}", lanes_));
      lanes.comment = "of an element";
      source_.add(std::move(lanes));
    }
    std::vector<LoopBounds> longer;
    for (const LoopBounds& axis : batch_.together > 1 ? in_batches() : bounds_)
      if (length_text(axis) != "1") longer.push_back(axis);
    source_.add(source::constant(type, "count",
                                 fmt::format("static_cast<{}>({})", type, count_text(longer))));
    const std::string step = batch_.groups > 1 ? fmt::format("{} * threads.count", batch_.groups)
                                               : "threads.count" + of_lanes;
    source_.open(source::counting_loop("element", "threads.rank" + of_lanes, "count", step, type));
  }

  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  const std::vector<bool>& is_in_block_;
  bool is_stored_in_memory_;
  std::int64_t all_ = 1;
  std::int64_t lanes_ = 1;  // of an element
  ElementBatch batch_;
  std::string type_;  // of stored elements
  source::Builder source_;
};

}  // namespace

std::map<std::uint32_t, lowering::TermNumber> reads_of_neighbours(
    const LoweredOutput& nest, const std::vector<bool>& is_in_block, std::int64_t together) {
  std::map<std::uint32_t, lowering::TermNumber> reads;
  std::set<std::uint32_t> others;
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
    const lowering::Term& term = nest.graph.term(id);
    if (term.kind != ExpressionKind::read) continue;
    if (!is_read_together(nest, term, is_in_block, together) ||
        !reads.try_emplace(term.input, id).second)
      others.insert(term.input);
  }
  for (const std::uint32_t input : others) reads.erase(input);
  return reads;
}

std::string length_text(const LoopBounds& bounds) {
  if (bounds.first == "0") return bounds.end;
  if (bounds.end == bounds.first + " + 1") return "1";
  return fmt::format("({} - {})", bounds.end, bounds.first);
}

std::string count_text(const std::vector<LoopBounds>& bounds) {
  std::string count;
  for (const LoopBounds& axis : bounds) count += (count.empty() ? "" : " * ") + length_text(axis);
  return count.empty() ? "1" : count;
}

std::string index_text(const LoopBounds& bounds, const std::string& index) {
  return bounds.first == "0" ? index : fmt::format("{} + {}", bounds.first, index);
}

/// The last axis is the fastest.
Statements declare_indices(const std::vector<LoopVariable>& axes,
                           const std::vector<LoopBounds>& bounds, const std::string& type,
                           const std::string& number) {
  Statements statements;
  // Rows and columns are numbered in one scope.
  const std::string rest = axes.size() > 1 ? number + "_rest" : number;
  if (axes.size() > 1)
    statements.push_back(source::Declaration{.type = type, .name = rest, .value = number});
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const std::string length = fmt::format("static_cast<{}>({})", type, length_text(bounds[axis]));
    statements.push_back(
        source::constant("std::int64_t", variable_name(axes[axis]),
                         index_text(bounds[axis], axis > 0 ? rest + " % " + length : rest)));
    if (axis > 0) statements.push_back(source::Assignment{rest, length, "/="});
  }
  return statements;
}

Result<Statements> emit_spread_nest(const LoweredOutput& nest,
                                    const std::vector<LoopBounds>& bounds,
                                    const std::vector<bool>& is_in_block, bool is_stored_in_memory,
                                    std::int64_t group_threads, std::int64_t warp_lanes) {
  return SpreadWriter(nest, bounds, is_in_block, is_stored_in_memory, group_threads, warp_lanes)
      .write();
}

}  // namespace lemma::backend
