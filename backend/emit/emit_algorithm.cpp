#include "backend/emit/emit_algorithm.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/element_writer.h"
#include "backend/emit/source_types.h"
#include "lowering/algorithms.h"
#include "lowering/lower.h"

namespace lemma::backend {

using lowering::FourierTransform;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Replacement;
using lowering::Scan;
using lowering::Scatter;
using lowering::Selection;
using lowering::Term;
using lowering::TermNumber;
using source::Statements;

namespace {

/// A writer of single elements that are only moved where they are of 16 bits.
class MovedWriter : public ElementWriter {
 public:
  explicit MovedWriter(const LoweredOutput& nest) : ElementWriter(nest, LongReductions::in_order) {
    move_elements(nest.root);
  }
};

class AlgorithmWriter {
 public:
  AlgorithmWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
                  std::string_view result)
      : nest_(nest), bounds_(bounds), result_(result), reduction_(nest.graph.term(nest.root)) {}

  /// An element follows the one before it. Rows that lie side by side go along the scan together.
  Result<Statements> write(const Scan& scan) {
    LEMMA_RETURN_IF_ERROR(prepare());
    const std::size_t axis = place_of(scan.axis);
    open_axes(0, axis);
    if (axis + 1 < nest_.axes.size() && !is_rounded())
      LEMMA_RETURN_IF_ERROR(write_rows(scan, axis));
    else
      LEMMA_RETURN_IF_ERROR(write_totals(scan, axis));
    return closed();
  }

  /// First all elements are what they are without a term; then each term goes to its element.
  Result<Statements> write(const Scatter& scatter) {
    LEMMA_RETURN_IF_ERROR(prepare());
    open_axes(0, nest_.axes.size());
    const Term& otherwise = nest_.graph.term(scatter.otherwise);
    LEMMA_ASSIGN_OR_RETURN(const std::string value, constant_text(otherwise.bits, otherwise.lanes));
    store(value);
    source_.close(std::exchange(open_, 0));
    LEMMA_RETURN_IF_ERROR(open_terms(scatter, reduction_.bound));
    const std::string element = fmt::format("{}[{}]", result_, linear_text(nest_.graph, place()));
    source_.add(source::constant(computed_, "before",
                                 fmt::format("static_cast<{}>({})", computed_, element)));
    source_.add(source::Declaration{.type = computed_, .name = "total"});
    LEMMA_RETURN_IF_ERROR(add_term(scatter.element, "before", "total"));
    store("total");
    return closed();
  }

  /// First all elements are what they are without a term; then each term replaces its element.
  Result<Statements> write(const Replacement& replacement) {
    LEMMA_ASSIGN_OR_RETURN(stored_, stored_type(nest_.type, nest_.graph.domain()));
    LoweredOutput part = nest_;
    part.root = replacement.otherwise;
    LEMMA_ASSIGN_OR_RETURN(Statements without_terms, emit_nest(part, bounds_, result_));
    source_.open(source::Block{});
    source_.add(std::move(without_terms));
    source_.close();
    LEMMA_RETURN_IF_ERROR(
        open_terms(replacement.scatter, nest_.graph.term(replacement.last).bound));
    open(source::Block{});
    part.root = lowering::add_value_at_term(part.graph, replacement);
    LEMMA_ASSIGN_OR_RETURN(ElementSource value, MovedWriter(part).write(part.root));
    source_.add(std::move(value.statements));
    store(value.value);
    return closed();
  }

