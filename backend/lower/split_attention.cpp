#include "backend/lower/split_attention.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "backend/lower/copy_definition.h"
#include "backend/lower/split_reductions.h"
#include "backend/lower/without_unread.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

/// Columns of a part, at least: fewer take no longer than two operators wait for each other. Rows with the same keys, from which
/// on these are multiplied as matrices.
constexpr std::int64_t least_columns = 64, rows_of_matrices = 16;

/// Numbers of the computations.
struct AttentionMembers {
  std::size_t scores, greatest, exponential, sum, quotient, results;
};

/// A computation with what its definition says of elements.
class DefinitionView {
 public:
  DefinitionView(const ComputationGraph& graph, std::size_t number)
      : graph_(graph), computation_(graph.computations[number]) {}

  const Definition& definition() const { return computation_.definition; }
  const DefinedOutput& output() const { return definition().outputs()[computation_.output]; }
  const ExpressionNode& node(ExpressionId id) const { return definition().node(id); }
  std::int64_t extent(VariableId variable) const { return definition().extent(variable).offset(); }

  ExpressionId without_casts(ExpressionId id) const {
    while (node(id).kind == Kind::cast) id = node(id).operands.front();
    return id;
  }
  ExpressionId root() const { return without_casts(output().value); }

  /// The read of a whole buffer that an expression is, but for casts.
  const ExpressionNode* read_of(ExpressionId id, BufferNumber buffer) const {
    const ExpressionNode& read = node(without_casts(id));
    return read.kind == Kind::read && computation_.operands[read.input] == buffer &&
                   computation_.views[read.input].sizes == graph_.buffers[buffer].sizes
               ? &read
               : nullptr;
  }

  /// Whether an index is the variable, or the only one that there is.
  bool is_variable(ExpressionId index, VariableId variable, std::int64_t size) const {
    return (size == 1 && extent(variable) == 1) ||
           (node(index).kind == Kind::index && node(index).variable == variable);
  }

  /// Whether an expression reads the buffer at the element with these variables.
  bool reads_at(ExpressionId id, BufferNumber buffer, const std::vector<VariableId>& at) const {
    const ExpressionNode* const read = read_of(id, buffer);
    const lowering::Sizes& sizes = graph_.buffers[buffer].sizes;
    if (read == nullptr || sizes.size() != at.size()) return false;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (!is_variable(read->operands[axis], at[axis], sizes[axis])) return false;
    return true;
  }

 private:
  const ComputationGraph& graph_;
  const Computation& computation_;
};

class AttentionFinder {
 public:
  explicit AttentionFinder(const ComputationGraph& graph)
      : graph_(graph), makers_(graph.buffers.size()), readers_(graph.buffers.size()) {
    for (std::size_t i = 0; i < graph.computations.size(); ++i) {
      makers_[graph.computations[i].result] = i;
      for (const BufferNumber operand : graph.computations[i].operands)
        if (operand != no_buffer && (readers_[operand].empty() || readers_[operand].back() != i))
          readers_[operand].push_back(i);
    }
  }

  /// The attention whose results a computation makes.
  std::optional<AttentionMembers> run(std::size_t results) const {
    const DefinitionView last(graph_, results);
    const auto product = weighted_sum(last);
    if (!product) return std::nullopt;
    for (const BufferNumber shares : graph_.computations[results].operands)
      if (auto attention = with_shares(results, *product, shares)) return attention;
    return std::nullopt;
  }

 private:
  using Numbers = std::vector<std::size_t>;

  BufferNumber made_by(std::size_t number) const { return graph_.computations[number].result; }
  bool is_read_by(std::size_t number, const Numbers& readers) const {
    const BufferNumber buffer = made_by(number);
    return graph_.buffers[buffer].memory == Memory::arena && readers_[buffer] == readers;
  }
  /// The computation whose result an expression reads, but for casts.
  std::optional<std::size_t> maker_of(std::size_t reader, ExpressionId id) const {
    const DefinitionView view(graph_, reader);
    const ExpressionNode& read = view.node(view.without_casts(id));
    if (read.kind != Kind::read) return std::nullopt;
    const BufferNumber buffer = graph_.computations[reader].operands[read.input];
    return buffer == no_buffer ? std::nullopt : makers_[buffer];
  }

  /// The only sum of a definition, over one variable, of products.
  static std::optional<ExpressionId> weighted_sum(const DefinitionView& view) {
    const std::vector<ExpressionId> sums =
        outermost_reductions(view.definition(), view.output().value);
    if (sums.size() != 1) return std::nullopt;
    const ExpressionNode& sum = view.node(sums.front());
    if (sum.kind != Kind::sum || sum.bound.size() != 1 ||
        view.node(view.without_casts(sum.operands.front())).kind != Kind::multiply)
      return std::nullopt;
    return sums.front();
  }

