#include "backend/emit/emit_block.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/block_prefetch.h"
#include "backend/emit/element_writer.h"
#include "backend/emit/source_types.h"
#include "backend/emit/vector_reduction.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::RegionId;
using lowering::Term;
using lowering::TermNumber;
using source::Statements;

/// Loops over the lanes of a block, around statements for one element. Values that other groups compute are held in
/// arrays.
struct Group {
  struct Step {
    Statements statements;
    Statements unguarded = {};  // of a select whose condition holds for all of the block; or empty
    std::optional<TermNumber> term = {};  // that it computes
  };
  bool goes_along_rows = false;  // of a block with channel lanes: the loop over rows is inside
  bool is_of_lanes = false;      // the same for all rows: there is no loop over them
  std::vector<Step> steps;
  std::set<TermNumber> defined, used;
};

class BlockWriter : public ElementWriter {
 public:
  BlockWriter(const LoweredOutput& nest, const ElementBlock& block, const ElementStore& store,
              bool has_quotients)
      : ElementWriter(nest),
        nest_(nest),
        block_(block),
        store_(store),
        has_quotients_(has_quotients),
        variables_(lowering::set_of(nest.axes[block.lane_axis]) |
                   (block.has_rows() ? lowering::set_of(nest.axes[block.row_axis]) : 0)) {}

  Result<Statements> write_all() {
    const bool stores_along_rows = block_.has_channel_lanes();
    const bool is_split = stores_along_rows && operations_after_sums() > most_operations_of_a_store;
    if (is_split) LEMMA_RETURN_IF_ERROR(write_reads_along_rows());
    LEMMA_RETURN_IF_ERROR(write_parts(0));
    if (block_.converts && nest_.type == DataType::f16 && is_in_lanes(nest_.root)) {
      write_narrowed();
      return with_groups();
    }
    if (is_split || is_narrowed_last()) close_group();
    group().goes_along_rows = stores_along_rows;
    group().used.insert(nest_.root);
    add_to_group(store_.of(term_name(nest_.root)));
    close_group();
    return with_groups();
  }

 private:
  bool is_in_lanes(TermNumber id) const { return (graph_.term(id).depends & variables_) != 0; }

  bool is_same_for_row(TermNumber id) const override { return has_quotients_ && !is_in_lanes(id); }

  /// Writes the parts of the block. What is the same for all of it comes first: nothing of it
  /// depends on the lanes.
  Result<void> write_parts(RegionId region) {
    for (const TermNumber id : plan_.regions[region].terms)
      if (!is_in_lanes(id)) LEMMA_RETURN_IF_ERROR(write_term(id));
    if (has_shared_places()) LEMMA_RETURN_IF_ERROR(write_shared(region));
    for (const TermNumber id : plan_.regions[region].terms) {
      if (!is_in_lanes(id) || written_.contains(id)) continue;
      if (block_.converts && reads_halves_along(graph_, id, nest_.axes[block_.lane_axis]))
        write_widened(id);
      else if (block_.converts && !function_of_lanes(id).empty())
        write_for_lanes(id);
      else
        LEMMA_RETURN_IF_ERROR(is_reduction(graph_.term(id).kind) ? write_sums(id)
                                                                 : add_to_group(id));
    }
    return {};
  }

  /// The lanes of a read of f16, converted.
  void write_widened(TermNumber id) {
    close_group();
    source_.add(declaration_of_held(id, "float"));
    source_.open(source::Block{});
    source_.add(index_declaration(block_.lane_axis, ""));
    source_.add(source::Call{"widen<lanes>", {held_row(id), "&" + element_read(id)}});
    source_.close();
    held_.insert(id);
  }

  /// A term that a function computes for all lanes.
  void write_for_lanes(TermNumber id) {
    const TermNumber from = graph_.term(id).operands[0];
    hold(from);
    source_.add(declaration_of_held(id, "float"));
    source_.add(source::Call{function_of_lanes(id) + "<lanes>", {held_row(id), held_row(from)}});
    held_.insert(id);
  }

