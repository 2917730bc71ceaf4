#include "tests/backend/random_graph.h"

#include "interpreter/random.h"

namespace lemma::backend {

namespace {

class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, DataType type) : seed_(seed), type_(type) {}

  Graph make(int size) {
    for (const char* name : {"first", "second"})
      values_.push_back(
          *graph_.add_input(name, {type_, Shape{Dimension(choose(9) + 2), Dimension(24)}}));
    for (int i = 0; i < size; ++i) add();
    std::size_t outputs = 0;
    std::vector<bool> is_used(graph_.value_count(), false);
    for (const Node& node : graph_.nodes())
      for (const ValueId input : node.inputs) is_used[input.v] = true;
    for (const ValueId value : values_)
      if (!is_used[value.v]) (void)graph_.add_output("output " + std::to_string(outputs++), value);
    (void)graph_.add_output("last", values_.back());
    return std::move(graph_);
  }

 private:
  std::int64_t choose(std::uint64_t count) {
    return static_cast<std::int64_t>(interpreter::random_word(seed_, 1, next_++) % count);
  }
  ValueId any() { return values_[static_cast<std::size_t>(choose(values_.size()))]; }
  std::int64_t size_of(ValueId value, std::size_t axis) const {
    return *(*graph_.type(value).shape)[axis].constant();
  }

  ValueId matrix(std::int64_t rows, std::int64_t columns) {
    const interpreter::Tensor tensor =
        interpreter::random_tensor(type_, {rows, columns}, seed_, next_++);
    return graph_.add_constant(tensor.constant());
  }

  void add() {
    const ValueId x = any();
    const std::int64_t rows = size_of(x, 0), columns = size_of(x, 1);
    Result<ValueId> made = bad_input("");
    switch (choose(9)) {
      case 0: made = graph_.add("Tanh", {x}); break;
      case 1: made = graph_.add("Add", {x, matrix(rows, columns)}); break;
      case 2: made = graph_.add("Mul", {x, matrix(1, columns)}); break;
      case 3: made = graph_.add("MatMul", {x, matrix(columns, choose(40) + 3)}); break;
      case 4: made = graph_.add("Transpose", {x}, {{"perm", Integers{1, 0}}}); break;
      case 5: made = graph_.add("Softmax", {x}, {{"axis", std::int64_t{1}}}); break;
      case 6: made = graph_.add("ReduceSum", {x}, {{"axes", Integers{choose(2)}}}); break;
      case 7: made = graph_.add("Reshape", {x}, {{"shape", Shape{columns, rows}}}); break;
      default: {
        const ValueId y = any();
        made = size_of(y, 1) == columns ? graph_.add("Concat", {x, y}, {{"axis", std::int64_t{0}}})
                                        : graph_.add("Add", {y, matrix(1, size_of(y, 1))});
      }
    }
    if (made && size_of(*made, 0) <= 64 && size_of(*made, 1) <= 64) values_.push_back(*made);
  }

  std::uint64_t seed_, next_ = 0;
  DataType type_;
  Graph graph_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(std::uint64_t seed, int size, DataType type) {
  return RandomGraph(seed, type).make(size);
}

}  // namespace lemma::backend
