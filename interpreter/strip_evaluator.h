#pragma once
// Runs a program, strip by strip. One evaluator per thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interpreter/program.h"

namespace lemma::interpreter {

class StripEvaluator {
 public:
  /// The program and the inputs' bytes must outlive the evaluator.
  StripEvaluator(const Program& program, std::span<const std::byte* const> inputs);

  /// Variables that are neither lane axes nor bound by a reduction.
  void set_variable(LoopVariable variable, std::int64_t value) { variables_[variable] = value; }
  /// Elements start .. start + count - 1 of the flattened lane axes.
  void set_strip(std::int64_t start, std::size_t count);

  void run();
  /// Lanes of the result: one for each element of the strip, or a single one for all.
  const void* result() const { return data_[program_.result]; }
  bool is_uniform() const { return program_.registers[program_.result].uniform; }
  /// The first element of the strip that is undefined, if there is one.
  std::optional<std::size_t> first_undefined() const;
  /// Why an element is undefined; runs the strip once more.
  std::string explain(std::size_t lane);

 private:
  std::size_t count_of(RegisterId id) const { return uniform(id) ? 1 : count_; }
  bool uniform(RegisterId id) const { return program_.registers[id].uniform; }
  bool tracks(RegisterId id) const { return program_.registers[id].tracks; }
  bool is_defined(RegisterId id, std::size_t lane) const {
    return !tracks(id) || all_ok_[id] != 0 || ok_[id][uniform(id) ? 0 : lane] != 0;
  }
  bool is_defined(RegisterId id) const { return !tracks(id) || all_ok_[id] != 0; }

  void set_segments(std::span<const std::int64_t> sizes, std::int64_t start, std::size_t count);
  std::int64_t base(const CompiledLinear& form) const;
  std::int64_t along(const CompiledLinear& form, std::size_t segment) const;
  std::int64_t step(const CompiledLinear& form) const {
    return form.along.empty() ? 0 : form.along.back();
  }
  void write_linear(const CompiledLinear& form, std::int64_t* out, std::size_t count) const;

  void execute(const Instruction& instruction, std::uint32_t& at);
  void apply_unary(const Instruction& instruction);
  void apply_binary(const Instruction& instruction);
  void compare(const Instruction& instruction);
  void divide(const Instruction& instruction);
  void load(const Instruction& instruction);
  void load_affine(const Load& load, RegisterId out);
  void load_line(const Load& load, RegisterId out, std::size_t segment, std::int64_t address);
  void load_gathered(const Load& load, RegisterId out);
  void load_nothing(RegisterId out);
  void test(const Instruction& instruction);
  void select(const Instruction& instruction);
  void logical_and(const Instruction& instruction);
  void begin_reduction(const Instruction& instruction);
  void combine_lanes(const Instruction& instruction);
  bool next_lane_block(LoopVariable variable, std::int64_t start, std::int64_t extent);

  void use_own_memory(RegisterId id) { data_[id] = own(id); }
  std::byte* own(RegisterId id) { return memory_.get() + program_.registers[id].offset; }
  /// Undefined wherever one of the operands is.
  void propagate(RegisterId out, std::initializer_list<RegisterId> operands);
  void propagate_linear(RegisterId out, const CompiledLinear& form);
  void exclude(RegisterId out, const std::uint8_t* allowed);
  void require(RegisterId out, RegisterId operand, const std::uint8_t* condition,
               std::uint8_t value);
  std::uint8_t* all_allowed(std::size_t count);
  void note_cause(const Instruction& instruction);
  std::optional<std::string> cause_of(RegisterId id, std::size_t lane) const;
  std::string operand_cause(const Instruction& instruction, std::size_t lane) const;
  std::int64_t value_at(const CompiledLinear& form, std::size_t lane) const;
  std::string describe_load(const Load& load, std::size_t lane) const;

  const Program& program_;
  std::vector<const std::byte*> inputs_;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<std::uint8_t[]> ok_memory_;
  std::vector<const void*> data_;     // by register: its own memory, or memory it shares
  std::vector<std::uint8_t*> ok_;     // by register that tracks: a byte for each lane
  std::vector<std::uint8_t> all_ok_;  // the bytes are not written where all lanes are defined
  std::vector<std::int64_t> variables_;
  std::vector<std::uint8_t> notes_;  // of tests: 0 none, 1 some, 2 all

  // A segment is a run of lanes along the last lane axis.
  std::size_t count_ = 1, rank_ = 0;
  std::vector<std::size_t> segment_begin_;         // and the end of the last one
  std::vector<std::int64_t> segment_values_;       // of the lane axes where a segment begins
  std::vector<std::int64_t> addresses_, indices_;  // scratch
  std::vector<std::uint8_t> inside_;               // scratch
  std::vector<std::int64_t> check_bases_;          // scratch

  std::optional<std::size_t> explained_lane_;
  std::vector<std::string> causes_;  // by register
};

}  // namespace lemma::interpreter