  /// Stores the lanes of the result, converted.
  void write_narrowed() {
    const TermNumber from =
        is_rounded_to_f16(nest_.root) ? graph_.term(nest_.root).operands[0] : nest_.root;
    hold(from);
    source_.open(source::Block{});
    source_.add(index_declaration(block_.lane_axis, ""));
    source_.add(source::Call{"narrow<lanes>", {"&" + store_.target, held_row(from)}});
    source_.close();
  }

  /// Keeps a value of all lanes in its array, behind what has been written so far.
  void hold(TermNumber id) {
    close_group();
    if (held_.contains(id)) return;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].defined.contains(id) && needed_.insert({i, id}).second)
        declared_[i].push_back(id);
  }

  static std::string held_row(TermNumber id) { return term_name(id) + "_held[0]"; }

  /// Whether elements are read at places that have been computed, and that are the same for all rows of a block.
  bool has_shared_places() const {
    if (!block_.has_rows() || block_.has_channel_lanes()) return false;
    for (TermNumber id = 0; id < graph_.size(); ++id)
      if (graph_.term(id).kind == ExpressionKind::read && shared_place_of(id)) return true;
    return false;
  }

  std::optional<GatheredPlace> shared_place_of(TermNumber read) const {
    const Term& term = graph_.term(read);
    auto gathered = gathered_place(term);
    if (!gathered || !depends_on_row(read)) return std::nullopt;
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
      if (!graph_.is_inside(term, axis) && depends_on_row(term.indices[axis])) return std::nullopt;
    return gathered;
  }

  /// Writes what is the same for all rows of a block in front of what is not: terms that need no sum of the region, and the
  /// places of reads.
  Result<void> write_shared(RegionId region) {
    const std::vector<TermNumber>& terms = plan_.regions[region].terms;
    std::set<TermNumber> later;  // and what is computed of it
    for (const TermNumber id : terms) {
      const Term& term = graph_.term(id);
      if (!is_in_lanes(id)) continue;
      if (is_reduction(term.kind) || depends_on_row(id) || uses_any(id, later) ||
          lowering::compares_linear(graph_, term)) {
        later.insert(id);
        continue;
      }
      group().is_of_lanes = true;
      LEMMA_RETURN_IF_ERROR(add_to_group(id));
      written_.insert(id);
    }
    add_places(region, later);
    close_group();
    return {};
  }

  /// Those of a region and of the branches of choices, whose terms are computed whatever the condition is.
  void add_places(RegionId region, std::set<TermNumber>& later) {
    for (const TermNumber id : plan_.regions[region].terms) {
      const Term& term = graph_.term(id);
      if (term.kind == ExpressionKind::select && is_chosen(id))
        for (const RegionId below : plan_.below[id]) {
          // What a branch computes is not known before it.
          const std::vector<TermNumber>& inner = plan_.regions[below].terms;
          later.insert(inner.begin(), inner.end());
          add_places(below, later);
        }
      if (term.kind != ExpressionKind::read) continue;
      const auto place = shared_place_of(id);
      later.erase(id);
      if (place && !uses_any(id, later)) {
        group().is_of_lanes = true;
        add_place(id, *place);
      }
      later.insert(id);
    }
  }

  /// The place of a read as a value of its own, as narrow as it can be: processors gather more elements by narrow numbers.
  void add_place(TermNumber read, const GatheredPlace& gathered) {
    std::int64_t elements = 1;
    for (const std::int64_t size : graph_.inputs()[graph_.term(read).input].sizes) elements *= size;
    const std::string type =
        elements <= std::numeric_limits<std::int32_t>::max() ? "std::int32_t" : "std::int64_t";
    const TermNumber place = static_cast<TermNumber>(graph_.size()) + read;
    places_.emplace(read, type);
    add_to_group(source::constant(type, term_name(place),
                                  fmt::format("{} ? static_cast<{}>({}) : 0", gathered.inside, type,
                                              linear_text(graph_, gathered.place))));
    group().defined.insert(place);
    for (const lowering::Linear& index : graph_.term(read).indices) use(index);
  }

  Result<source::Expression> read_text(TermNumber id) const override {
    if (!places_.contains(id)) return ElementWriter::read_text(id);
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    const auto gathered = gathered_place(term);
    return fmt::format("static_cast<{}>((&{}[{}])[{}])", type, input_name(term.input),
                       linear_text(graph_, gathered->beside),
                       term_name(static_cast<TermNumber>(graph_.size()) + id));
  }

  /// Whether real numbers become integers of 8 bits last, which have a loop of their own: compilers make vectors of as many
  /// elements as the smallest type of a loop has in a register, or of so few of the larger types as there are lanes.
  bool is_narrowed_last() const {
    const Term& root = graph_.term(nest_.root);
    return (nest_.type == DataType::u8 || nest_.type == DataType::i8) &&
           graph_.domain() == lowering::Domain::native && is_in_lanes(nest_.root) &&
           root.kind == ExpressionKind::cast && is_real(graph_.term(root.operands[0]).type);
  }

  /// The type of a value that other groups read.
  Result<std::string> held_type(TermNumber id) const {
    if (id >= graph_.size()) return places_.at(id - static_cast<TermNumber>(graph_.size()));
    if (id == nest_.root && is_narrowed_last()) return std::string("std::int32_t");
    return computed_type(graph_.term(id).lanes);
  }

  /// The most operations on each sum of a block with channel lanes that go along the rows with the store, where vectors
  /// are short and far apart. Where there are more, they go along the lanes, and only the store goes along the rows.
  static constexpr std::size_t most_operations_of_a_store = 3;
  std::size_t operations_after_sums() const {
    const std::vector<TermNumber>& terms = plan_.regions[0].terms;
    return static_cast<std::size_t>(
        std::count_if(terms.begin(), terms.end(), [this](TermNumber id) {
          const Term& term = graph_.term(id);
          return is_in_lanes(id) && term.kind != ExpressionKind::read && !is_reduction(term.kind);
        }));
  }

  /// Writes, in a block with channel lanes, the elements of other operands that are neighbours along the rows: like the
  /// result, they are far apart along the lanes. What lies between goes along the lanes.
  Result<void> write_reads_along_rows() {
    for (const TermNumber id : plan_.regions[0].terms) {
      const Term& term = graph_.term(id);
      if (term.kind != ExpressionKind::read || !depends_on_row(id) || !has_linear_indices(term))
        continue;
      group().goes_along_rows = true;
      LEMMA_RETURN_IF_ERROR(add_to_group(id));
      written_.insert(id);
    }
    close_group();
    return {};
  }

  /// A reduction of each lane, side by side.
  Result<void> write_sums(TermNumber id) {
    if (const auto reduction = find_vector_reduction(nest_, block_, id)) {
      close_group();
      return write_vectors(id, *reduction);
    }
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string neutral, neutral_text(term));
    add_to_group(source::Assignment{held(id), neutral});
    held_.insert(id);
    declare_before_group(id);
    close_group();
    for (const RegionId loop : plan_.below[id]) {
      open_loop(loop);
      LEMMA_RETURN_IF_ERROR(write_parts(loop));
      if (loop != plan_.below[id].back()) close_group();
    }
    use(term.operands[0]);
    if (const auto product = summed_product_of(term)) {
      for (const TermNumber factor : product->factors) use(factor);
      if (product->condition) use(*product->condition);
    }
    LEMMA_ASSIGN_OR_RETURN(source::Expression step, accumulation_text(term, held(id)));
    add_to_group(source::Assignment{held(id), std::move(step)});
    close_group();
    source_.close(plan_.below[id].size());
    return {};
  }

  /// Results that stay in vectors until they have all their terms.
  Result<void> write_vectors(TermNumber id, const VectorReduction& reduction) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(std::string type, computed_type(term.lanes));
    LEMMA_ASSIGN_OR_RETURN(std::string neutral, neutral_text(term));
    if (reduction.has_groups()) {
      type = "std::int32_t";
      neutral = "0";
    }
    source_.add(declaration_of_held(id, type));
    source_.open(source::Block{});
    source_.add(source::compile_time_constant("std::int64_t", "count",
                                              fmt::format("vector_lanes<{}>(lanes)", type)));
    const std::string vector = fmt::format("Vector<{}, count>", type);
    source_.add(source::Declaration{
        .type = vector, .name = "total", .extents = {rows_text(), "lanes / count"}});
    open_parts_of_rows();
    source_.add(source::Assignment{"total[row][part]", vector + "{} + " + neutral});
    source_.close(2);
    source_.add(index_declaration(block_.lane_axis, ""));
    // All elements of a group are multiplied at once.
    const std::size_t loops = plan_.below[id].size() - (reduction.has_groups() ? 1 : 0);
    std::vector<LoopVariable> variables;
    for (std::size_t i = 0; i < loops; ++i)
      variables.push_back(plan_.regions[plan_.below[id][i]].variable);
    const auto prefetches = prefetch_terms(nest_, block_, reduction, variables);
    for (std::size_t i = 0; i < loops; ++i) {
      open_loop(plan_.below[id][i], "0", "1",
                i + 1 == loops ? block_.schedule.unroll.value_or(1) : 1);
      for (const TermPrefetch& prefetch : prefetches)
        if (prefetch.depth == i + 1) source_.add(prefetch.call);
    }
    if (reduction.has_groups())
      source_.add(source::constant("std::int64_t", variable_name(term.bound.back()), "0"));
    write_step(term.kind, reduction, type);
    source_.close(loops);
    open_parts_of_rows();
    source_.add(source::Call{
        "store<count>",
        {fmt::format("&{}_held[row][part * count]", term_name(id)), "total[row][part]"}});
    source_.close(3);
    held_.insert(id);
    return {};
  }

  void open_rows() { source_.open(source::counting_loop("row", "0", rows_text())); }
  void open_parts() { source_.open(source::counting_loop("part", "0", "lanes / count")); }
  void open_parts_of_rows() {
    open_rows();
    open_parts();
  }

  /// One term of each result. What is the same for all rows is loaded before them.
  void write_step(ExpressionKind kind, const VectorReduction& reduction, const std::string& type) {
    const bool across_first = !depends_on_row(reduction.across);
    const bool down_first = reduction.down && !depends_on_row(*reduction.down);
    const bool guards_first = std::none_of(reduction.guards.begin(), reduction.guards.end(),
                                           [this](TermNumber id) { return depends_on_row(id); });
    if (across_first) load_across(reduction, type);
    if (down_first) load_down(reduction, type);
    if (guards_first) find_lanes(reduction);
    open_rows();
    if (block_.has_rows()) source_.add(index_declaration(block_.row_axis, "row"));
    if (!guards_first) find_lanes(reduction);
    if (!across_first) load_across(reduction, type);
    if (reduction.down && !down_first) load_down(reduction, type);
    open_parts();
    const std::string total = "total[row][part]", across = "across[part]";
    if (reduction.has_groups())
      source_.add(source::Call{adder_of_groups(reduction), {total, across, "down"}});
    else if (!reduction.guards.empty())
      source_.add(source::Call{fmt::format("add_products_where<{}, count>", type),
                               {total, across, "down", "there[part]"}});
    else if (kind == ExpressionKind::sum && reduction.down)
      source_.add(
          source::Call{fmt::format("add_products<{}, count>", type), {total, across, "down"}});
    else if (kind == ExpressionKind::sum)
      source_.add(source::Assignment{total, across, "+="});
    else
      source_.add(source::Call{
          kind == ExpressionKind::minimum_over ? "take_minimum" : "take_maximum", {total, across}});
    source_.close(2);
  }

  /// Declares `there`: for each part a bit for each lane in which all guards hold.
  void find_lanes(const VectorReduction& reduction) {
    if (reduction.guards.empty()) return;
    const LoopVariable lane = nest_.axes[block_.lane_axis];
    source_.add(source::Declaration{
        .type = "std::uint64_t", .name = "there", .extents = {"lanes / count"}});
    open_parts();
    std::string text;
    for (const TermNumber id : reduction.guards) {
      lowering::Linear form = lowering::difference(graph_, graph_.term(id));
      if (graph_.term(id).kind == ExpressionKind::less_equal) form.constant -= 1;
      const std::int64_t step = form.coefficient(lane);
      text += fmt::format("{}lanes_below<count, {}>({} + part * count * {}LL)",
                          text.empty() ? "" : " & ", step, linear_text(graph_, form), step);
    }
    source_.add(source::Assignment{"there[part]", text});
    source_.close();
  }

  std::string element_read(TermNumber read) const {
    return fmt::format("{}[{}]", input_name(graph_.term(read).input),
                       linear_text(graph_, graph_.address(graph_.term(read))));
  }

  void load_across(const VectorReduction& reduction, const std::string& type) {
    source_.add(source::Declaration{.type = fmt::format("Vector<{}, count>", type),
                                    .name = "across",
                                    .extents = {"lanes / count"}});
    open_parts();
    const std::string element = "&" + element_read(reduction.across);
    const std::string first =
        reduction.has_groups() ? fmt::format("groups_at({})", element) : element;
    source_.add(source::Call{
        fmt::format("load<count, {}>", reduction.step),
        {"across[part]", fmt::format("{} + part * count * {}", first, reduction.step)}});
    source_.close();
  }

  void load_down(const VectorReduction& reduction, const std::string& type) {
    const std::string element = element_read(*reduction.down);
    source_.add(source::constant(
        type, "down", reduction.has_groups() ? fmt::format("group_at(&{})", element) : element));
  }

  std::string adder_of_groups(const VectorReduction& reduction) const {
    if (reduction.together == 2) return "add_products_of_pairs<count>";
    return fmt::format("add_products_of_bytes<count, {}>",
                       graph_.term(reduction.across).type == DataType::u8);
  }

  bool depends_on_row(lowering::VariableSet depends) const {
    return block_.has_rows() && (depends & lowering::set_of(nest_.axes[block_.row_axis])) != 0;
  }
  bool depends_on_row(TermNumber id) const { return depends_on_row(graph_.term(id).depends); }
  bool depends_on_row(const lowering::Linear& form) const {
    return depends_on_row(graph_.depends(form));
  }
  std::string rows_text() const { return block_.has_rows() ? "rows" : "1"; }

  /// The one that is open: statements of other kinds come before it or after it.
  Group& group() {
    if (!is_open_) {
      source_.add(source::Part{groups_.size()});
      groups_.emplace_back();
      is_open_ = true;
    }
    return groups_.back();
  }

  void close_group() { is_open_ = false; }

  void add_to_group(source::Statement statement) {
    Group::Step step;
    step.statements.push_back(std::move(statement));
    group().steps.push_back(std::move(step));
  }

  /// The statements that compute a term for one element, with all that lies below it.
  Result<void> add_to_group(TermNumber id) {
    group();
    Group::Step step;
    step.term = id;
    LEMMA_ASSIGN_OR_RETURN(step.statements, captured([&] { return write_term(id); }));
    if (graph_.term(id).kind == ExpressionKind::select && !is_chosen(id) &&
        has_linear_reads(plan_.below[id][0])) {
      LEMMA_ASSIGN_OR_RETURN(step.unguarded, captured([&] { return write_unguarded(id); }));
    }
    group().steps.push_back(std::move(step));
    collect(id);
    return {};
  }

  /// What is written, in place of going to the end of the source.
  template <typename Write>
  Result<Statements> captured(const Write& write) {
    source::Builder outside = std::exchange(source_, {});
    const auto done = write();
    source::Builder inside = std::exchange(source_, std::move(outside));
    if (!done) return tl::unexpected(done.error());
    return inside.take();
  }

  /// A select whose condition holds, and whose reads are inside their tensors.
  Result<void> write_unguarded(TermNumber id) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    reads_are_inside_ = true;
    const auto done = write_region(plan_.below[id][0]);
    reads_are_inside_ = false;
    if (!done) return done;
    source_.add(source::constant(type, term_name(id), term_name(term.operands[1])));
    return {};
  }

  template <typename Visit>
  void visit_reads(RegionId region, const Visit& visit) const {
    for (const TermNumber id : plan_.regions[region].terms) {
      if (graph_.term(id).kind == ExpressionKind::read) visit(graph_.term(id));
      for (const RegionId below : plan_.below[id]) visit_reads(below, visit);
    }
  }

  bool has_linear_reads(RegionId region) const {
    bool result = true;
    visit_reads(region,
                [&result](const Term& read) { result = result && has_linear_indices(read); });
    return result;
  }

  static bool has_linear_indices(const Term& read) {
    for (const lowering::Linear& index : read.indices)
      for (const auto& [atom, factor] : index.terms)
        if (atom >= lowering::first_term_atom) return false;
    return true;
  }

  /// Whether it holds for a whole block if it holds at the block's corners, and is computed in the group.
  bool is_decided_at_corners(TermNumber id, const Group& at) const {
    if (!is_in_lanes(id)) return true;
    const Term& term = graph_.term(id);
    if (!at.defined.contains(id)) return false;
    if (term.kind == ExpressionKind::logical_and)
      return is_decided_at_corners(term.operands[0], at) &&
             is_decided_at_corners(term.operands[1], at);
    return term.kind != ExpressionKind::equal && lowering::compares_linear(graph_, term);
  }

  /// Finds those terms that compute the condition, with what it is made of.
  void find_conditions(TermNumber id, std::set<TermNumber>& conditions) const {
    conditions.insert(id);
    if (graph_.term(id).kind == ExpressionKind::logical_and)
      for (const TermNumber operand : graph_.term(id).operands)
        find_conditions(operand, conditions);
  }

  void use(TermNumber id) {
    if (is_in_lanes(id)) group().used.insert(id);
  }

  void use(const lowering::Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= lowering::first_term_atom) use(atom - lowering::first_term_atom);
  }

  void collect(TermNumber id) {
    const Term& term = graph_.term(id);
    group().defined.insert(id);
    for (const TermNumber operand : term.operands) use_with_forms(operand);
    use(term.linear);
    if (places_.contains(id)) {
      group().used.insert(static_cast<TermNumber>(graph_.size()) + id);
      use(gathered_place(term)->beside);
    } else {
      for (const lowering::Linear& index : term.indices) use(index);
    }
    for (const RegionId below : plan_.below[id])
      for (const TermNumber inner : plan_.regions[below].terms) collect(inner);
  }

  /// Comparisons of index arithmetic use what its forms are made of.
  void use_with_forms(TermNumber id) {
    use(id);
    use(graph_.form(id));
  }

  /// Where the value of the element at `row` and `lane` is.
  std::string held(TermNumber id) const {
    return term_name(id) +
           (block_.has_rows() && !is_of_lanes(id) ? "_held[row][lane]" : "_held[0][lane]");
  }

  source::Declaration declaration_of_held(TermNumber id, const std::string& type) const {
    return {.type = type,
            .name = term_name(id) + "_held",
            .extents = {is_of_lanes(id) ? "1" : rows_text(), "lanes"},
            .alignment = block_.converts ? 64 : 0};
  }

  /// Whether a value is the same for all rows, in a group of its own.
  bool is_of_lanes(TermNumber id) const {
    return std::any_of(groups_.begin(), groups_.end(), [id](const Group& group) {
      return group.is_of_lanes && group.defined.contains(id);
    });
  }

  void declare_before_group(TermNumber id) { declared_[groups_.size() - 1].push_back(id); }

  /// Each group in its place, now that it is known which values others need.
  Result<Statements> with_groups() {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (const TermNumber id : groups_[i].used)
        if (!groups_[i].defined.contains(id) && !held_.contains(id))
          for (std::size_t j = 0; j < groups_.size(); ++j)
            if (groups_[j].defined.contains(id) && needed_.insert({j, id}).second)
              declared_[j].push_back(id);
    std::vector<Statements> groups;
    for (std::size_t number = 0; number < groups_.size(); ++number) {
      LEMMA_ASSIGN_OR_RETURN(Statements group, statements_of(number));
      groups.push_back(std::move(group));
    }
    Statements statements = source_.take();
    source::put_in(statements, [&](std::size_t number) { return std::move(groups[number]); });
    return statements;
  }

  Result<Statements> statements_of(std::size_t number) {
    const Group& group = groups_[number];
    source::Builder result;
    for (const TermNumber id : declared_[number]) {
      LEMMA_ASSIGN_OR_RETURN(const std::string type, held_type(id));
      result.add(declaration_of_held(id, type));
    }
    LEMMA_ASSIGN_OR_RETURN(source::Statement all, loops_over(number, false));
    const std::vector<std::string> demands = demands_of_guards(group);
    if (demands.empty()) {
      result.add(std::move(all));
      return result.take();
    }
    LEMMA_ASSIGN_OR_RETURN(source::Statement unguarded, loops_over(number, true));
    result.add(whole_block(group, demands));
    result.open(source::Guard{"is_whole", {}, {}});
    result.add(std::move(unguarded));
    result.otherwise();
    result.add(std::move(all));
    result.close();
    return result.take();
  }

  /// Loops over the block with the steps of a group, without guards that hold for all of the block, or as they are.
  Result<source::Statement> loops_over(std::size_t number, bool is_unguarded) {
    const Group& group = groups_[number];
    source::Builder result;
    for (const TermNumber id : group.used)
      if (!group.defined.contains(id) && is_held_somewhere(id)) {
        LEMMA_ASSIGN_OR_RETURN(const std::string type, value_type(id));
        source::Declaration value = source::constant(type, term_name(id), held(id));
        value.may_be_unused = true;
        result.add(std::move(value));
      }
    for (const Group::Step& step : group.steps) {
      if (!is_unguarded || step.unguarded.empty()) {
        result.add(step.statements);
        continue;
      }
      // The guard of a select that is written without it may have no other use.
      result.add(
          source::Call{"static_cast<void>", {term_name(graph_.term(*step.term).operands[0])}});
      result.add(step.unguarded);
    }
    for (const auto& [where, id] : needed_)
      if (where == number) result.add(source::Assignment{held(id), term_name(id)});
    return over_elements(group, "1", "1", result.take());
  }

  Result<std::string> value_type(TermNumber id) const {
    return id >= graph_.size() ? held_type(id) : computed_type(graph_.term(id).lanes);
  }

  source::Statement over_elements(const Group& group, const std::string& row_step,
                                  const std::string& lane_step, Statements statements) const {
    const source::Loop over_rows = long_loop("row", "rows", row_step);
    const source::Loop over_lanes = long_loop("lane", "lanes", lane_step);
    source::Builder result;
    if (group.goes_along_rows) result.open(over_lanes);
    const bool has_rows = block_.has_rows() && !group.is_of_lanes;
    if (has_rows) result.open(over_rows);
    if (!group.goes_along_rows) result.open(over_lanes);
    if (has_rows) result.add(index_declaration(block_.row_axis, "row"));
    result.add(index_declaration(block_.lane_axis, "lane"));
    result.add(std::move(statements));
    result.close(has_rows ? 2 : 1);
    return result.take().front();
  }

  /// A loop with the step in the same words, whatever it is.
  static source::Loop long_loop(const std::string& counter, const std::string& end,
                                const std::string& step) {
    source::Loop loop = source::counting_loop(counter, "0", end);
    loop.advance = counter + " += " + step;
    return loop;
  }

  /// Conditions for that the guards of the group hold for all of the block, and what they guard is read inside.
  /// All are bounds of linear forms, so that the corners of the block decide. None where that is not so, or there
  /// is no guard.
  std::vector<std::string> demands_of_guards(const Group& group) const {
    std::vector<std::string> demands;
    for (const Group::Step& step : group.steps) {
      if (step.unguarded.empty()) continue;
      const TermNumber guard = graph_.term(*step.term).operands[0];
      if (!is_decided_at_corners(guard, group)) return {};
      demands.push_back(term_name(guard) + " != 0");
      visit_reads(plan_.below[*step.term][0], [&](const Term& read) {
        for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
          if (!graph_.is_inside(read, axis))
            demands.push_back(fmt::format("is_inside({}, {})",
                                          linear_text(graph_, read.indices[axis]),
                                          graph_.inputs()[read.input].sizes[axis]));
      });
    }
    return demands;
  }

  /// Declares `is_whole`: the demands are met at the corners of the block.
  Statements whole_block(const Group& group, const std::vector<std::string>& demands) const {
    std::set<TermNumber> conditions;
    for (const Group::Step& step : group.steps)
      if (!step.unguarded.empty()) find_conditions(graph_.term(*step.term).operands[0], conditions);
    source::Builder at_corner;
    for (const Group::Step& step : group.steps)
      if (step.term && conditions.contains(*step.term)) at_corner.add(step.statements);
    for (const std::string& demand : demands)
      at_corner.add(source::Assignment{"is_whole", "is_whole && " + demand});
    return {source::Declaration{.type = "bool", .name = "is_whole", .value = "true"},
            over_elements(group, "rows > 1 ? rows - 1 : 1", "lanes > 1 ? lanes - 1 : 1",
                          at_corner.take())};
  }

  bool is_held_somewhere(TermNumber id) const {
    return held_.contains(id) ||
           std::any_of(needed_.begin(), needed_.end(),
                       [id](const auto& known_term) { return known_term.second == id; });
  }

  /// The index along an axis of the block: the first one, and further by a counter, or by none.
  source::Declaration index_declaration(std::size_t axis, const std::string& counter) const {
    const std::string name = variable_name(nest_.axes[axis]);
    source::Declaration index = source::constant(
        "std::int64_t", name, "start_" + name + (counter.empty() ? "" : " + " + counter));
    index.may_be_unused = true;
    return index;
  }

  const LoweredOutput& nest_;
  const ElementBlock& block_;
  const ElementStore& store_;
  bool has_quotients_;
  lowering::VariableSet variables_;
  std::vector<Group> groups_;
  bool is_open_ = false;
  std::set<TermNumber> written_;                         // before the others of their region
  std::set<TermNumber> held_;                            // reductions
  std::map<TermNumber, std::string> places_;             // types of the places of reads, by read
  std::set<std::pair<std::size_t, TermNumber>> needed_;  // by other groups
  std::map<std::size_t, std::vector<TermNumber>> declared_;  // before a group
};

