// From terms to a program.

#include <bit>

#include <fmt/format.h>

#include "interpreter/program.h"
#include "lowering/lower.h"
#include "lowering/regions.h"

namespace lemma::interpreter {

namespace {

using Kind = ExpressionKind;

class Compiler {
 public:
  Compiler(const TermGraph& graph, const LaneLayout& layout)
      : graph_(graph), layout_(layout), register_of_(graph.size(), no_register) {}

  Result<Program> compile(TermNumber root) {
    plan_ = plan_regions(graph_, root, layout_.reduce_along_lanes);
    lane_variables_ = plan_.lane_variables;
    for (const LoopVariable v : layout_.axes) {
      lane_variables_ |= set_of(v);
      program_.lane_sizes.push_back(graph_.extent(v));
    }
    lane_axes_ = layout_.axes;
    program_.lane_count = layout_.count;
    LEMMA_RETURN_IF_ERROR(emit_region(0));
    program_.result = register_of_[root];
    place_registers();
    return std::move(program_);
  }

 private:
  static constexpr RegisterId no_register = 0xffffffffU;

  bool is_uniform(VariableSet depends) const { return (depends & lane_variables_) == 0; }

  RegisterId add_register(LaneKind lanes, bool uniform, bool tracks) {
    program_.registers.push_back({lanes, uniform, tracks, 0});
    return static_cast<RegisterId>(program_.registers.size() - 1);
  }
  bool uniform(RegisterId id) const { return program_.registers[id].uniform; }

  /// Every register begins on a cache line.
  void place_registers() {
    for (RegisterInfo& info : program_.registers) {
      info.offset = program_.memory;
      const std::size_t count = info.uniform ? 1 : program_.lane_count;
      program_.memory += (count * lane_size(info.lanes) + 63) / 64 * 64;
    }
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.code.size()); }
  Instruction& push(Opcode opcode) {
    program_.code.push_back({});
    program_.code.back().opcode = opcode;
    program_.work += repetitions_;
    return program_.code.back();
  }

  Result<void> emit_region(RegionId region) {
    // Indexed: emitting may not add terms, but keeps references to the plan short-lived.
    for (std::size_t i = 0; i < plan_.regions[region].terms.size(); ++i)
      LEMMA_RETURN_IF_ERROR(emit(plan_.regions[region].terms[i]));
    return {};
  }

  Result<void> emit(TermNumber id) {
    const Term& term = graph_.term(id);
    const RegisterId out =
        add_register(term.lanes, is_uniform(term.depends), term.may_be_undefined);
    register_of_[id] = out;
    const std::vector<RegionId>& below = plan_.below[id];
    switch (term.kind) {
      case Kind::integer_constant:
      case Kind::real_constant: program_.constants.emplace_back(out, term.bits); return {};
      case Kind::index: emit_linear(Opcode::linear, out, term.linear, term); return {};
      case Kind::read: emit_load(out, term); return {};
      case Kind::select: return emit_select(out, term, below);
      case Kind::logical_and: return emit_and(out, term, below);
      case Kind::sum:
      case Kind::product:
      case Kind::minimum_over:
      case Kind::maximum_over: return emit_reduction(out, term, below);
      default: break;
    }
    if (term.divisor != 0) {
      emit_linear(Opcode::floor_divide, out, term.linear, term).number = term.divisor;
      return {};
    }
    if (compares_linear(graph_, term)) {
      emit_linear(Opcode::compare_linear, out, difference(graph_, term), term);
      return {};
    }
    return term.operands.size() == 1 ? emit_unary(out, term) : emit_binary(out, term);
  }

  Instruction& emit_linear(Opcode opcode, RegisterId out, const Linear& form, const Term& term) {
    program_.linears.push_back(compiled(form));
    Instruction& instruction = push(opcode);
    instruction.kind = term.kind;
    instruction.out = out;
    instruction.index = static_cast<std::uint32_t>(program_.linears.size() - 1);
    instruction.tracks = term.may_be_undefined;
    return instruction;
  }

  CompiledLinear compiled(const Linear& form) const {
    CompiledLinear result;
    result.constant = form.constant;
    std::vector<std::int64_t> along(lane_axes_.size(), 0);
    bool moves = false;
    for (const auto& [atom, factor] : form.terms) {
      if (atom >= first_term_atom) {
        const RegisterId id = register_of_[atom - first_term_atom];
        (uniform(id) ? result.uniform : result.lanes).emplace_back(id, factor);
        continue;
      }
      bool is_lane = false;
      for (std::size_t axis = 0; axis < lane_axes_.size(); ++axis)
        if (lane_axes_[axis] == atom) {
          along[axis] = factor;
          is_lane = moves = true;
        }
      if (!is_lane) result.variables.emplace_back(atom, factor);
    }
    if (moves) result.along = std::move(along);
    return result;
  }