  Result<Statements> write(const Selection& selection) {
    LEMMA_RETURN_IF_ERROR(prepare());
    const std::size_t axis = place_of(selection.axis);
    open_axes(0, axis);
    open_axes(axis + 1, nest_.axes.size());
    const bool is_unsigned = nest_.graph.term(selection.element).type == DataType::u64;
    LEMMA_ASSIGN_OR_RETURN(ElementSource element, element_of(selection.element));
    source::Lambda value = {{{"std::int64_t", variable_name(selection.candidate)}},
                            std::move(element.statements)};
    value.body.push_back(
        source::Return{is_unsigned ? fmt::format("static_cast<std::uint64_t>({})", element.value)
                                   : std::move(element.value)});
    source_.add(source::LambdaDeclaration{"element", "", {}, {std::move(value)}});
    const std::string address = fmt::format("&{}[{}]", result_, linear_text(nest_.graph, place()));
    source::Lambda place_of_rank = {{{"std::int64_t", variable_name(selection.axis)}}, {}};
    place_of_rank.body.push_back(source::Return{address});
    source_.add(source::LambdaDeclaration{"place", "", {}, {std::move(place_of_rank)}});
    source_.add(
        source::Call{fmt::format("select_by_rank<{}>", selection.takes_largest),
                     {fmt::format("{}", nest_.graph.extent(selection.candidate)),
                      fmt::format("{}", nest_.graph.extent(selection.axis)), "element", "place"}});
    return closed();
  }

  /// All sums of a row together.
  Result<Statements> write(const FourierTransform& transform) {
    LEMMA_RETURN_IF_ERROR(prepare());
    const std::string type = fmt::format("FourierSums<{}>", computed_);
    source_.add(source::Declaration{.type = "static const " + type,
                                    .name = "fourier_sums",
                                    .value = fmt::format("{}({})", type, transform.length)});
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      if ((lowering::joint_axes(transform) & lowering::set_of(nest_.axes[axis])) == 0)
        open_axis(axis);
    LEMMA_ASSIGN_OR_RETURN(source::Lambda term, term_of(transform));
    source_.add(source::LambdaDeclaration{"term", "", {}, {std::move(term)}});
    source_.add(source::LambdaDeclaration{"store_sum", "", {}, {store_of(transform)}});
    source_.add(source::Call{"fourier_sums.run",
                             {fmt::format("{}", nest_.graph.extent(transform.position)),
                              fmt::format("{}", nest_.graph.extent(transform.axis)),
                              transform.is_conjugate ? "true" : "false", "term", "store_sum"}});
    return closed();
  }

 private:
  /// Both parts of a term of a transform, at its position.
  Result<source::Lambda> term_of(const FourierTransform& transform) const {
    source::Builder body;
    for (const auto& [part, term] : {std::pair{"real", std::optional(transform.real)},
                                     std::pair{"imaginary", transform.imaginary}}) {
      body.add(source::Declaration{.type = computed_, .name = part, .value = "0"});
      if (!term) continue;
      LEMMA_ASSIGN_OR_RETURN(ElementSource element, element_of(*term));
      body.open(source::Block{});
      body.add(std::move(element.statements));
      body.add(source::Assignment{part, std::move(element.value)});
      body.close();
    }
    body.add(source::Return{fmt::format("ComplexNumber<{}>{{real, imaginary}}", computed_)});
    return source::Lambda{{{"std::int64_t", variable_name(transform.position)}}, body.take()};
  }

  source::Lambda store_of(const FourierTransform& transform) const {
    source::Builder body;
    for (const std::int64_t part : {0, 1}) {
      if (part > 0 && !transform.parts) break;
      lowering::Linear target = place();
      if (transform.parts) {
        const std::int64_t step = target.coefficient(*transform.parts);
        target = lowering::combine(target, lowering::Linear::atom(*transform.parts), -step);
        target.constant += part * step;
      }
      body.add(
          ElementStore{fmt::format("{}[{}]", result_, linear_text(nest_.graph, target)), stored_}
              .of(part == 0 ? "real" : "imaginary"));
    }
    source::Parameter imaginary = {computed_, "imaginary"};
    imaginary.may_be_unused = !transform.parts;
    return {{{"std::int64_t", variable_name(transform.axis)}, {computed_, "real"}, imaginary},
            body.take()};
  }