/// The lanes of a block: those that fill a number of registers, or as many as the source chooses.
std::string lanes_text(const ElementBlock& block, const std::string& type) {
  if (!block.schedule.vectors)
    return fmt::format("{}<{}>({})", block.has_rows() ? "lanes_of_block" : "lanes_of_row", type,
                       block.lane_extent);
  const std::string in_register = fmt::format("register_elements<{}>", type);
  return fmt::format("{0} < {1} ? fitting({0}, {1}) : at_most({2}, {0} / {1}) * {1}",
                     block.lane_extent, in_register, *block.schedule.vectors);
}

std::string rows_text(const ElementBlock& block, const std::string& type) {
  if (block.schedule.rows)
    return fmt::format("even_parts({}, {})", block.row_extent, *block.schedule.rows);
  return fmt::format("{}<{}>({}, lanes)",
                     block.has_channel_lanes() ? "rows_of_panel" : "rows_of_block", type,
                     block.row_extent);
}

}  // namespace

Result<Statements> block_sizes(const LoweredOutput& nest, const ElementBlock& block) {
  if (block.converts)
    return Statements{source::compile_time_constant(
        "std::int64_t", "lanes",
        fmt::format("fitting({}, {})", block.lane_extent,
                    block.schedule.chunk.value_or(lanes_of_conversions)))};
  LEMMA_ASSIGN_OR_RETURN(std::string type,
                         computed_type(lowering::lane_kind(nest.type, nest.graph.domain())));
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    if (const auto reduction = find_vector_reduction(nest, block, id)) {
      // Their sums are what registers have to hold.
      LEMMA_ASSIGN_OR_RETURN(type, computed_type(nest.graph.term(id).lanes));
      if (!reduction->has_groups()) continue;
      type = "std::int32_t";
      break;
    }
  Statements sizes = {
      source::compile_time_constant("std::int64_t", "lanes", lanes_text(block, type))};
  if (block.has_rows())
    sizes.push_back(source::compile_time_constant("std::int64_t", "rows", rows_text(block, type)));
  return sizes;
}

Result<Statements> emit_block(const LoweredOutput& nest, const ElementBlock& block,
                              const ElementStore& store, bool has_quotients) {
  return BlockWriter(nest, block, store, has_quotients).write_all();
}

}  // namespace lemma::backend