  void emit_load(RegisterId out, const Term& term) {
    const InputView& input = graph_.inputs()[term.input];
    Load load;
    load.input = term.input;
    load.address = compiled(graph_.address(term));
    load.access =
        input.as_lanes ? lane_access(term.lanes) : element_access(term.type, graph_.domain());
    bool checked_along = false;
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis) {
      if (!graph_.is_inside(term, axis)) {
        load.checks.push_back(
            {compiled(term.indices[axis]), input.sizes[axis], static_cast<std::uint32_t>(axis)});
        checked_along = checked_along || !load.checks.back().index.is_uniform();
      }
      for (const auto& [atom, factor] : term.indices[axis].terms)
        if (atom >= first_term_atom && graph_.term(atom - first_term_atom).may_be_undefined)
          load.index_registers.push_back(register_of_[atom - first_term_atom]);
    }
    load.consecutive = !checked_along && load.address.lanes.empty() && is_dense(load.address.along);
    program_.loads.push_back(std::move(load));
    Instruction& instruction = push(Opcode::load);
    instruction.out = out;
    instruction.index = static_cast<std::uint32_t>(program_.loads.size() - 1);
    instruction.tracks = term.may_be_undefined;
  }

  /// Whether the element after the last one of a row is the first one of the next.
  bool is_dense(const std::vector<std::int64_t>& along) const {
    if (along.empty() || along.back() != 1) return false;
    for (std::size_t axis = 0; axis + 1 < along.size(); ++axis)
      if (along[axis] != along[axis + 1] * graph_.extent(lane_axes_[axis + 1])) return false;
    return true;
  }

  Result<void> emit_unary(RegisterId out, const Term& term) {
    const Term& operand = graph_.term(term.operands[0]);
    UnaryOperation operation;
    if (term.kind == Kind::cast) {
      LEMMA_ASSIGN_OR_RETURN(operation, cast_operation(operand.type, term.type, graph_.domain()));
    } else if (term.kind == Kind::logical_not) {
      // not x is x == false.
      LEMMA_ASSIGN_OR_RETURN(const BinaryOperation equal,
                             binary_operation(Kind::equal, LaneKind::boolean, false));
      const RegisterId zero = add_register(LaneKind::boolean, true, false);
      program_.constants.emplace_back(zero, 0);
      Instruction& instruction = push(Opcode::binary);
      instruction.out = out;
      instruction.a = register_of_[term.operands[0]];
      instruction.b = zero;
      instruction.binary = equal.kernel(OperandForm::right_uniform);
      instruction.tracks = term.may_be_undefined;
      return {};
    } else {
      LEMMA_ASSIGN_OR_RETURN(
          operation, unary_operation(term.function, operand.lanes, operand.type == DataType::u64));
    }
    Instruction& instruction = push(Opcode::unary);
    instruction.out = out;
    instruction.a = register_of_[term.operands[0]];
    instruction.unary = operation.kernel;
    instruction.failure = operation.failure;
    instruction.tracks = term.may_be_undefined;
    return {};
  }

  OperandForm form_of(RegisterId a, RegisterId b) const {
    if (uniform(a) == uniform(b)) return OperandForm::lanes;
    return uniform(a) ? OperandForm::left_uniform : OperandForm::right_uniform;
  }

  Result<void> emit_binary(RegisterId out, const Term& term) {
    const Term &left = graph_.term(term.operands[0]), &right = graph_.term(term.operands[1]);
    if (left.lanes != right.lanes)
      return internal_error(fmt::format("the operands of '{}' have the types {} and {}",
                                        name(term.kind), name(left.type), name(right.type)));
    LEMMA_ASSIGN_OR_RETURN(const BinaryOperation operation,
                           binary_operation(term.kind, left.lanes, left.type == DataType::u64));
    Instruction& instruction = push(Opcode::binary);
    instruction.kind = term.kind;
    instruction.out = out;
    instruction.a = register_of_[term.operands[0]];
    instruction.b = register_of_[term.operands[1]];
    instruction.binary = operation.kernel(form_of(instruction.a, instruction.b));
    instruction.failure = operation.failure;
    instruction.tracks = term.may_be_undefined;
    return {};
  }

  std::uint32_t emit_test(RegisterId condition) {
    Instruction& test = push(Opcode::test);
    test.a = condition;
    test.index = program_.test_slots++;
    return test.index;
  }

  /// The region's code, jumped over if the noted condition says so.
  Result<void> emit_guarded(Opcode jump, std::uint32_t slot, RegionId region) {
    const std::uint32_t start = here();
    push(jump).index = slot;
    LEMMA_RETURN_IF_ERROR(emit_region(region));
    if (here() == start + 1)
      program_.code.pop_back();  // nothing to jump over
    else
      program_.code[start].target = here();
    return {};
  }

