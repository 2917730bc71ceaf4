#include "backend_cuda/emit/emit_block.h"

#include <algorithm>
#include <map>
#include <set>

#include "backend_cuda/emit/element_writer.h"
#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit/vector_reduction.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::RegionId;
using lowering::Term;
using lowering::TermNumber;

/// Loops over the lanes of a block, around statements for one element. Values that other groups compute are held in
/// arrays.
struct Group {
  struct Statement {
    std::string text;
    std::string unguarded;  // of a select whose condition holds for all of the block; or empty
    std::optional<TermNumber> term;  // that it computes
  };
  int indent = 0;
  bool goes_along_rows = false;  // of a block with channel lanes: the loop over rows is inside
  std::vector<Statement> statements;
  std::set<TermNumber> defined, used;
};

class BlockWriter : public ElementWriter {
 public:
  BlockWriter(const LoweredOutput& nest, const ElementBlock& block, const std::string& store,
              int indent)
      : ElementWriter(nest, indent),
        nest_(nest),
        block_(block),
        store_(store),
        variables_(lowering::set_of(nest.axes[block.lane_axis]) |
                   (block.has_rows() ? lowering::set_of(nest.axes[block.row_axis]) : 0)) {}

  Result<std::string> write_all() {
    const bool stores_along_rows = block_.has_channel_lanes();
    const bool is_split = stores_along_rows && operations_after_sums() > most_operations_of_a_store;
    if (is_split) LEMMA_RETURN_IF_ERROR(write_reads_along_rows());
    LEMMA_RETURN_IF_ERROR(write_parts(0));
    if (is_split) close_group();
    group().goes_along_rows = stores_along_rows;
    group().used.insert(nest_.root);
    group_line(fmt::format(fmt::runtime(store_), term_name(nest_.root)));
    close_group();
    return rendered();
  }

 private:
  bool is_in_lanes(TermNumber id) const { return (graph_.term(id).depends & variables_) != 0; }

  /// What is the same for the block comes first: nothing of it depends on the lanes.
  Result<void> write_parts(RegionId region) {
    for (const TermNumber id : plan_.regions[region].terms)
      if (!is_in_lanes(id)) LEMMA_RETURN_IF_ERROR(write_term(id));
    for (const TermNumber id : plan_.regions[region].terms) {
      if (!is_in_lanes(id) || written_.contains(id)) continue;
      LEMMA_RETURN_IF_ERROR(is_reduction(graph_.term(id).kind) ? write_sums(id) : add_to_group(id));
    }
    return {};
  }

  /// Of a block with channel lanes, what is done with each sum: it goes along the rows with the store, where vectors are short
  /// and far apart, or, where it is more than this, along the lanes, and only the store goes along the rows.
  static constexpr std::size_t most_operations_of_a_store = 3;
  std::size_t operations_after_sums() const {
    const std::vector<TermNumber>& terms = plan_.regions[0].terms;
    return static_cast<std::size_t>(
        std::count_if(terms.begin(), terms.end(), [this](TermNumber id) {
          const Term& term = graph_.term(id);
          return is_in_lanes(id) && term.kind != ExpressionKind::read && !is_reduction(term.kind);
        }));
  }