  std::optional<AttentionMembers> with_shares(std::size_t results, ExpressionId sum,
                                              BufferNumber shares) const {
    if (shares == no_buffer || !makers_[shares]) return std::nullopt;
    const DefinitionView last(graph_, results);
    const ExpressionNode& product = last.node(last.without_casts(last.node(sum).operands.front()));
    const ExpressionNode* read = last.read_of(product.operands[0], shares);
    if (read == nullptr) read = last.read_of(product.operands[1], shares);
    if (read == nullptr || read->operands.empty() ||
        !last.is_variable(read->operands.back(), last.node(sum).bound.front(), 0))
      return std::nullopt;
    return softmax(results, *makers_[shares]);
  }

  std::optional<AttentionMembers> softmax(std::size_t results, std::size_t quotient) const {
    const DefinitionView shares(graph_, quotient);
    const ExpressionNode& divide = shares.node(shares.root());
    if (divide.kind != Kind::divide || !is_read_by(quotient, {results})) return std::nullopt;
    const auto exponential = maker_of(quotient, divide.operands[0]),
               sum = maker_of(quotient, divide.operands[1]);
    if (!exponential || !sum) return std::nullopt;
    const DefinitionView exp(graph_, *exponential);
    const ExpressionNode& function = exp.node(exp.root());
    if (function.kind != Kind::function || function.function != ScalarFunction::exp)
      return std::nullopt;
    const ExpressionNode& less = exp.node(exp.without_casts(function.operands.front()));
    if (less.kind != Kind::subtract) return std::nullopt;
    const auto scores = maker_of(*exponential, less.operands[0]),
               greatest = maker_of(*exponential, less.operands[1]);
    if (!scores || !greatest) return std::nullopt;
    const AttentionMembers attention = {*scores, *greatest, *exponential, *sum, quotient, results};
    return has_order(attention) && has_rows(attention) && reads_rows(attention)
               ? std::optional(attention)
               : std::nullopt;
  }

  /// Nothing else reads what is not stored any more.
  bool has_order(const AttentionMembers& attention) const {
    const auto sorted = [](Numbers numbers) {
      std::sort(numbers.begin(), numbers.end());
      return numbers;
    };
    return is_read_by(attention.scores, sorted({attention.greatest, attention.exponential})) &&
           is_read_by(attention.greatest, {attention.exponential}) &&
           is_read_by(attention.exponential, sorted({attention.sum, attention.quotient})) &&
           is_read_by(attention.sum, {attention.quotient});
  }

  bool reduces(std::size_t number, Kind kind, std::size_t of) const {
    const DefinitionView view(graph_, number);
    const ExpressionNode& reduction = view.node(view.root());
    if (reduction.kind != kind || reduction.bound.size() != 1) return false;
    return view.reads_at(reduction.operands.front(), made_by(of),
                         row_and(view, of, reduction.bound.front()));
  }

  /// The variables of a row of `of`, and the last one. The axis of one element that a reduction may keep is left out.
  std::vector<VariableId> row_and(const DefinitionView& view, std::size_t of,
                                  VariableId last) const {
    std::vector<VariableId> variables = view.output().axes;
    variables.resize(std::min(variables.size(), graph_.buffers[made_by(of)].sizes.size() - 1));
    variables.push_back(last);
    return variables;
  }

  /// The greatest of each row of scores and the sum of each row of exp, of which the last axis is that of columns.
  bool has_rows(const AttentionMembers& attention) const {
    return !graph_.buffers[made_by(attention.scores)].sizes.empty() &&
           reduces(attention.greatest, Kind::maximum_over, attention.scores) &&
           reduces(attention.sum, Kind::sum, attention.exponential);
  }

  bool reads_rows(const AttentionMembers& attention) const {
    const DefinitionView exp(graph_, attention.exponential), shares(graph_, attention.quotient);
    const ExpressionNode& less = exp.node(exp.without_casts(exp.node(exp.root()).operands.front()));
    const ExpressionNode& divide = shares.node(shares.root());
    return exp.reads_at(less.operands[0], made_by(attention.scores), exp.output().axes) &&
           reads_row(exp, less.operands[1], made_by(attention.greatest)) &&
           shares.reads_at(divide.operands[0], made_by(attention.exponential),
                           shares.output().axes) &&
           reads_row(shares, divide.operands[1], made_by(attention.sum));
  }

