// What the lowering says of a task's accesses, against what tasks do: elements that a task is said not to read have
// no influence on its part of the result.

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "backend/lower/tile.h"
#include "interpreter/evaluate.h"
#include "tests/backend/operator_samples.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

std::vector<std::int64_t> elements_of(const Region& region) {
  std::vector<std::int64_t> elements = {region.base};
  for (const Region::Axis& axis : region.axes) {
    std::vector<std::int64_t> more;
    for (const std::int64_t element : elements)
      for (std::int64_t i = 0; i < axis.extent; ++i) more.push_back(element + i * axis.stride);
    elements = std::move(more);
  }
  return elements;
}

struct Application {
  Definition definition;
  std::vector<Tensor> inputs;
  std::vector<TensorType> types;
  TaskOperator op;  // of one output; argument i is buffer i
  std::size_t output = 0;
};

/// Each axis in up to three parts.
Kernel thirds(const lowering::LoweredOutput& nest) {
  Kernel kernel;
  for (const lowering::LoopVariable axis : nest.axes) {
    kernel.extents.push_back(nest.graph.extent(axis));
    kernel.parts.push_back((kernel.extents.back() + 2) / 3);
  }
  return kernel;
}

/// Other inputs, which have the true elements where the task reads.
std::vector<Tensor> with_other_elements(const Application& one, const TaskAccess& access,
                                        std::uint64_t seed) {
  std::vector<Tensor> inputs = *random_inputs(one.types, seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_absent()) continue;
    const std::size_t size = inputs[i].element_size();
    for (const Region& read : access.reads) {
      if (read.buffer != i) continue;
      for (const std::int64_t element : elements_of(read)) {
        const auto offset = static_cast<std::size_t>(element) * size;
        std::memcpy(inputs[i].writable_bytes().data() + offset,
                    one.inputs[i].bytes().data() + offset, size);
      }
    }
  }
  return inputs;
}

/// NaN equals NaN.
bool is_same_element(const Tensor& a, const Tensor& b, std::int64_t element) {
  const std::size_t size = a.element_size(), offset = static_cast<std::size_t>(element) * size;
  if (std::memcmp(a.bytes().data() + offset, b.bytes().data() + offset, size) == 0) return true;
  if (!is_real(a.data_type())) return false;
  const double x = a.reals()[static_cast<std::size_t>(element)];
  const double y = b.reals()[static_cast<std::size_t>(element)];
  return x == y || (x != x && y != y);
}

struct Count {
  std::int64_t tasks = 0, narrow = 0;  // tasks that are said to read less than all
};

void check_tasks(const Application& one, const Tensor& expected, const std::string& what,
                 Count& count) {
  interpreter::EvaluationOptions options;
  options.threads = 1;
  const Kernel kernel = thirds(one.op.body.phases.front().nest);
  std::set<std::int64_t> written;
  for (std::int64_t task = 0; task < kernel.task_count(); ++task) {
    const TaskAccess access = access_of(one.op, kernel, task);
    const std::vector<std::int64_t> part = elements_of(access.writes.front());
    for (const std::int64_t element : part)
      EXPECT_TRUE(written.insert(element).second) << what << " writes twice";
    std::size_t read = 0, all = 0;
    for (const Region& region : access.reads) read += elements_of(region).size();
    for (const Tensor& input : one.inputs)
      all += input.is_absent() ? 0 : static_cast<std::size_t>(input.element_count());
    ++count.tasks;
    count.narrow += read < all ? 1 : 0;
    for (const std::uint64_t seed : {11U, 12U, 13U}) {
      const auto results =
          interpreter::evaluate(one.definition, with_other_elements(one, access, seed), options);
      if (!results) continue;  // undefined with other inputs
      for (const std::int64_t element : part)
        ASSERT_TRUE(is_same_element(results->at(one.output), expected, element))
            << what << ", task " << task << ", element " << element;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(written.size()), expected.element_count()) << what;
}

/// False where the application has nothing to compute.
bool check_application(const OperatorRecord& record, const OperatorInstance& instance,
                       Count& count) {
  Application one;
  one.types = instance.inputs;
  one.inputs = *random_inputs(instance.inputs);
  one.definition = record.define({instance.inputs, instance.attributes, instance.output_count});
  interpreter::EvaluationOptions options;
  options.threads = 1;
  const auto expected = interpreter::evaluate(one.definition, one.inputs, options);
  if (!expected) return false;
  for (one.output = 0; one.output < expected->size(); ++one.output) {
    if (expected->at(one.output).element_count() == 0) return false;
    auto nest = lowering::lower(one.definition, one.definition.outputs()[one.output],
                                views_of(one.inputs), lowering::Domain::native);
    if (!nest) return false;
    std::vector<std::uint32_t> operands;
    one.op.arguments.clear();
    for (std::uint32_t i = 0; i <= one.inputs.size(); ++i) one.op.arguments.push_back(i);
    for (std::uint32_t i = 0; i < one.inputs.size(); ++i) operands.push_back(i);
    one.op.body.phases.clear();
    one.op.body.phases.push_back(
        {std::move(*nest), operands, static_cast<std::uint32_t>(one.inputs.size())});
    check_tasks(one, expected->at(one.output), text_of(record, instance.inputs), count);
  }
  return true;
}

TEST(Access, what_a_task_does_not_read_has_no_influence) {
  Count count;
  std::size_t operators = 0;
  for (const OperatorRecord& record : all_operators()) {
    if (record.define == nullptr) continue;
    constexpr std::size_t wanted = 4;
    std::size_t taken = 0;
    for (const OperatorInstance& instance : small_instances(record)) {
      if (taken == wanted) break;
      if (check_application(record, instance, count)) ++taken;
    }
    operators += taken > 0 ? 1 : 0;
  }
  std::cout << count.tasks << " tasks of " << operators << " operators, " << count.narrow
            << " of them read less than all\n";
  EXPECT_GT(operators, 100U);
  EXPECT_GT(count.narrow, count.tasks / 4);
}

/// Row tiles of a product read their rows only; of a convolution, the rows that its windows reach.
TEST(Access, boxes_are_as_narrow_as_the_accesses) {
  const OperatorRecord& record = lemma::record(operator_named("MatMul"));
  const std::vector<TensorType> types = {{DataType::f32, Shape{6, 5}},
                                         {DataType::f32, Shape{5, 9}}};
  const Attributes attributes;
  const Definition definition = record.define({types, attributes});
  TaskOperator op;
  op.arguments = {0, 1, 2};
  op.body.phases.push_back(
      {*lowering::lower(definition, definition.outputs()[0],
                        {{DataType::f32, {6, 5}, false}, {DataType::f32, {5, 9}, false}},
                        lowering::Domain::native),
       {0, 1},
       2});
  Kernel kernel;
  kernel.extents = {6, 9};
  kernel.parts = {2, 9};
  const TaskAccess access = access_of(op, kernel, 1);
  EXPECT_EQ(access.writes.front(), (Region{2, 18, {{18, 1}}}));
  ASSERT_EQ(access.reads.size(), 2U);
  EXPECT_EQ(access.reads[0], (Region{0, 10, {{10, 1}}}));
  EXPECT_EQ(access.reads[1], (Region{1, 0, {{45, 1}}}));
}

}  // namespace
}  // namespace lemma::backend
