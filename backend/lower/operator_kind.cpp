#include "backend/lower/operator_kind.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

class StructureText {
 public:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void add(const Linear& form) {
    add("({}", form.constant);
    for (const auto& [atom, factor] : form.terms) add(" {}*{}", factor, atom);
    add(")");
  }

  void add(const Term& term) {
    add("{} {} {} [{}] {} ", static_cast<int>(term.kind), static_cast<int>(term.function),
        static_cast<int>(term.type), fmt::join(term.operands, " "), term.bits);
    add(term.linear);
    add(" {} {} [{}]", term.divisor, term.input, fmt::join(term.bound, " "));
    for (const Linear& index : term.indices) add(index);
    add("\n");
  }

  void add(const LoweredOutput& nest) {
    for (lowering::LoopVariable v = 0; v < nest.graph.variable_count(); ++v)
      add("{} ", nest.graph.extent(v));
    for (const lowering::InputView& input : nest.graph.inputs())
      add("| {} {}", static_cast<int>(input.type), fmt::join(input.sizes, " "));
    add("\n[{}] [{}] {} {}\n", fmt::join(nest.axes, " "), fmt::join(nest.sizes, " "),
        static_cast<int>(nest.type), nest.root);
    for (TermNumber id = 0; id < nest.graph.size(); ++id) add(nest.graph.term(id));
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string structure_of(const TaskOperator& op, const std::vector<std::int64_t>& grid,
                         const std::vector<Buffer>& buffers) {
  StructureText text;
  for (const BufferNumber argument : op.arguments) {
    const Buffer& buffer = buffers[argument];
    const bool is_given = buffer.memory == Memory::weights || buffer.memory == Memory::input;
    text.add("argument {} {} {}\n", static_cast<int>(buffer.type), buffer.elements, is_given);
  }
  if (op.own) text.add("{}", op.own->structure_text());
  if (op.is_stitched())
    text.add("stitched {} {} [{}]\n", static_cast<int>(op.body.stitching), op.result_count,
             fmt::join(grid, " "));
  for (const SharedBuffer& shared : op.body.shared)
    text.add("shared {} {} {}\n", static_cast<int>(shared.type), shared.elements_per_point,
             shared.slot);
  for (const Phase& phase : op.body.phases) {
    if (phase.has_barrier) text.add("barrier\n");
    text.add("phase [{}] {}\n", fmt::join(phase.operands, " "), phase.result);
    if (!phase.schedule.is_default())
      text.add("schedule {}\n", lemma::backend::text(phase.schedule));
    text.add(phase.nest);
  }
  return text.take();
}

std::string digest_of(const TaskOperator& op, const std::vector<std::int64_t>& grid,
                      const std::vector<Buffer>& buffers) {
  constexpr std::size_t digest_length = 20;
  return sha256(structure_of(op, grid, buffers)).substr(0, digest_length);
}

}  // namespace lemma::backend