  /// Whether a row's element is read, with or without an axis of one element at its end.
  bool reads_row(const DefinitionView& view, ExpressionId id, BufferNumber buffer) const {
    const ExpressionNode* const read = view.read_of(id, buffer);
    const lowering::Sizes& sizes = graph_.buffers[buffer].sizes;
    const std::vector<VariableId>& axes = view.output().axes;
    if (read == nullptr || sizes.size() > axes.size() || sizes.size() + 1 < axes.size())
      return false;
    for (std::size_t axis = 0; axis + 1 < axes.size(); ++axis)
      if (sizes[axis] != 1 && !view.is_variable(read->operands[axis], axes[axis], sizes[axis]))
        return false;
    return sizes.size() < axes.size() || sizes.back() == 1;
  }

  const ComputationGraph& graph_;
  std::vector<std::optional<std::size_t>> makers_;  // by buffer
  std::vector<Numbers> readers_;                    // the same
};

class AttentionSplitting {
 public:
  AttentionSplitting(ComputationGraph graph, std::int64_t units)
      : graph_(std::move(graph)), units_(units) {}

  ComputationGraph run() {
    const ComputationGraph before = graph_;
    const AttentionFinder finder(before);
    bool is_changed = false;
    graph_.computations.clear();
    for (std::size_t number = 0; number < before.computations.size(); ++number) {
      const auto attention = finder.run(number);
      const std::int64_t parts = attention ? part_count(before, *attention) : 1;
      if (parts > 1)
        split(before, *attention, parts);
      else
        graph_.computations.push_back(before.computations[number]);
      is_changed = is_changed || parts > 1;
    }
    return is_changed ? without_unread(std::move(graph_)) : std::move(graph_);
  }

 private:
  /// How many parts of the columns there are to be; 1 where it is left as it is.
  std::int64_t part_count(const ComputationGraph& graph, const AttentionMembers& attention) const {
    const auto made_by = [&graph](std::size_t number) -> const Buffer& {
      return graph.buffers[graph.computations[number].result];
    };
    const std::int64_t rows = made_by(attention.greatest).elements,
                       columns = made_by(attention.scores).sizes.back();
    if (rows == 0 || 2 * rows > units_ || columns < 2 * least_columns) return 1;
    const DefinitionView scores(graph, attention.scores);
    const auto sums = outermost_reductions(scores.definition(), scores.output().value);
    if (sums.size() != 1) return 1;
    std::int64_t terms = 1, keys = 0;
    for (const VariableId variable : scores.node(sums.front()).bound)
      terms *= scores.extent(variable);
    for (const BufferNumber operand : graph.computations[attention.scores].operands)
      if (operand != no_buffer) keys = std::max(keys, graph.buffers[operand].elements);
    if (keys == 0 || rows * columns * terms >= rows_of_matrices * keys) return 1;
    return equal_parts(columns, std::min(units_ / rows, columns / least_columns));
  }

