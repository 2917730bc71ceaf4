#include "rule_language/operator_meaning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "base/sha256.h"
#include "facts/operator_instances.h"
#include "ir/derived_operator.h"
#include "ir/graph.h"
#include "ir/operator_registration.h"

namespace lemma {
namespace {

void append(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end);
  text += ' ';
}

void append(std::string& text, std::string_view words) {
  text += words;
  text += ' ';
}

// ---- Definitions ------------------------------------------------------------------------------

/// Nodes and variables are numbered as they are reached from the outputs.
class DefinitionForm {
 public:
  DefinitionForm(const Definition& definition, std::string& text)
      : definition_(definition),
        text_(text),
        nodes_(definition.nodes().size(), absent),
        variables_(definition.variable_extents().size(), absent) {}

  void write() {
    for (const DefinedOutput& output : definition_.outputs()) {
      append(text_, "\noutput");
      for (const VariableId axis : output.axes) variable(axis);
      const std::uint32_t value = node(output.value);
      append(text_, "\nis");
      append(text_, value);
    }
  }

 private:
  static constexpr std::uint32_t absent = 0xffffffffU;

  void variable(VariableId id) {
    std::uint32_t& number = variables_[id.v];
    const bool is_new = number == absent;
    if (is_new) number = variable_count_++;
    append(text_, number);
    if (is_new) append(text_, definition_.extent(id).text());
  }

  std::uint32_t node(ExpressionId id) {
    if (nodes_[id.v] != absent) return nodes_[id.v];
    const ExpressionNode& expression_node = definition_.node(id);
    std::vector<std::uint32_t> operands;
    for (const ExpressionId operand : expression_node.operands) operands.push_back(node(operand));
    append(text_, "\n");
    append(text_, name(expression_node.kind));
    if (expression_node.function != ScalarFunction::none)
      append(text_, name(expression_node.function));
    append(text_, name(expression_node.type));
    for (const std::uint32_t operand : operands) append(text_, operand);
    leaf(expression_node);
    for (const VariableId bound : expression_node.bound) variable(bound);
    return nodes_[id.v] = node_count_++;
  }

  void leaf(const ExpressionNode& expression_node) {
    switch (expression_node.kind) {
      case ExpressionKind::integer_constant:
      case ExpressionKind::real_parameter:
        append(text_, static_cast<std::uint64_t>(expression_node.integer));
        break;
      case ExpressionKind::real_constant:
        append(text_, std::bit_cast<std::uint64_t>(expression_node.real));
        break;
      case ExpressionKind::extent: append(text_, expression_node.extent.text()); break;
      case ExpressionKind::index: variable(expression_node.variable); break;
      case ExpressionKind::read: append(text_, expression_node.input); break;
      default: break;
    }
  }

  const Definition& definition_;
  std::string& text_;
  std::vector<std::uint32_t> nodes_, variables_;
  std::uint32_t node_count_ = 0, variable_count_ = 0;
};

// ---- Compositions -----------------------------------------------------------------------------

/// The same for a graph; `operators` collects those in it.
class GraphForm {
 public:
  GraphForm(const Graph& graph, std::string& text, std::set<OperatorId>& operators)
      : graph_(graph), text_(text), operators_(operators) {}

  void write(const std::vector<ValueId>& outputs) {
    for (const ValueId output : outputs) {
      const std::uint32_t producer = node(graph_.producer(output));
      append(text_, "\noutput");
      append(text_, producer);
      append(text_, graph_.output_index(output));
    }
  }

 private:
  std::uint32_t node(NodeId id) {
    if (const auto known = numbers_.find(id.v); known != numbers_.end()) return known->second;
    const Node& graph_node = graph_.node(id);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> operands;
    for (const ValueId input : graph_node.inputs)
      if (input.is_none())
        operands.emplace_back(0xffffffffU, 0);
      else
        operands.emplace_back(node(graph_.producer(input)), graph_.output_index(input));
    append(text_, "\n");
    if (graph_node.kind == NodeKind::input) append(text_, graph_.input_name(graph_node));
    if (graph_node.kind == NodeKind::constant) constant(graph_.constant(graph_node));
    if (graph_node.kind == NodeKind::operation) {
      operators_.insert(graph_node.op);
      append(text_, graph_.op(graph_node).name);
      append(text_, text(graph_node.attributes));
      append(text_, graph_node.output_count);
    }
    for (const auto& [producer, output] : operands) {
      append(text_, producer);
      append(text_, output);
    }
    return numbers_[id.v] = static_cast<std::uint32_t>(numbers_.size());
  }

