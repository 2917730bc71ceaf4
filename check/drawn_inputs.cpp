#include "check/drawn_inputs.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "frontend_onnx/declared_value.h"

namespace lemma {

namespace {

constexpr std::size_t least_sets = 4, most_sets = 24;
constexpr std::size_t most_texts = 200;

/// Makes one set.
class Draw {
 public:
  Draw(const InputPlan& plan, std::size_t number, const std::vector<std::string>& texts,
       std::int64_t element_limit)
      : plan_(plan), number_(number), texts_(texts), element_limit_(element_limit) {
    plan_.seed += number;
  }

  // NOLINTNEXTLINE(misc-no-recursion): types are nested as deeply as files can say.
  Result<RunTimeValue> make(const std::string& name, const DeclaredValue& declared) {
    switch (declared.kind) {
      case DeclaredValue::Kind::tensor: return make_tensor(name, declared.tensor);
      case DeclaredValue::Kind::sequence: return make_sequence(name, declared.element.front());
      case DeclaredValue::Kind::optional:
        if (number_ % 2 == 1) return RunTimeValue();
        return make(name, declared.element.front());
      case DeclaredValue::Kind::other: break;
    }
    return unsupported(
        fmt::format("input '{}' is neither a tensor nor a sequence of tensors", name));
  }

  /// How many sets it takes until every tensor of texts has had all of them.
  std::size_t sets_for_texts() const { return sets_for_texts_; }

 private:
  Result<RunTimeValue> make_tensor(const std::string& name, TensorType type) {
    if (!type.shape) type.shape = shapes_to_try[number_ % shapes_to_try.size()];
    const bool has_texts = type.data_type == DataType::string;
    // Its sizes are what those of numbers would be.
    const TensorType sized{has_texts ? DataType::i32 : type.data_type, type.shape};
    LEMMA_ASSIGN_OR_RETURN(auto sizes, input_sizes(name, sized, plan_, element_limit_));
    if (!has_texts)
      return RunTimeValue(make_input(name, type.data_type, sizes, plan_, {}).constant());
    Strings strings{{sizes.begin(), sizes.end()}, {}};
    const auto count = static_cast<std::size_t>(interpreter::element_count(sizes));
    // From set to set it goes on where the last one ended. No two tensors of a set hold the same.
    const std::size_t first = number_ * count + texts_made_++;
    for (std::size_t i = 0; i < count; ++i)
      strings.elements.push_back(texts_[(first + i) % texts_.size()]);
    if (count > 0) sets_for_texts_ = std::max(sets_for_texts_, (texts_.size() + count - 1) / count);
    return RunTimeValue(std::move(strings));
  }

  // NOLINTNEXTLINE(misc-no-recursion): see make().
  Result<RunTimeValue> make_sequence(const std::string& name, const DeclaredValue& element) {
    constexpr std::array<std::size_t, least_sets> lengths = {2, 3, 1, 0};
    RunTimeValue::Sequence elements;
    for (std::size_t i = 0; i < lengths[number_ % lengths.size()]; ++i) {
      LEMMA_ASSIGN_OR_RETURN(RunTimeValue value, make(fmt::format("{}[{}]", name, i), element));
      elements.push_back(std::move(value));
    }
    return RunTimeValue(std::move(elements));
  }

  /// Shapes to try for tensors of which the file tells none.
  static inline const std::array<Shape, 4> shapes_to_try = {Shape{2}, Shape{2, 3}, Shape{},
                                                            Shape{1, 2, 2}};
  InputPlan plan_;
  std::size_t number_;
  const std::vector<std::string>& texts_;
  std::int64_t element_limit_;
  std::size_t texts_made_ = 0;  // tensors of texts
  std::size_t sets_for_texts_ = 0;
};

}  // namespace

bool has_inputs_without_numbers(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), [&graph](NodeId id) {
    return !is_computable(graph.type(graph.node(id).output()).data_type);
  });
}

std::vector<std::string> texts_to_try(const OnnxModel& original, const OnnxModel& other) {
  std::vector<std::string> texts = {"a", "", "Some words", "1.5", "-3", "\xc3\xa4 b"};
  std::set<std::string> known(texts.begin(), texts.end());
  for (const OnnxModel* model : {&original, &other})
    for (std::string& text : texts_of(*model, most_texts))
      if (known.insert(text).second) texts.push_back(std::move(text));
  return texts;
}

Result<std::vector<NamedValues>> draw_inputs(const OnnxModel& model, const InputPlan& plan,
                                             const std::vector<std::string>& texts,
                                             std::int64_t element_limit) {
  std::vector<NamedValues> sets;
  std::size_t wanted = least_sets;
  for (std::size_t number = 0; number < wanted; ++number) {
    NamedValues set;
    Draw draw(plan, number, texts, element_limit);
    for (const NodeId id : model.graph.inputs()) {
      const std::string& name = model.graph.input_name(model.graph.node(id));
      const TensorType& type = model.graph.type(model.graph.node(id).output());
      // The graph knows more of tensors than the declaration: sizes that were given.
      const DeclaredValue declared = type.data_type == DataType::undefined
                                         ? declared_value(model.envelope, name)
                                         : DeclaredValue{DeclaredValue::Kind::tensor, type, {}};
      LEMMA_ASSIGN_OR_RETURN(RunTimeValue value, draw.make(name, declared));
      set.push_back({name, std::move(value)});
    }
    if (number == 0) wanted = std::clamp(draw.sets_for_texts(), least_sets, most_sets);
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace lemma