  /// A buffer that has an element for each part in the place of one, and its elements' type.
  BufferNumber add_buffer(std::string name, DataType type, lowering::Sizes sizes) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.type = type;
    buffer.sizes = std::move(sizes);
    buffer.elements = 1;
    for (const std::int64_t size : buffer.sizes) buffer.elements *= size;
    graph_.buffers.push_back(std::move(buffer));
    return static_cast<BufferNumber>(graph_.buffers.size() - 1);
  }

  /// A definition of parts while it is built: those of a definition of the whole.
  struct Part {
    const Computation& whole;
    VariableId columns;  // of the whole
    DefinitionBuilder builder = {};
    Expression part = {}, column = {};  // its number, and the column within it
    std::map<std::uint32_t, Expression> variables = {};
    std::vector<Expression> axes = {};
    lowering::Sizes sizes = {};

    Part(const Computation& computation, VariableId columns_of_whole, std::int64_t count,
         std::int64_t length)
        : whole(computation), columns(columns_of_whole) {
      const Definition& definition = whole.definition;
      part = builder.variable(Dimension(count));
      column = builder.variable(Dimension(length));
      variables.emplace(columns.v, part * Dimension(length) + column);
      axes = {part};
      sizes = {count};
      for (const VariableId axis : definition.outputs()[whole.output].axes) {
        const bool is_cut = axis == columns;
        axes.push_back(is_cut ? column : builder.variable(definition.extent(axis)));
        sizes.push_back(is_cut ? length : definition.extent(axis).offset());
        if (!is_cut) variables.emplace(axis.v, axes.back());
      }
    }
  };

  /// Copies an expression of the whole. Reads of what has parts become reads of these.
  Expression copied(
      Part& part, ExpressionId id, std::optional<ExpressionId> replaced = {},
      const std::function<Expression(const std::vector<Expression>&)>& make = {}) const {
    const Definition& definition = part.whole.definition;
    const auto replace = [&](ExpressionId at,
                             const std::vector<Expression>& operands) -> std::optional<Expression> {
      const ExpressionNode& node = definition.node(at);
      if (replaced && at == *replaced) return make(operands);
      if (is_reduction(node.kind) && node.bound == std::vector<VariableId>{part.columns})
        return part.builder.reduce(node.kind, {part.column}, operands.front());
      if (node.kind != Kind::read) return std::nullopt;
      const auto of = parts_.find(part.whole.operands[node.input]);
      if (of == parts_.end()) return std::nullopt;
      std::vector<Expression> indices = {part.part};
      for (std::size_t axis = 0; axis < operands.size(); ++axis) {
        const ExpressionNode& index = definition.node(node.operands[axis]);
        const bool is_column = index.kind == Kind::index && index.variable == part.columns;
        indices.push_back(is_column ? part.column : operands[axis]);
      }
      const DataType type = graph_.buffers[of->second].type;
      const Expression read = part.builder.read(node.input, type, std::move(indices));
      return type == node.type ? read : part.builder.cast(read, node.type);
    };
    return DefinitionCopier(part.builder, definition, part.variables, replace).copy(id);
  }

  /// Adds the computation of parts. They take the place of the whole, or of what it is computed from.
  void add(Part& part, Expression value, std::string_view name) {
    Computation computation = part.whole;
    const DataType type = value.type();
    part.builder.output(part.axes, value);
    computation.name += name;
    computation.output = 0;
    // Once more, without what the rest is computed from.
    computation.definition = copied_output(std::move(part.builder).finish(), 0,
                                           [](DefinitionBuilder&) { return Replace(copies_all); });
    for (std::size_t i = 0; i < computation.operands.size(); ++i)
      if (const auto of = parts_.find(computation.operands[i]); of != parts_.end()) {
        computation.operands[i] = of->second;
        computation.views[i] = view_of(of->second);
      }
    drop_unread_operands(computation);
    computation.result = add_buffer(computation.name, type, std::move(part.sizes));
    parts_[part.whole.result] = computation.result;
    graph_.computations.push_back(std::move(computation));
  }

  lowering::InputView view_of(BufferNumber buffer) const {
    return {graph_.buffers[buffer].type, graph_.buffers[buffer].sizes, false};
  }

  static Expression in_f32(DefinitionBuilder& builder, Expression value) {
    const DataType type = value.type();
    return type == DataType::f16 || type == DataType::bf16 ? builder.cast(value, DataType::f32)
                                                           : value;
  }

  void split(const ComputationGraph& graph, const AttentionMembers& attention, std::int64_t count) {
    parts_.clear();
    const std::int64_t columns =
        graph.buffers[graph.computations[attention.scores].result].sizes.back();
    const auto part_of = [&](std::size_t number, VariableId variable) {
      return Part(graph.computations[number], variable, count, columns / count);
    };
    const auto last_axis = [&](std::size_t number) {
      return DefinitionView(graph, number).output().axes.back();
    };
    const auto reduced = [&](std::size_t number) {
      const DefinitionView view(graph, number);
      return view.node(view.root()).bound.front();
    };
    Part scores = part_of(attention.scores, last_axis(attention.scores));
    add(scores, copied(scores, DefinitionView(graph, attention.scores).output().value), " (parts)");
    Part greatest = part_of(attention.greatest, reduced(attention.greatest));
    add(greatest, copied(greatest, DefinitionView(graph, attention.greatest).output().value),
        " (parts)");
    add_exponential(graph, attention,
                    part_of(attention.exponential, last_axis(attention.exponential)));
    Part sum = part_of(attention.sum, reduced(attention.sum));
    const DefinitionView sums(graph, attention.sum);
    add(sum,
        sum.builder.sum({sum.column},
                        in_f32(sum.builder, copied(sum, sums.node(sums.root()).operands.front()))),
        " (parts)");
    add_results(graph, attention, count, columns / count);
  }

  /// exp of what is less than the greatest of the part, which may be nothing: then all of them are 0.
  void add_exponential(const ComputationGraph& graph, const AttentionMembers& attention,
                       Part part) {
    const DefinitionView whole(graph, attention.exponential);
    const ExpressionNode& function = whole.node(whole.root());
    const ExpressionId less = whole.without_casts(function.operands.front());
    const Expression value =
        copied(part, whole.output().value, less, [&](const std::vector<Expression>& operands) {
          return operands[0] -
                 maximum(operands[1], part.builder.constant(least_finite(operands[1].type()),
                                                            operands[1].type()));
        });
    add(part, value, " (parts)");
  }

  static double least_finite(DataType type) { return type == DataType::f16 ? -65504.0 : -3.0e38; }

  /// The sums of the parts, and what puts them together.
  void add_results(const ComputationGraph& graph, const AttentionMembers& attention,
                   std::int64_t count, std::int64_t length) {
    const Computation& whole = graph.computations[attention.results];
    const DefinitionView view(graph, attention.results);
    const ExpressionId sum = outermost_reductions(view.definition(), view.output().value).front();
    const ExpressionNode& node = view.node(sum);
    // Shares are those before the quotient.
    const BufferNumber shares = graph.computations[attention.quotient].result;
    parts_[shares] = parts_.at(graph.computations[attention.exponential].result);
    Part part(whole, node.bound.front(), count, length);
    const BufferNumber result = whole.result;
    add(part,
        part.builder.sum({part.column}, in_f32(part.builder, copied(part, node.operands.front()))),
        " (parts)");
    const BufferNumber totals = parts_.at(result);
    add_whole(graph, attention, sum, totals, count);
  }

  void add_whole(const ComputationGraph& graph, const AttentionMembers& attention, ExpressionId sum,
                 BufferNumber totals, std::int64_t count) {
    const Computation& whole = graph.computations[attention.results];
    const DefinitionView view(graph, attention.results);
    const BufferNumber shares = graph.computations[attention.quotient].result,
                       greatest = parts_.at(graph.computations[attention.greatest].result),
                       sums = parts_.at(graph.computations[attention.sum].result);
    Computation result = whole;
    const auto first = static_cast<std::uint32_t>(result.operands.size());
    for (const BufferNumber operand : {totals, greatest, sums}) {
      result.operands.push_back(operand);
      result.views.push_back(view_of(operand));
    }
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId axis : view.output().axes) {
      axes.push_back(builder.variable(view.definition().extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    // The row of the shares that the sum reads, without its column.
    const ExpressionNode& product = view.node(view.without_casts(view.node(sum).operands.front()));
    const ExpressionNode* read = view.read_of(product.operands[0], shares);
    if (read == nullptr) read = view.read_of(product.operands[1], shares);
    std::vector<Expression> row;
    for (std::size_t axis = 0; axis + 1 < read->operands.size(); ++axis)
      row.push_back(DefinitionCopier(builder, view.definition(), variables, copies_all)
                        .copy(read->operands[axis]));
    const auto of_part = [&](std::uint32_t operand, Expression number, std::vector<Expression> at) {
      const Buffer& buffer = graph_.buffers[result.operands[first + operand]];
      at.resize(std::min(at.size(), buffer.sizes.size() - 1));
      while (at.size() + 1 < buffer.sizes.size()) at.push_back(builder.integer(0));
      at.insert(at.begin(), number);
      return in_f32(builder, builder.read(first + operand, buffer.type, std::move(at)));
    };
    const auto over_parts = [&](Kind kind, const std::function<Expression(Expression)>& of) {
      const Expression number = builder.variable(Dimension(count));
      return builder.reduce(kind, {number}, of(number));
    };
    const Expression most =
        over_parts(Kind::maximum_over, [&](Expression number) { return of_part(1, number, row); });
    const auto weight = [&](Expression number) {
      return builder.apply(ScalarFunction::exp, of_part(1, number, row) - most);
    };
    const Expression weighted =
        over_parts(Kind::sum,
                   [&](Expression number) { return weight(number) * of_part(0, number, axes); }) /
        over_parts(Kind::sum,
                   [&](Expression number) { return weight(number) * of_part(2, number, row); });
    const DataType type = view.node(sum).type;
    const Expression value =
        DefinitionCopier(
            builder, view.definition(), variables,
            [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
              if (id != sum) return std::nullopt;
              return type == weighted.type() ? weighted : builder.cast(weighted, type);
            })
            .copy(view.output().value);
    builder.output(std::move(axes), value);
    result.output = 0;
    result.definition = copied_output(std::move(builder).finish(), 0,
                                      [](DefinitionBuilder&) { return Replace(copies_all); });
    drop_unread_operands(result);
    graph_.computations.push_back(std::move(result));
  }

  ComputationGraph graph_;
  std::int64_t units_;
  std::map<BufferNumber, BufferNumber> parts_;  // of one attention, by buffer of the whole
};

}  // namespace

ComputationGraph split_attention(ComputationGraph graph, const VirtualDevice& device) {
  if (!device.multiprocessor) return graph;
  return AttentionSplitting(std::move(graph), device.units).run();
}

}  // namespace lemma::backend
