#include "backend/emit/block_groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/source_types.h"

namespace lemma::backend {

BlockGroups::BlockGroups(const lowering::LoweredOutput& nest, const ElementBlock& block)
    : ElementWriter(nest),
      nest_(nest),
      block_(block),
      variables_(lowering::set_of(nest.axes[block.lane_axis]) |
                 (block.has_rows() ? lowering::set_of(nest.axes[block.row_axis]) : 0)) {}

void BlockGroups::hold(TermNumber id) {
  close_group();
  if (held_.contains(id)) return;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].defined.contains(id) && needed_.insert({i, id}).second)
      declared_[i].push_back(id);
}

bool BlockGroups::is_narrowed_last() const {
  const Term& root = graph_.term(nest_.root);
  return (nest_.type == DataType::u8 || nest_.type == DataType::i8) &&
         graph_.domain() == lowering::Domain::native && is_in_lanes(nest_.root) &&
         root.kind == ExpressionKind::cast && is_real(graph_.term(root.operands[0]).type);
}

Result<std::string> BlockGroups::held_type(TermNumber id) const {
  if (id >= graph_.size()) return places_.at(id - static_cast<TermNumber>(graph_.size()));
  if (id == nest_.root && is_narrowed_last()) return std::string("std::int32_t");
  return computed_type(graph_.term(id).lanes);
}

bool BlockGroups::depends_on_row(lowering::VariableSet depends) const {
  return block_.has_rows() && (depends & lowering::set_of(nest_.axes[block_.row_axis])) != 0;
}

bool BlockGroups::depends_on_row(const lowering::Linear& form) const {
  return depends_on_row(graph_.depends(form));
}

BlockGroups::Group& BlockGroups::group() {
  if (!is_open_) {
    source_.add(source::Part{groups_.size()});
    groups_.emplace_back();
    is_open_ = true;
  }
  return groups_.back();
}

void BlockGroups::add_to_group(source::Statement statement) {
  Group::Step step;
  step.statements.push_back(std::move(statement));
  group().steps.push_back(std::move(step));
}

Result<void> BlockGroups::add_to_group(TermNumber id) {
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

Result<void> BlockGroups::write_unguarded(TermNumber id) {
  const Term& term = graph_.term(id);
  LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
  reads_are_inside_ = true;
  const auto done = write_region(plan_.below[id][0]);
  reads_are_inside_ = false;
  if (!done) return done;
  source_.add(source::constant(type, term_name(id), term_name(term.operands[1])));
  return {};
}

bool BlockGroups::has_linear_reads(RegionId region) const {
  bool result = true;
  visit_reads(region, [&result](const Term& read) { result = result && has_linear_indices(read); });
  return result;
}

bool BlockGroups::has_linear_indices(const Term& read) {
  for (const lowering::Linear& index : read.indices)
    for (const auto& [atom, factor] : index.terms)
      if (atom >= lowering::first_term_atom) return false;
  return true;
}

bool BlockGroups::is_decided_at_corners(TermNumber id, const Group& at) const {
  if (!is_in_lanes(id)) return true;
  const Term& term = graph_.term(id);
  if (!at.defined.contains(id)) return false;
  if (term.kind == ExpressionKind::logical_and)
    return is_decided_at_corners(term.operands[0], at) &&
           is_decided_at_corners(term.operands[1], at);
  return term.kind != ExpressionKind::equal && lowering::compares_linear(graph_, term);
}

void BlockGroups::find_conditions(TermNumber id, std::set<TermNumber>& conditions) const {
  conditions.insert(id);
  if (graph_.term(id).kind == ExpressionKind::logical_and)
    for (const TermNumber operand : graph_.term(id).operands) find_conditions(operand, conditions);
}

void BlockGroups::use(TermNumber id) {
  if (is_in_lanes(id)) group().used.insert(id);
}

void BlockGroups::use(const lowering::Linear& form) {
  for (const auto& [atom, factor] : form.terms)
    if (atom >= lowering::first_term_atom) use(atom - lowering::first_term_atom);
}

void BlockGroups::collect(TermNumber id) {
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

void BlockGroups::use_with_forms(TermNumber id) {
  use(id);
  use(graph_.form(id));
}

std::string BlockGroups::held(TermNumber id) const {
  return term_name(id) +
         (block_.has_rows() && !is_of_lanes(id) ? "_held[row][lane]" : "_held[0][lane]");
}

source::Declaration BlockGroups::declaration_of_held(TermNumber id, const std::string& type) const {
  return {.type = type,
          .name = term_name(id) + "_held",
          .extents = {is_of_lanes(id) ? "1" : rows_text(), "lanes"},
          .alignment = block_.converts ? 64 : 0};
}

bool BlockGroups::is_of_lanes(TermNumber id) const {
  return std::any_of(groups_.begin(), groups_.end(), [id](const Group& group) {
    return group.is_of_lanes && group.defined.contains(id);
  });
}

Result<source::Statements> BlockGroups::with_groups() {
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

Result<source::Statements> BlockGroups::statements_of(std::size_t number) {
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

Result<source::Statement> BlockGroups::loops_over(std::size_t number, bool is_unguarded) {
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
    result.add(source::Call{"static_cast<void>", {term_name(graph_.term(*step.term).operands[0])}});
    result.add(step.unguarded);
  }
  for (const auto& [where, id] : needed_)
    if (where == number) result.add(source::Assignment{held(id), term_name(id)});
  return over_elements(group, "1", "1", result.take());
}

Result<std::string> BlockGroups::value_type(TermNumber id) const {
  return id >= graph_.size() ? held_type(id) : computed_type(graph_.term(id).lanes);
}

source::Statement BlockGroups::over_elements(const Group& group, const std::string& row_step,
                                             const std::string& lane_step,
                                             Statements statements) const {
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

source::Loop BlockGroups::long_loop(const std::string& counter, const std::string& end,
                                    const std::string& step) {
  source::Loop loop = source::counting_loop(counter, "0", end);
  loop.advance = counter + " += " + step;
  return loop;
}

std::vector<std::string> BlockGroups::demands_of_guards(const Group& group) const {
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

source::Statements BlockGroups::whole_block(const Group& group,
                                            const std::vector<std::string>& demands) const {
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

bool BlockGroups::is_held_somewhere(TermNumber id) const {
  return held_.contains(id) ||
         std::any_of(needed_.begin(), needed_.end(),
                     [id](const auto& known_term) { return known_term.second == id; });
}

source::Declaration BlockGroups::index_declaration(std::size_t axis,
                                                   const std::string& counter) const {
  const std::string name = variable_name(nest_.axes[axis]);
  source::Declaration index = source::constant(
      "std::int64_t", name, "start_" + name + (counter.empty() ? "" : " + " + counter));
  index.may_be_unused = true;
  return index;
}

}  // namespace lemma::backend
