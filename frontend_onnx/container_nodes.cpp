// Sequences whose elements are known one by one, and optional values of which it is known whether they have contents:
// what is taken out of them is what was put in (ONNX, the operators since operator sets 11 and 15).

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/graph_builder.h"
#include "frontend_onnx/made_nodes.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using Values = std::vector<ValueId>;

constexpr std::size_t longest_known = 1024;  // of a sequence that is known

std::int64_t integer_attribute(const NodeMessage& node, std::string_view name,
                               std::int64_t otherwise) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.i();
  return otherwise;
}

/// One node that makes or reads a sequence or an optional value. Functions are false where nothing is known of it.
class ContainerNode {
 public:
  ContainerNode(GraphBuilder& builder, KnownContainers& known, const NodeMessage& node,
                Values operands, int operator_set)
      : builder_(builder),
        known_(known),
        node_(node),
        operands_(std::move(operands)),
        operator_set_(operator_set),
        maker_(builder, operator_set) {}

  /// Gives the output its value, if it is known without the node.
  bool replace() {
    const std::string& op = node_.op_type();
    if (op == "SequenceAt") return take_element();
    if (op == "SequenceLength") return take_length();
    if (op == "ConcatFromSequence") return join();
    if (op == "OptionalHasElement") return answer_whether_full();
    if (op == "OptionalGetElement") return take_contents();
    return false;
  }

  /// States what the sequence or optional value consists of that the node makes.
  void remember(ValueId output) {
    const std::string& op = node_.op_type();
    std::optional<Values> elements;
    if (op == "SequenceConstruct") elements = constructed();
    if (op == "SequenceEmpty") elements = Values();
    if (op == "SequenceInsert") elements = with_inserted();
    if (op == "SequenceErase") elements = with_erased();
    if (op == "SplitToSequence") elements = parts();
    if (elements && elements->size() <= longest_known && are_of_one_type(*elements))
      known_.set_sequence(output, std::move(*elements));
    if (op == "Optional") known_.set_optional(output, operand(0));
  }

 private:
  /// A sequence of elements of different types is not valid.
  bool are_of_one_type(const Values& elements) const {
    return std::all_of(elements.begin(), elements.end(), [&](ValueId element) {
      return builder_.graph().type(element).data_type ==
             builder_.graph().type(elements.front()).data_type;
    });
  }
  ValueId operand(std::size_t i) const {
    return i < operands_.size() ? operands_[i] : ValueId::none();
  }
  const Values* sequence() const {
    return operand(0).is_none() ? nullptr : known_.elements(operand(0));
  }

  /// The contents of an operand that is one integer.
  std::optional<std::int64_t> integer(std::size_t i) const {
    const Constant* constant = operand(i).is_none() ? nullptr : builder_.computed(operand(i));
    if (constant == nullptr || is_real(constant->type().data_type) ||
        constant->type().data_type == DataType::boolean || constant->element_count() != 1)
      return std::nullopt;
    return constant->integers().front();
  }

  /// A position in a sequence, from its end if it is negative; nothing if there is none.
  std::optional<std::ptrdiff_t> position(std::size_t i, std::size_t places) const {
    const auto given = integer(i);
    const auto elements = static_cast<std::int64_t>(sequence()->size());
    if (!given || *given < -elements) return std::nullopt;
    const std::int64_t place = *given < 0 ? *given + elements : *given;
    if (place >= static_cast<std::int64_t>(places)) return std::nullopt;
    return static_cast<std::ptrdiff_t>(place);
  }

  bool give(ValueId value) {
    builder_.alias(node_.output(0), value);
    return true;
  }

  // ---- Sequences --------------------------------------------------------------------------------

  bool take_element() {
    const Values* elements = sequence();
    if (elements == nullptr) return false;
    const auto place = position(1, elements->size());
    return place && give((*elements)[static_cast<std::size_t>(*place)]);
  }

  bool take_length() {
    const Values* elements = sequence();
    return elements != nullptr &&
           maker_.add_integer(node_.output(0), static_cast<std::int64_t>(elements->size()));
  }

  bool join() {
    const Values* elements = sequence();
    if (elements == nullptr || elements->empty()) return false;
    const std::int64_t axis = integer_attribute(node_, "axis", 0);
    const bool has_new_axis = integer_attribute(node_, "new_axis", 0) != 0;
    std::vector<std::string> names;
    for (const ValueId element : *elements) {
      if (!builder_.graph().type(element).is_known()) return false;
      const std::string name = named_part(names.size());
      builder_.alias(name, element);
      names.push_back(name);
      if (!has_new_axis) continue;
      names.back() = builder_.fresh_name(name + "/unsqueezed");
      if (!maker_.unsqueeze(name, axis, names.back())) return false;
    }
    return maker_.concat(names, axis, node_.output(0));
  }

  std::string named_part(std::size_t k) {
    return builder_.fresh_name(fmt::format("{}/part {}", node_.output(0), k));
  }

  std::optional<Values> constructed() const {
    if (std::any_of(operands_.begin(), operands_.end(), std::mem_fn(&ValueId::is_none)))
      return std::nullopt;
    return operands_;
  }

  std::optional<Values> with_inserted() const {
    if (sequence() == nullptr || operand(1).is_none()) return std::nullopt;
    Values elements = *sequence();
    auto place = std::optional(static_cast<std::ptrdiff_t>(elements.size()));
    if (!operand(2).is_none()) place = position(2, elements.size() + 1);
    if (!place) return std::nullopt;
    elements.insert(elements.begin() + *place, operand(1));
    return elements;
  }