  /// Opens loops over the terms of a scatter, and over the axes that are no targets, in front of what each term does.
  Result<void> open_terms(const Scatter& scatter, const std::vector<LoopVariable>& bound) {
    const std::vector<bool> is_target = targets_of(scatter);
    const auto first_target = static_cast<std::size_t>(
        std::find(is_target.begin(), is_target.end(), true) - is_target.begin());
    open_axes(0, first_target);
    for (const LoopVariable v : bound)
      open(source::counting_loop(variable_name(v), "0", fmt::format("{}", nest_.graph.extent(v))));
    // What is the same along the inner axes comes before their loops.
    lowering::VariableSet inner = 0;
    for (std::size_t axis = first_target; axis < nest_.axes.size(); ++axis)
      if (!is_target[axis]) inner |= lowering::set_of(nest_.axes[axis]);
    for (const bool is_inner : {false, true}) {
      for (std::size_t axis = first_target; is_inner && axis < nest_.axes.size(); ++axis)
        if (!is_target[axis]) open_axis(axis);
      const auto belongs_here = [&](TermNumber id) {
        return ((nest_.graph.term(id).depends & inner) != 0) == is_inner;
      };
      for (const TermNumber condition : scatter.conditions)
        if (belongs_here(condition)) LEMMA_RETURN_IF_ERROR(open_condition(condition));
      for (const Scatter::Target& target : scatter.targets)
        if (belongs_here(target.index)) LEMMA_RETURN_IF_ERROR(open_target(target));
    }
    return {};
  }

  /// One element after the other, for each point of the inner axes.
  Result<void> write_totals(const Scan& scan, std::size_t axis) {
    open_axes(axis + 1, nest_.axes.size());
    source_.add(source::Declaration{.type = computed_, .name = "total", .value = neutral_});
    open_steps(scan);
    declare_position(scan.position, place_text(scan));
    if (scan.is_exclusive) store("total");
    LEMMA_RETURN_IF_ERROR(add_term(scan.element, "total", "total"));
    if (!scan.is_exclusive) store("total");
    return {};
  }

  /// The elements of all inner axes, then those after them: each from the element before it where that is stored.
  Result<void> write_rows(const Scan& scan, std::size_t axis) {
    open_steps(scan);
    open_axes(axis + 1, nest_.axes.size());
    lowering::Linear before = place();
    before.constant += (scan.is_reverse ? 1 : -1) * before.coefficient(scan.axis);
    open(source::Guard{step_name + " == 0", {}, {}});
    source_.add(source::Declaration{.type = computed_, .name = "total", .value = neutral_});
    if (!scan.is_exclusive) {
      declare_position(scan.position, place_text(scan));
      LEMMA_RETURN_IF_ERROR(add_term(scan.element, "total", "total"));
    }
    store("total");
    source_.otherwise();
    source_.add(
        source::Declaration{.type = computed_,
                            .name = "total",
                            .value = fmt::format("static_cast<{}>({}[{}])", computed_, result_,
                                                 linear_text(nest_.graph, before))});
    declare_position(scan.position, place_text(scan) + (!scan.is_exclusive ? ""
                                                        : scan.is_reverse  ? " + 1"
                                                                           : " - 1"));
    LEMMA_RETURN_IF_ERROR(add_term(scan.element, "total", "total"));
    store("total");
    return {};
  }

  void open_steps(const Scan& scan) {
    open(source::counting_loop(step_name, "0", extent_text(scan)));
    declare_position(scan.axis, place_text(scan));
  }

  void declare_position(LoopVariable variable, const std::string& value) {
    source::Declaration declaration =
        source::constant("std::int64_t", variable_name(variable), value);
    declaration.may_be_unused = true;
    source_.add(std::move(declaration));
  }

  std::string extent_text(const Scan& scan) const {
    return fmt::format("{}", nest_.graph.extent(scan.axis));
  }
  /// Where the step is along the axis.
  std::string place_text(const Scan& scan) const {
    return scan.is_reverse ? fmt::format("{} - 1 - {}", extent_text(scan), step_name) : step_name;
  }

  Result<void> prepare() {
    LEMMA_ASSIGN_OR_RETURN(computed_, computed_type(reduction_.lanes));
    LEMMA_ASSIGN_OR_RETURN(stored_, stored_type(nest_.type, nest_.graph.domain()));
    LEMMA_ASSIGN_OR_RETURN(
        const std::uint64_t bits,
        lowering::neutral_element(reduction_.kind, reduction_.type, nest_.graph.domain()));
    LEMMA_ASSIGN_OR_RETURN(neutral_, constant_text(bits, reduction_.lanes));
    return {};
  }