  /// Of a block with channel lanes, the elements of other operands that are neighbours along the rows: like the result, they
  /// are far apart along the lanes. What lies between goes along the lanes.
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
    group_line(fmt::format("{} = {};", held(id), neutral));
    held_.insert(id);
    declare_before_group(id);
    close_group();
    for (const RegionId loop : plan_.below[id]) {
      open_loop(loop);
      LEMMA_RETURN_IF_ERROR(write_parts(loop));
      if (loop != plan_.below[id].back()) close_group();
    }
    use(term.operands[0]);
    if (sums_products(term))
      for (const TermNumber factor : graph_.term(term.operands[0]).operands) use(factor);
    LEMMA_ASSIGN_OR_RETURN(const std::string step, accumulation_text(term, held(id)));
    group_line(fmt::format("{} = {};", held(id), step));
    close_group();
    close_loops(plan_.below[id].size());
    return {};
  }

  /// Results that stay in vectors until they have all their terms.
  Result<void> write_vectors(TermNumber id, const VectorReduction& reduction) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    LEMMA_ASSIGN_OR_RETURN(const std::string neutral, neutral_text(term));
    line("{} {}_held[{}][lanes];", type, term_name(id), rows_text());
    line("{{");
    indent_ += 2;
    line("constexpr std::int64_t count = vector_lanes<{}>(lanes);", type);
    line("Vector<{}, count> total[{}][lanes / count];", type, rows_text());
    open_parts();
    line("total[row][part] = Vector<{}, count>{{}} + {};", type, neutral);
    close_loops(2);
    line("[[maybe_unused]] const std::int64_t {0} = start_{0};", lane_name());
    for (const RegionId loop : plan_.below[id]) open_loop(loop);
    write_step(term.kind, reduction, type);
    close_loops(plan_.below[id].size());
    open_parts();
    line("store<count>(&{}_held[row][part * count], total[row][part]);", term_name(id));
    close_loops(2);
    indent_ -= 2;
    line("}}");
    held_.insert(id);
    return {};
  }

  void open_parts() {
    line("for (std::int64_t row = 0; row < {}; ++row) {{", rows_text());
    indent_ += 2;
    line("for (std::int64_t part = 0; part < lanes / count; ++part) {{");
    indent_ += 2;
  }

  /// One term of each result. What is the same for all rows is loaded before them.
  void write_step(ExpressionKind kind, const VectorReduction& reduction, const std::string& type) {
    const auto address = [this](TermNumber read) {
      return fmt::format("{}[{}]", input_name(graph_.term(read).input),
                         linear_text(graph_, graph_.address(graph_.term(read))));
    };
    const auto load_lanes = [&] {
      line("Vector<{}, count> across[lanes / count];", type);
      line("for (std::int64_t part = 0; part < lanes / count; ++part)");
      line("  load<count, {0}>(across[part], &{1} + part * count * {0});", reduction.step,
           address(reduction.across));
    };
    const auto load_scalar = [&] { line("const {} down = {};", type, address(*reduction.down)); };
    const bool across_first = !depends_on_row(reduction.across);
    const bool down_first = reduction.down && !depends_on_row(*reduction.down);
    if (across_first) load_lanes();
    if (down_first) load_scalar();
    line("for (std::int64_t row = 0; row < {}; ++row) {{", rows_text());
    indent_ += 2;
    if (block_.has_rows()) {
      const std::string name = variable_name(nest_.axes[block_.row_axis]);
      line("[[maybe_unused]] const std::int64_t {0} = start_{0} + row;", name);
    }
    if (!across_first) load_lanes();
    if (reduction.down && !down_first) load_scalar();
    line("for (std::int64_t part = 0; part < lanes / count; ++part)");
    if (kind == ExpressionKind::sum && reduction.down)
      line("  add_products<{}, count>(total[row][part], across[part], down);", type);
    else if (kind == ExpressionKind::sum)
      line("  total[row][part] += across[part];");
    else
      line("  take_{}(total[row][part], across[part]);",
           kind == ExpressionKind::minimum_over ? "minimum" : "maximum");
    close_loops(1);
  }

  bool depends_on_row(TermNumber id) const {
    return block_.has_rows() &&
           (graph_.term(id).depends & lowering::set_of(nest_.axes[block_.row_axis])) != 0;
  }
  std::string_view rows_text() const { return block_.has_rows() ? "rows" : "1"; }
  std::string lane_name() const { return variable_name(nest_.axes[block_.lane_axis]); }

  Group& group() {
    if (!is_open_) {
      flush_text();
      groups_.emplace_back();
      groups_.back().indent = indent_;
      is_open_ = true;
    }
    return groups_.back();
  }

  void close_group() {
    if (is_open_) pieces_.push_back({groups_.size() - 1, ""});
    is_open_ = false;
  }

  void flush_text() {
    if (!source_.empty()) pieces_.push_back({no_group, std::move(source_)});
    source_.clear();
  }

  void group_line(const std::string& text) {
    Group& at = group();
    at.statements.push_back(
        {std::string(static_cast<std::size_t>(at.indent + loop_depth()), ' ') + text + "\n",
         "",
         {}});
  }

  int loop_depth() const { return block_.has_rows() ? 4 : 2; }

  /// The statements that compute a term for one element, with all that lies below it.
  Result<void> add_to_group(TermNumber id) {
    group();
    Group::Statement statement;
    statement.term = id;
    LEMMA_ASSIGN_OR_RETURN(statement.text, captured([&] { return write_term(id); }));
    if (graph_.term(id).kind == ExpressionKind::select && has_linear_reads(plan_.below[id][0])) {
      LEMMA_ASSIGN_OR_RETURN(statement.unguarded, captured([&] { return write_unguarded(id); }));
    }
    group().statements.push_back(std::move(statement));
    collect(id);
    return {};
  }

  /// What is written, in place of going to the end of the source.
  template <typename Write>
  Result<std::string> captured(const Write& write) {
    std::string outside = std::move(source_);
    source_.clear();
    indent_ += loop_depth();
    const auto done = write();
    indent_ -= loop_depth();
    std::string text = std::move(source_);
    source_ = std::move(outside);
    if (!done) return tl::unexpected(done.error());
    return text;
  }

  /// A select whose condition holds, and whose reads are inside their tensors.
  Result<void> write_unguarded(TermNumber id) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    reads_are_inside_ = true;
    const auto done = write_region(plan_.below[id][0]);
    reads_are_inside_ = false;
    if (!done) return done;
    line("const {} {} = {};", type, term_name(id), term_name(term.operands[1]));
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

  /// Those that compute the condition, with what it is made of.
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
    for (const lowering::Linear& index : term.indices) use(index);
    for (const RegionId below : plan_.below[id])
      for (const TermNumber inner : plan_.regions[below].terms) collect(inner);
  }

  /// Comparisons of index arithmetic use what its forms are made of.
  void use_with_forms(TermNumber id) {
    use(id);
    use(graph_.form(id));
  }

  static std::string held(TermNumber id) { return term_name(id) + "_held[row][lane]"; }

  void declare_before_group(TermNumber id) { declared_[groups_.size() - 1].push_back(id); }

  std::string declaration(TermNumber id) const {
    const auto type = computed_type(graph_.term(id).lanes);
    return fmt::format("{} {}_held[{}][lanes];\n", type ? *type : "", term_name(id),
                       block_.has_rows() ? "rows" : "1");
  }

  std::string rendered() {
    flush_text();
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (const TermNumber id : groups_[i].used)
        if (!groups_[i].defined.contains(id) && !held_.contains(id))
          for (std::size_t j = 0; j < groups_.size(); ++j)
            if (groups_[j].defined.contains(id) && needed_.insert({j, id}).second)
              declared_[j].push_back(id);
    std::string text;
    for (const auto& [number, part] : pieces_)
      text += number == no_group ? part : group_text(number);
    return text;
  }

  std::string group_text(std::size_t number) {
    const Group& one = groups_[number];
    const std::string space(static_cast<std::size_t>(one.indent), ' ');
    std::string text;
    for (const TermNumber id : declared_[number]) text += space + declaration(id);
    const std::string whole = whole_block_text(one);
    if (!whole.empty()) {
      text += whole + space + "if (is_whole) {\n";
      text += loops_text(number, [&](const Group::Statement& statement) {
        return statement.unguarded.empty() ? statement.text
                                           : unused_text(one, statement) + statement.unguarded;
      });
      text += space + "} else {\n";
    }
    text += loops_text(number, [](const Group::Statement& statement) { return statement.text; });
    if (!whole.empty()) text += space + "}\n";
    return block_.has_rows() ? text : with_row_zero(std::move(text));
  }

  /// The guard of a select that is written without it may have no other use.
  std::string unused_text(const Group& one, const Group::Statement& statement) const {
    return fmt::format("{}static_cast<void>({});\n",
                       std::string(static_cast<std::size_t>(one.indent + loop_depth()), ' '),
                       term_name(graph_.term(*statement.term).operands[0]));
  }

  /// Loops over the block with these steps.
  template <typename Text>
  std::string loops_text(std::size_t number, const Text& statement_text) {
    const Group& one = groups_[number];
    const std::string inner(static_cast<std::size_t>(one.indent + loop_depth()), ' ');
    std::string text = opening_text(one, "1", "1");
    for (const TermNumber id : one.used)
      if (!one.defined.contains(id) && is_held_somewhere(id)) {
        const auto type = computed_type(graph_.term(id).lanes);
        text += fmt::format("{}[[maybe_unused]] const {} {} = {};\n", inner, type ? *type : "",
                            term_name(id), held(id));
      }
    for (const Group::Statement& statement : one.statements) text += statement_text(statement);
    for (const auto& [where, id] : needed_)
      if (where == number) text += fmt::format("{}{} = {};\n", inner, held(id), term_name(id));
    return text + closing_text(one);
  }

  std::string opening_text(const Group& one, std::string_view row_step,
                           std::string_view lane_step) const {
    const std::string space(static_cast<std::size_t>(one.indent), ' ');
    const std::string inner(static_cast<std::size_t>(one.indent + loop_depth()), ' ');
    std::string text = space;
    const std::string over_rows =
        fmt::format("for (std::int64_t row = 0; row < rows; row += {}) {{\n", row_step);
    const std::string over_lanes =
        fmt::format("for (std::int64_t lane = 0; lane < lanes; lane += {}) {{\n", lane_step);
    if (one.goes_along_rows)
      text += over_lanes + space + "  " + over_rows;
    else
      text += (block_.has_rows() ? over_rows + space + "  " : "") + over_lanes;
    if (block_.has_rows()) text += index_text(block_.row_axis, "row", inner);
    return text + index_text(block_.lane_axis, "lane", inner);
  }

  std::string closing_text(const Group& one) const {
    const std::string space(static_cast<std::size_t>(one.indent), ' ');
    return block_.has_rows() ? space + "  }\n" + space + "}\n" : space + "}\n";
  }

  /// Declares `is_whole`: the guards of the group hold for all of the block, and what they guard is read inside.
  /// All are bounds of linear forms, so that the corners of the block decide. Empty where that is not so, or there
  /// is no guard.
  std::string whole_block_text(const Group& one) const {
    std::set<TermNumber> conditions;
    std::vector<std::string> demands;
    for (const Group::Statement& statement : one.statements) {
      if (statement.unguarded.empty()) continue;
      const TermNumber guard = graph_.term(*statement.term).operands[0];
      if (!is_decided_at_corners(guard, one)) return "";
      find_conditions(guard, conditions);
      demands.push_back(term_name(guard) + " != 0");
      visit_reads(plan_.below[*statement.term][0], [&](const Term& read) {
        for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
          if (!graph_.is_inside(read, axis))
            demands.push_back(fmt::format("is_inside({}, {})",
                                          linear_text(graph_, read.indices[axis]),
                                          graph_.inputs()[read.input].sizes[axis]));
      });
    }
    if (demands.empty()) return "";
    const std::string space(static_cast<std::size_t>(one.indent), ' ');
    std::string text = space + "bool is_whole = true;\n";
    text += opening_text(one, "rows > 1 ? rows - 1 : 1", "lanes > 1 ? lanes - 1 : 1");
    for (const Group::Statement& statement : one.statements)
      if (statement.term && conditions.contains(*statement.term)) text += statement.text;
    for (const std::string& demand : demands)
      text += fmt::format("{}is_whole = is_whole && {};\n",
                          std::string(static_cast<std::size_t>(one.indent + loop_depth()), ' '),
                          demand);
    return text + closing_text(one);
  }

  static std::string with_row_zero(std::string text) {
    const std::string from = "[row][lane]", to = "[0][lane]";
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to);
    return text;
  }

  bool is_held_somewhere(TermNumber id) const {
    return held_.contains(id) || std::any_of(needed_.begin(), needed_.end(),
                                             [id](const auto& each) { return each.second == id; });
  }

  std::string index_text(std::size_t axis, std::string_view counter,
                         const std::string& inner) const {
    const std::string name = variable_name(nest_.axes[axis]);
    return fmt::format("{}[[maybe_unused]] const std::int64_t {} = start_{} + {};\n", inner, name,
                       name, counter);
  }

  static constexpr std::size_t no_group = static_cast<std::size_t>(-1);

  const LoweredOutput& nest_;
  const ElementBlock& block_;
  const std::string& store_;
  lowering::VariableSet variables_;
  std::vector<Group> groups_;
  bool is_open_ = false;
  std::set<TermNumber> written_;                             // before the others of their region
  std::vector<std::pair<std::size_t, std::string>> pieces_;  // a group, or text
  std::set<TermNumber> held_;                                // reductions
  std::set<std::pair<std::size_t, TermNumber>> needed_;      // by other groups
  std::map<std::size_t, std::vector<TermNumber>> declared_;  // before a group
};

}  // namespace

Result<std::string> block_sizes_text(const LoweredOutput& nest, const ElementBlock& block) {
  LEMMA_ASSIGN_OR_RETURN(const std::string type,
                         computed_type(lowering::lane_kind(nest.type, nest.graph.domain())));
  std::string text =
      fmt::format("constexpr std::int64_t lanes = {}<{}>({})",
                  block.has_rows() ? "lanes_of_block" : "lanes_of_row", type, block.lane_extent);
  if (block.has_channel_lanes())
    text += fmt::format(", rows = rows_of_panel<{}>({}, lanes)", type, block.row_extent);
  else if (block.has_rows())
    text += fmt::format(", rows = rows_of_block({})", block.row_extent);
  return text + ";";
}

Result<std::string> emit_block(const LoweredOutput& nest, const ElementBlock& block,
                               const std::string& store, int indent) {
  return BlockWriter(nest, block, store, indent).write_all();
}

}  // namespace lemma::backend