  void constant(const Constant& contents) {
    append(text_, lemma::text(contents.type()));
    if (contents.exact() != nullptr) append(text_, lemma::text(*contents.exact()));
    if (contents.is_symbolic()) return;
    const auto bytes = contents.bytes();
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  const Graph& graph_;
  std::string& text_;
  std::set<OperatorId>& operators_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> numbers_;
};

// ---- Operators --------------------------------------------------------------------------------

class OperatorMeaning {
 public:
  explicit OperatorMeaning(const OperatorRecord& record) : record_(record) {}

  std::string digest() {
    append(text_, record_.name);
    if (const auto derived = derived_operator(record_)) {
      if (!add_derived(*derived)) return "";
    } else {
      visit_instances(record_, [this](const OperatorInstance& instance) { return add(instance); });
    }
    if (accepted_ == 0) return "";
    // Ids of operators that are made on demand are in the order in which they were made.
    std::vector<OperatorId> parts(parts_.begin(), parts_.end());
    std::sort(parts.begin(), parts.end(), [](OperatorId a, OperatorId b) {
      return lemma::record(a).name < lemma::record(b).name;
    });
    for (const OperatorId part : parts) {
      if (lemma::record(part).name == record_.name) continue;  // a recurrence over fewer steps
      if (meaning_digest(part).empty()) return "";
      append(text_, "\npart");
      append(text_, lemma::record(part).name);
      append(text_, meaning_digest(part));
    }
    return sha256(text_);
  }

 private:
  /// The meaning of the operator that it is made of covers all instances; examples show how it is made.
  bool add_derived(const DerivedOperator& derived) {
    const std::string& origin = meaning_digest(derived.from);
    if (origin.empty()) return false;
    append(text_, derived.way);
    append(text_, origin);
    for (const OperatorExample& example : record_.examples)
      if (const auto instance = read_example(record_, example)) add(*instance);
    return true;
  }

  /// Refused instances count as well: that they are is a constraint. Which instance it is follows from
  /// the position: the family is the same as long as the same ones are accepted.
  bool add(const OperatorInstance& given) {
    text_ += '-';
    const auto attributes =
        complete_attributes(record_, given.inputs, given.attributes, given.output_count);
    if (!attributes) return false;
    const Instance instance{given.inputs, *attributes, given.output_count};
    const auto types = infer_types(record_, instance);
    if (!types) return false;
    append(text_, "\n=");
    for (const TensorType& type : given.inputs) append(text_, text(type));
    append(text_, text(*attributes));
    for (const TensorType& type : *types) append(text_, text(type));
    if (record_.define == nullptr) {
      accepted_ += compose(instance) ? 1 : 0;
      return true;
    }
    DefinitionForm(record_.define(instance), text_).write();
    ++accepted_;
    return true;
  }

  /// False: there is no composition of this instance, and its meaning is not covered.
  bool compose(const Instance& instance) {
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      if (!instance.has(i)) {
        inputs.push_back(ValueId::none());
        continue;
      }
      const auto input = graph.add_input("input" + std::to_string(i), instance.inputs[i]);
      if (!input) return false;
      inputs.push_back(*input);
    }
    const auto outputs = record_.compose(graph, instance, inputs);
    if (outputs) GraphForm(graph, text_, parts_).write(*outputs);
    return outputs.has_value();
  }

  const OperatorRecord& record_;
  std::string text_;
  std::size_t accepted_ = 0;  // instances whose meaning the text has
  std::set<OperatorId> parts_;
};

/// What was computed, by position in a table. Nobody waits while another one computes: two may then
/// compute the same.
class Memory {
 public:
  template <typename Compute>
  const std::string& operator()(std::size_t key, Compute compute) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = digests_.find(key); known != digests_.end()) return known->second;
    }
    std::string digest = compute();
    const std::lock_guard lock(mutex_);
    return digests_.emplace(key, std::move(digest)).first->second;
  }

  void take(std::size_t key, std::string_view digest) {
    const std::lock_guard lock(mutex_);
    digests_.insert_or_assign(key, std::string(digest));
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::string> digests_;
};