  Result<void> emit_select(RegisterId out, const Term& term, const std::vector<RegionId>& below) {
    const RegisterId condition = register_of_[term.operands[0]];
    const std::uint32_t slot = emit_test(condition);
    LEMMA_RETURN_IF_ERROR(emit_guarded(Opcode::jump_if_none, slot, below[0]));
    LEMMA_RETURN_IF_ERROR(emit_guarded(Opcode::jump_if_all, slot, below[1]));
    Instruction& instruction = push(Opcode::select);
    instruction.out = out;
    instruction.index = slot;
    instruction.a = condition;
    instruction.b = register_of_[term.operands[1]];
    instruction.c = register_of_[term.operands[2]];
    instruction.tracks = term.may_be_undefined;
    return {};
  }

  Result<void> emit_and(RegisterId out, const Term& term, const std::vector<RegionId>& below) {
    const RegisterId left = register_of_[term.operands[0]];
    const std::uint32_t slot = emit_test(left);
    LEMMA_RETURN_IF_ERROR(emit_guarded(Opcode::jump_if_none, slot, below[0]));
    const RegisterId right = register_of_[term.operands[1]];
    LEMMA_ASSIGN_OR_RETURN(const BinaryOperation operation,
                           binary_operation(Kind::bit_and, LaneKind::boolean, false));
    Instruction& instruction = push(Opcode::logical_and);
    instruction.out = out;
    instruction.index = slot;
    instruction.a = left;
    instruction.b = right;
    instruction.binary = operation.kernel(form_of(left, right));
    instruction.tracks = term.may_be_undefined;
    return {};
  }

  Result<void> emit_reduction(RegisterId out, const Term& term,
                              const std::vector<RegionId>& below) {
    const bool along_lanes = plan_.regions[below.back()].along_lanes;
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t neutral,
                           neutral_element(term.kind, term.type, graph_.domain()));
    LEMMA_ASSIGN_OR_RETURN(
        const BinaryOperation operation,
        binary_operation(step_of(term.kind), term.lanes, term.type == DataType::u64));
    const RegisterId total =
        along_lanes ? add_register(term.lanes, false, term.may_be_undefined) : out;
    Instruction& begin = push(Opcode::reduce_begin);
    begin.out = total;
    begin.number = static_cast<std::int64_t>(neutral);
    begin.index = along_lanes ? 1 : 0;  // all lanes, however short the strips are

    std::vector<std::uint32_t> starts;
    const double outside = repetitions_;
    for (const RegionId loop : below) {
      const bool lanes = plan_.regions[loop].along_lanes;
      starts.push_back(here());
      Instruction& start = push(lanes ? Opcode::lane_loop_begin : Opcode::loop_begin);
      start.index = plan_.regions[loop].variable;
      start.number = graph_.extent(plan_.regions[loop].variable);
      if (lanes) lane_axes_ = {plan_.regions[loop].variable};
      repetitions_ *=
          static_cast<double>(start.number) / (lanes ? static_cast<double>(layout_.count) : 1.0);
      LEMMA_RETURN_IF_ERROR(emit_region(loop));
    }
    emit_accumulate(total, register_of_[term.operands[0]], term, operation);
    repetitions_ = outside;
    for (std::size_t i = below.size(); i-- > 0;) {
      const bool lanes = plan_.regions[below[i]].along_lanes;
      Instruction& end = push(lanes ? Opcode::lane_loop_end : Opcode::loop_end);
      end.index = plan_.regions[below[i]].variable;
      end.number = graph_.extent(plan_.regions[below[i]].variable);
      end.target = starts[i];
      program_.code[starts[i]].target = here();
    }
    if (along_lanes) {
      lane_axes_ = layout_.axes;
      Instruction& finish = push(Opcode::combine_lanes);
      finish.out = out;
      finish.a = total;
      finish.binary = operation.kernel(OperandForm::lanes);
      finish.failure = operation.failure;
      finish.tracks = term.may_be_undefined;
    }
    return {};
  }

  void emit_accumulate(RegisterId total, RegisterId element, const Term& term,
                       const BinaryOperation& operation) {
    Instruction& step = push(Opcode::accumulate);
    step.out = total;
    step.a = total;
    step.b = element;
    step.binary = operation.kernel(form_of(total, element));
    step.failure = operation.failure;
    step.tracks = term.may_be_undefined;
  }

  const TermGraph& graph_;
  const LaneLayout& layout_;
  Regions plan_;
  VariableSet lane_variables_ = 0;
  std::vector<LoopVariable> lane_axes_;  // those of the code being emitted
  std::vector<RegisterId> register_of_;
  Program program_;
  double repetitions_ = 1;  // of the code being emitted
};

}  // namespace

Result<Program> compile(const TermGraph& graph, TermNumber root, const LaneLayout& layout) {
  return Compiler(graph, layout).compile(root);
}

}  // namespace lemma::interpreter