  std::optional<Values> with_erased() const {
    if (sequence() == nullptr || sequence()->empty()) return std::nullopt;
    Values elements = *sequence();
    auto place = std::optional(static_cast<std::ptrdiff_t>(elements.size()) - 1);
    if (!operand(1).is_none()) place = position(1, elements.size());
    if (!place) return std::nullopt;
    elements.erase(elements.begin() + *place);
    return elements;
  }

  /// Of SplitToSequence: by Gather where the axis goes, else by one Split.
  std::optional<Values> parts() {
    const auto axis = split_axis();
    if (!axis) return std::nullopt;
    const auto sizes = part_sizes(*axis);
    if (!sizes || sizes->empty() || sizes->size() > longest_known) return std::nullopt;
    if (sizes->size() == 1 && !drops_axis()) return Values{operand(0)};
    std::vector<std::string> names;
    for (std::size_t k = 0; k < sizes->size(); ++k) names.push_back(named_part(k));
    const std::string& input = node_.input(0);
    const auto take = [&](std::size_t k) {
      return maker_.gather(input, static_cast<std::int64_t>(k), *axis, names[k]);
    };
    bool is_valid = true;
    for (std::size_t k = 0; drops_axis() && k < names.size(); ++k) is_valid = is_valid && take(k);
    if (!drops_axis()) is_valid = maker_.split(input, *sizes, *axis, names);
    if (!is_valid) return std::nullopt;
    Values elements;
    for (const std::string& name : names) elements.push_back(*builder_.find(name));
    return elements;
  }

  bool drops_axis() const {
    return operand(1).is_none() && integer_attribute(node_, "keepdims", 1) == 0;
  }

  /// Counted from the front.
  std::optional<std::int64_t> split_axis() const {
    if (operand(0).is_none() || !builder_.graph().type(operand(0)).is_known()) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(builder_.graph().type(operand(0)).rank());
    const std::int64_t axis = integer_attribute(node_, "axis", 0);
    if (axis < -rank || axis >= rank) return std::nullopt;
    return axis < 0 ? axis + rank : axis;
  }

  /// None of them is 0, and there are as many elements as the axis has.
  std::optional<std::vector<std::int64_t>> part_sizes(std::int64_t axis) const {
    const Dimension& size =
        (*builder_.graph().type(operand(0)).shape)[static_cast<std::size_t>(axis)];
    if (!size.is_constant()) return std::nullopt;
    if (operand(1).is_none()) return equal_sizes(size.offset(), 1);
    const Constant* split = builder_.computed(operand(1));
    if (split == nullptr || is_real(split->type().data_type) || split->type().rank() > 1)
      return std::nullopt;
    std::vector<std::int64_t> sizes = split->integers();
    if (split->type().rank() == 0) return equal_sizes(size.offset(), sizes.front());
    std::int64_t rest = size.offset();
    for (const std::int64_t part : sizes) {
      if (part < 1 || part > rest) return std::nullopt;
      rest -= part;
    }
    if (rest != 0) return std::nullopt;
    return sizes;
  }

  /// The last one may be smaller.
  static std::optional<std::vector<std::int64_t>> equal_sizes(std::int64_t all, std::int64_t part) {
    if (part < 1 || all / part > static_cast<std::int64_t>(longest_known)) return std::nullopt;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(all / part), part);
    if (all % part != 0) sizes.push_back(all % part);
    return sizes;
  }

  // ---- Optional values --------------------------------------------------------------------------

  /// Operator set 18 allows other values in the place of an optional one, and none at all.
  bool takes_other_values() const {
    constexpr int since = 18;
    return operator_set_ >= since;
  }
  bool is_tensor_or_sequence(ValueId value) const {
    return builder_.graph().type(value).is_known() || known_.elements(value) != nullptr;
  }

  bool answer_whether_full() {
    const ValueId value = operand(0);
    if (value.is_none()) return takes_other_values() && maker_.add_boolean(node_.output(0), false);
    if (const ValueId* contents = known_.contents(value))
      return maker_.add_boolean(node_.output(0), !contents->is_none());
    return takes_other_values() && is_tensor_or_sequence(value) &&
           maker_.add_boolean(node_.output(0), true);
  }

  bool take_contents() {
    const ValueId value = operand(0);
    if (value.is_none()) return false;
    if (const ValueId* contents = known_.contents(value))
      return !contents->is_none() && give(*contents);
    return takes_other_values() && is_tensor_or_sequence(value) && give(value);
  }

  GraphBuilder& builder_;
  KnownContainers& known_;
  const NodeMessage& node_;
  Values operands_;
  int operator_set_;
  NodeMaker maker_;
};

bool is_of_containers(const NodeMessage& node) {
  const std::string& op = node.op_type();
  return canonical_domain(node.domain()).empty() && node.output_size() == 1 &&
         !node.output(0).empty() &&
         (op.find("Sequence") != std::string::npos || op.rfind("Optional", 0) == 0);
}

}  // namespace

bool GraphBuilder::add_container_part(const NodeMessage& node, const Operands& operands) {
  if (!is_of_containers(node)) return false;
  const auto set = operator_set_of(node);
  if (!set || !ContainerNode(*this, containers_, node, operands.values, *set).replace())
    return false;
  ++taken_branches_;
  return true;
}

void GraphBuilder::remember_container(const NodeMessage& node, const Operands& operands) {
  if (!is_of_containers(node)) return;
  const auto set = operator_set_of(node);
  if (set)
    ContainerNode(*this, containers_, node, operands.values, *set).remember(*find(node.output(0)));
}

}  // namespace lemma::frontend