  /// Whether elements lose digits when they are stored.
  bool is_rounded() const { return is_real(nest_.type) && byte_size(nest_.type) < 4; }

  std::size_t place_of(LoopVariable axis) const {
    return static_cast<std::size_t>(std::find(nest_.axes.begin(), nest_.axes.end(), axis) -
                                    nest_.axes.begin());
  }

  std::vector<bool> targets_of(const Scatter& scatter) const {
    std::vector<bool> is_target(nest_.axes.size(), false);
    for (const Scatter::Target& target : scatter.targets) is_target[place_of(target.axis)] = true;
    return is_target;
  }

  /// The element in row-major order.
  lowering::Linear place() const {
    lowering::Linear result;
    for (const LoopVariable axis : nest_.axes)
      result = lowering::combine(lowering::scale(result, nest_.graph.extent(axis)),
                                 lowering::Linear::atom(axis));
    return result;
  }

  void open(source::Statement statement) {
    source_.open(std::move(statement));
    ++open_;
  }

  void open_axis(std::size_t axis) {
    open(source::counting_loop(variable_name(nest_.axes[axis]), bounds_[axis].first,
                               bounds_[axis].end));
  }
  void open_axes(std::size_t first, std::size_t end) {
    for (std::size_t axis = first; axis < end; ++axis) open_axis(axis);
  }

  void store(const std::string& value) {
    source_.add(
        ElementStore{fmt::format("{}[{}]", result_, linear_text(nest_.graph, place())), stored_}.of(
            value));
  }

  Result<ElementSource> element_of(TermNumber term) const {
    LoweredOutput part = nest_;
    part.root = term;
    return emit_element(part, LongReductions::in_order);
  }

  /// Its statements, and its value as an expression. Names of terms end with the scope that is open.
  Result<std::string> add_value(TermNumber term) {
    LEMMA_ASSIGN_OR_RETURN(ElementSource element, element_of(term));
    source_.add(std::move(element.statements));
    return std::move(element.value);
  }

  /// target = total with one more term.
  Result<void> add_term(TermNumber element, const std::string& total, const std::string& target) {
    source_.open(source::Block{});
    LEMMA_ASSIGN_OR_RETURN(const std::string value, add_value(element));
    LEMMA_ASSIGN_OR_RETURN(source::Expression step,
                           binary_text(lowering::step_of(reduction_.kind), reduction_.lanes,
                                       reduction_.type == DataType::u64, total, value));
    source_.add(source::Assignment{target, std::move(step)});
    source_.close();
    return {};
  }

  Result<void> open_condition(TermNumber condition) {
    open(source::Block{});
    LEMMA_ASSIGN_OR_RETURN(const std::string value, add_value(condition));
    open(source::Guard{value + " != 0", {}, {}});
    return {};
  }

  /// Terms whose index is outside go nowhere.
  Result<void> open_target(const Scatter::Target& target) {
    open(source::Block{});
    LEMMA_ASSIGN_OR_RETURN(const std::string value, add_value(target.index));
    const std::string axis = variable_name(target.axis);
    source_.add(source::constant("std::int64_t", axis, value));
    open(source::Guard{
        fmt::format("is_inside({}, {})", axis, nest_.graph.extent(target.axis)), {}, {}});
    return {};
  }

  Statements closed() {
    source_.close(std::exchange(open_, 0));
    return source_.take();
  }

  const std::string step_name = "step";
  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  std::string_view result_;
  const Term& reduction_;
  std::string computed_, stored_, neutral_;
  std::size_t open_ = 0;
  source::Builder source_;
};

}  // namespace

Result<Statements> emit_algorithm(const LoweredOutput& nest, const lowering::Algorithm& algorithm,
                                  const std::vector<LoopBounds>& bounds, std::string_view result) {
  return std::visit(
      [&](const auto& recognized) {
        return AlgorithmWriter(nest, bounds, result).write(recognized);
      },
      algorithm);
}

}  // namespace lemma::backend