// ---- Functions --------------------------------------------------------------------------------

using Values = std::vector<AttributeValue>;

/// Integers, sizes, lists and real numbers. For three arguments fewer of them.
Values arguments_for(std::size_t count) {
  const Dimension n = Dimension::symbol("n"), m = Dimension::symbol("m");
  Values result = {INT64_C(0),        INT64_C(1), INT64_C(2),          INT64_C(-1),
                   AttributeValue(n), Integers{}, Integers{1, 0},      Integers{2, 0, 1},
                   Shape{n, m, 3},    Shape{n},   Integers{0, 1, 2, 3}};
  if (count > 2) return result;
  const Values more = {INT64_C(3),
                       INT64_C(7),
                       INT64_C(-4),
                       AttributeValue(m),
                       AttributeValue(n + 1),
                       AttributeValue(n * m),
                       AttributeValue(Dimension(2) * n),
                       0.0,
                       0.5,
                       -2.5,
                       3.0,
                       1e30,
                       1e-300,
                       RealSymbol{1},
                       RealSymbol{-2},
                       Integers{0},
                       Integers{0, 1},
                       Integers{0, 2, 1},
                       Integers{1, 0, 2},
                       Integers{0, 1, 3, 2},
                       Integers{3, 2, 1, 0},
                       Integers{4, 0, 3, 1, 2},
                       Integers{5, 4, 3, 2, 1, 0},
                       Integers{2, 2},
                       Integers{3, -1, 4},
                       Shape{m, n},
                       Shape{n, n, m, 1},
                       Shape{1, n, 1, m, 2, n},
                       Reals{0.5, 2.0},
                       std::string("word"),
                       DataType::f32};
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

std::string function_digest(const AttributeFunction& function) {
  std::string text_of_all(function.name);
  append(text_of_all, "");
  append(text_of_all, function.argument_count);
  const Values values = arguments_for(function.argument_count);
  std::vector<std::size_t> chosen(function.argument_count);
  for (;;) {
    Values arguments;
    for (const std::size_t i : chosen) arguments.push_back(values[i]);
    text_of_all += '\n';
    if (function.holds != nullptr) text_of_all += function.holds(arguments) ? "yes" : "no";
    if (function.apply != nullptr) {
      const auto result = function.apply(arguments);
      // Integers and dimensions of one text are the same in rules.
      text_of_all += result ? text(*result) : "refused";
    }
    std::size_t place = 0;
    while (place < chosen.size() && ++chosen[place] == values.size()) chosen[place++] = 0;
    if (place == chosen.size()) break;
  }
  return sha256(text_of_all);
}

}  // namespace

namespace {

Memory& digests_of_operators() {
  static Memory memory;
  return memory;
}

}  // namespace

const std::string& meaning_digest(OperatorId op) {
  return digests_of_operators()(op.v, [op] { return OperatorMeaning(record(op)).digest(); });
}

bool take_meaning_digests(std::span<const std::string_view> digests) {
  if (digests.size() != own_operators().size()) return false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < all_operators().size(); ++i)
    if (origin_of(all_operators()[i].name).empty()) digests_of_operators().take(i, digests[next++]);
  return true;
}

std::string meaning_digest(const OperatorRecord& record) {
  return OperatorMeaning(record).digest();
}

std::optional<std::string> uncovered_meaning(const Substitution& rule) {
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input && meaning_digest(term.op).empty())
      return fmt::format(
          "no digest covers the meaning of {}: its record needs examples that its shape "
          "rule accepts",
          record(term.op).name);
  return std::nullopt;
}

const std::string& meaning_digest(const AttributeFunction& function) {
  static Memory memory;
  return memory(static_cast<std::size_t>(&function - attribute_functions().data()),
                [&function] { return function_digest(function); });
}

}  // namespace lemma
