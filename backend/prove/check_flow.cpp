#include "backend/prove/check_flow.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::max();

/// What is there of a tensor: all of it, all of it and what a step gives for a state, or the rows before that of a counter,
/// and that one.
enum class Fill : std::uint8_t { whole, renewed, rows, rows_and_this };

/// What a place holds.
struct Held {
  FlowTensorNumber tensor = no_tensor;
  Fill fill = Fill::whole;
  friend bool operator==(const Held&, const Held&) = default;
};

/// By tensor, the tensor whose first place it has.
using Places = std::vector<FlowTensorNumber>;

struct State {
  std::vector<Held> held;            // by first place
  std::vector<std::int64_t> bounds;  // by counter: it is less than that
  std::vector<std::int64_t> limits;  // by counter: known ones
};

/// Whether two ranges of bytes have one in common.
bool meet(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

/// Whether some state is weaker than before.
bool weaken(State& known, const State& other) {
  bool is_changed = false;
  for (std::size_t i = 0; i < known.held.size(); ++i) {
    if (known.held[i] == other.held[i] || known.held[i].tensor == no_tensor) continue;
    known.held[i] = {};
    is_changed = true;
  }
  for (std::size_t i = 0; i < known.bounds.size(); ++i) {
    if (other.bounds[i] > known.bounds[i]) {
      known.bounds[i] = other.bounds[i];
      is_changed = true;
    }
    if (other.limits[i] > known.limits[i]) {
      known.limits[i] = other.limits[i];
      is_changed = true;
    }
  }
  return is_changed;
}

class FlowChecker {
 public:
  explicit FlowChecker(const FlowProgram& program) : program_(program) {}

  Result<void> check() {
    LEMMA_RETURN_IF_ERROR(check_form());
    State first;
    first.held.resize(program_.tensors.size());
    for (const FlowTensorNumber input : program_.inputs) first.held[input] = {input, Fill::whole};
    first.bounds.assign(program_.counters.size(), no_bound);
    first.limits.assign(program_.counters.size(), no_bound);
    Places places;
    for (FlowTensorNumber i = 0; i < program_.tensors.size(); ++i) places.push_back(i);
    arrive(0, places, first);
    while (!waiting_.empty()) {
      const auto [at, where] = waiting_.front();
      waiting_.pop_front();
      places_ = where;
      state_ = states_.at({at, where});
      if (at == program_.instructions.size()) {
        for (const FlowTensorNumber output : program_.outputs) read(output);
      } else {
        step(at);
      }
      if (!violation_.empty()) return violated(at);
    }
    return {};
  }

 private:
  const FlowTensor& tensor(FlowTensorNumber number) const { return program_.tensors[number]; }

  Result<void> violated(InstructionNumber at) const {
    return internal_error(fmt::format("instruction {}: {}", at, violation_));
  }

  /// Whether it holds; the first that does not is the violation.
  bool demand(bool holds, const std::string& what) {
    if (!holds && violation_.empty()) violation_ = what;
    return holds;
  }

  std::string named(FlowTensorNumber number) const {
    return fmt::format("'{}'", tensor(number).name);
  }

  // ---- What does not depend on states -----------------------------------------------------------

  Result<void> check_form() {
    demand(program_.segment_places.size() == program_.segments.size(), "a segment has no place");
    for (std::size_t i = 0; violation_.empty() && i < program_.segments.size(); ++i)
      demand(program_.segments[i].arena_bytes <= program_.arena_bytes &&
                 program_.segment_places[i] <=
                     program_.arena_bytes - program_.segments[i].arena_bytes &&
                 program_.segment_places[i] % buffer_alignment == 0,
             fmt::format("segment {} is not inside the arena", i));
    for (const FlowTensorNumber number : mentioned_tensors())
      if (const FlowTensor& value = tensor(number); value.memory == Memory::arena)
        demand(value.bytes() <= program_.arena_bytes &&
                   value.offset <= program_.arena_bytes - value.bytes() &&
                   value.offset % buffer_alignment == 0,
               fmt::format("'{}' is not inside the arena", value.name));
    check_positions(program_.inputs, Memory::input);
    check_positions(program_.outputs, Memory::output);
    for (InstructionNumber at = 0; violation_.empty() && at < program_.instructions.size(); ++at) {
      const FlowInstruction& step = program_.instructions[at];
      demand(step.target <= program_.instructions.size() &&
                 (step.to == no_tensor || step.to < program_.tensors.size()) &&
                 (step.from == no_tensor || step.from < program_.tensors.size()) &&
                 (step.counter < program_.counters.size() || !uses_counter(step.action)),
             "it names something that is not there");
      if (violation_.empty() && fills_rows(step.action)) {
        const auto [known, is_new] = fillings_.try_emplace(step.to, step.counter, step.rows);
        demand(is_new || known->second == std::pair(step.counter, step.rows),
               "a tensor is filled in two ways");
      }
      if (!violation_.empty()) return violated(at);
    }
    for (const FlowCounter& counter : program_.counters)
      for (const FlowTensorNumber state : counter.states)
        demand(state < program_.tensors.size(), "there is no such state");
    if (!violation_.empty()) return violated(0);
    return {};
  }

  /// Others have no place.
  std::set<FlowTensorNumber> mentioned_tensors() const {
    std::set<FlowTensorNumber> mentioned;
    const auto add = [&](FlowTensorNumber number) {
      if (number < program_.tensors.size()) mentioned.insert(number);
    };
    for (const FlowInstruction& step : program_.instructions) {
      add(step.to);
      add(step.from);
      std::for_each(step.arguments.begin(), step.arguments.end(), add);
    }
    return mentioned;
  }

  static bool uses_counter(FlowAction action) {
    return action != FlowAction::run && action != FlowAction::copy &&
           action != FlowAction::exchange && action != FlowAction::reset &&
           action != FlowAction::jump;
  }

  static bool fills_rows(FlowAction action) {
    return action == FlowAction::open_rows || action == FlowAction::write_row ||
           action == FlowAction::close_rows;
  }

  void check_positions(const std::vector<FlowTensorNumber>& tensors, Memory memory) {
    for (std::uint32_t i = 0; i < tensors.size(); ++i)
      demand(tensors[i] < program_.tensors.size() && tensor(tensors[i]).memory == memory &&
                 tensor(tensors[i]).position == i,
             "an input or output is not in its position");
  }

  // ---- States -----------------------------------------------------------------------------------

  void arrive(InstructionNumber at, const Places& places, const State& state) {
    const auto [known, is_new] = states_.try_emplace({at, places}, state);
    if (!is_new && !weaken(known->second, state)) return;
    waiting_.emplace_back(at, places);
  }

  void go_on(InstructionNumber at) { arrive(at, places_, state_); }

  // ---- Reading and writing ----------------------------------------------------------------------

  bool is_there(FlowTensorNumber number) {
    return demand(number != no_tensor, "a tensor is missing");
  }

  /// Shows that the place of a tensor holds it.
  void read(FlowTensorNumber number) {
    if (!is_there(number)) return;
    const Held& held = state_.held[places_[number]];
    demand(held.tensor == number && (held.fill == Fill::whole || held.fill == Fill::renewed),
           fmt::format("{} is read where it need not be what its place holds", named(number)));
  }

  /// Forgets what has bytes of a range of the arena.
  void lose(std::uint64_t begin, std::uint64_t bytes) {
    for (FlowTensorNumber i = 0; i < program_.tensors.size(); ++i)
      if (tensor(i).memory == Memory::arena &&
          meet(tensor(i).offset, tensor(i).bytes(), begin, bytes))
        state_.held[i] = {};
  }

  void write(FlowTensorNumber number, Fill fill = Fill::whole) {
    if (!is_there(number)) return;
    const FlowTensorNumber place = places_[number];
    if (!demand(tensor(place).memory != Memory::input,
                fmt::format("{} is written to an input", named(number))))
      return;
    if (tensor(place).memory == Memory::arena) lose(tensor(place).offset, tensor(number).bytes());
    state_.held[place] = {number, fill};
  }

  bool share_bytes(FlowTensorNumber a, FlowTensorNumber b) const {
    const FlowTensor &first = tensor(places_[a]), &second = tensor(places_[b]);
    if (first.memory != second.memory) return false;
    if (first.memory != Memory::arena) return places_[a] == places_[b];
    return meet(first.offset, tensor(a).bytes(), second.offset, tensor(b).bytes());
  }

  void demand_equal_types(FlowTensorNumber a, FlowTensorNumber b) {
    demand(tensor(a).type == tensor(b).type && tensor(a).sizes == tensor(b).sizes &&
               tensor(a).has_free_rows == tensor(b).has_free_rows,
           fmt::format("{} and {} have different types", named(a), named(b)));
  }

  void demand_single(FlowTensorNumber number, DataType type) {
    demand(number != no_tensor && tensor(number).type == type && tensor(number).elements() == 1,
           "it is not one element of the right type");
  }

  // ---- Instructions -----------------------------------------------------------------------------

  void step(InstructionNumber at) {
    const FlowInstruction& step = program_.instructions[at];
    switch (step.action) {
      case FlowAction::run: run(step); return go_on_if_fine(at + 1);
      case FlowAction::copy: copy(step); return go_on_if_fine(at + 1);
      case FlowAction::exchange: exchange(step); return go_on_if_fine(at + 1);
      case FlowAction::reset: reset(step); return go_on_if_fine(at + 1);
      case FlowAction::test:
        demand_single(step.from, DataType::boolean);
        if (violation_.empty()) read(step.from);
        return go_on_if_fine(at + 1);
      case FlowAction::jump: return go_on(step.target);
      case FlowAction::jump_if:
      case FlowAction::jump_unless: go_on(step.target); return go_on(at + 1);
      case FlowAction::jump_if_done: return jump_if_done(step, at);
      default: count(step); return go_on_if_fine(at + 1);
    }
  }

  void go_on_if_fine(InstructionNumber at) {
    if (violation_.empty()) go_on(at);
  }

  void run(const FlowInstruction& step) {
    if (!demand(step.segment < program_.segments.size(), "there is no such segment")) return;
    const TaskProgram& segment = program_.segments[step.segment];
    std::vector<BufferNumber> buffers = segment.graph.inputs;
    const std::size_t inputs = buffers.size();
    buffers.insert(buffers.end(), segment.graph.outputs.begin(), segment.graph.outputs.end());
    if (!demand(buffers.size() == step.arguments.size(), "the segment has other arguments")) return;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const FlowTensorNumber argument = step.arguments[i];
      if (!demand(argument < program_.tensors.size(), "an argument is not there")) return;
      const Buffer& buffer = segment.graph.buffers[buffers[i]];
      demand(buffer.type == tensor(argument).type && buffer.sizes == tensor(argument).sizes &&
                 !tensor(argument).has_free_rows,
             fmt::format("{} is given to a segment that takes another type", named(argument)));
      if (!is_there(argument)) return;
      check_separate(step, i, inputs);
      if (i < inputs) read(argument);
    }
    lose(program_.segment_places[step.segment], segment.arena_bytes);
    for (std::size_t i = inputs; i < buffers.size(); ++i) write(step.arguments[i]);
  }

  /// An argument is not in the segment's part of the arena, and a result shares no bytes with other arguments.
  void check_separate(const FlowInstruction& step, std::size_t i, std::size_t inputs) {
    const FlowTensorNumber argument = step.arguments[i];
    const FlowTensor& place = tensor(places_[argument]);
    if (place.memory == Memory::arena)
      demand(!meet(place.offset, tensor(argument).bytes(), program_.segment_places[step.segment],
                   program_.segments[step.segment].arena_bytes),
             fmt::format("{} is where its segment computes", named(argument)));
    if (i < inputs) return;
    for (std::size_t k = 0; k < i; ++k)
      demand(!share_bytes(argument, step.arguments[k]),
             fmt::format("{} shares memory with {}", named(argument), named(step.arguments[k])));
  }

  void copy(const FlowInstruction& step) {
    if (!is_there(step.to) || !is_there(step.from)) return;
    demand_equal_types(step.to, step.from);
    demand(!share_bytes(step.to, step.from), "it copies a tensor to where that lies");
    read(step.from);
    write(step.to);
  }

  void exchange(const FlowInstruction& step) {
    if (!is_there(step.to) || !is_there(step.from)) return;
    demand_equal_types(step.to, step.from);
    FlowTensorNumber &to = places_[step.to], &from = places_[step.from];
    demand(to != from && tensor(to).memory == Memory::arena &&
               tensor(from).memory == Memory::arena && tensor(to).bytes() == tensor(from).bytes(),
           "the places cannot be exchanged");
    read(step.from);
    if (!violation_.empty()) return;
    std::swap(to, from);
    state_.held[to] = {step.to, Fill::renewed};
    state_.held[from] = {};
  }

  void reset(const FlowInstruction& step) {
    if (!is_there(step.to) || !is_there(step.from)) return;
    FlowTensorNumber &to = places_[step.to], &from = places_[step.from];
    if (!demand((to == step.to && from == step.from) || (to == step.from && from == step.to),
                "another tensor has the place"))
      return;
    to = step.to;
    from = step.from;
    state_.held[to] = state_.held[from] = {};
  }

  void jump_if_done(const FlowInstruction& step, InstructionNumber at) {
    go_on(step.target);
    state_.bounds[step.counter] =
        std::min(state_.bounds[step.counter], state_.limits[step.counter]);
    go_on(at + 1);
  }

  /// What has to do with counters and rows.
  void count(const FlowInstruction& step) {
    std::int64_t& bound = state_.bounds[step.counter];
    switch (step.action) {
      case FlowAction::begin_count:
        if (step.from != no_tensor) {
          demand_single(step.from, DataType::i64);
          if (violation_.empty()) read(step.from);
        }
        bound = no_bound;
        state_.limits[step.counter] = step.from == no_tensor ? step.number : no_bound;
        return;
      case FlowAction::advance:
        bound = no_bound;
        advance_states(step.counter);
        return advance_rows(step.counter);
      case FlowAction::require_room: bound = std::min(bound, step.number); return;
      case FlowAction::write_count:
        demand_single(step.to, DataType::i64);
        if (violation_.empty()) write(step.to);
        return;
      case FlowAction::read_row:
        check_rows(step, step.from, step.to);
        if (!violation_.empty()) return;
        read(step.from);
        demand(!share_bytes(step.from, step.to), "a row is read to where its tensor lies");
        return write(step.to);
      case FlowAction::open_rows: return write(step.to, Fill::rows);
      case FlowAction::write_row: return write_row(step);
      case FlowAction::close_rows: return close_rows(step);
      default: demand(false, "an unknown instruction");
    }
  }

  /// The rows are those of `whole`, and `row` is one of them; the counter is less than their number.
  void check_rows(const FlowInstruction& step, FlowTensorNumber whole, FlowTensorNumber row) {
    if (!demand(whole != no_tensor && row != no_tensor, "there are no rows")) return;
    const RowLayout& rows = step.rows;
    demand(tensor(whole).type == tensor(row).type &&
               rows.outer * rows.bytes == tensor(row).bytes() &&
               rows.count * tensor(row).bytes() == tensor(whole).bytes(),
           fmt::format("{} has other rows", named(whole)));
    demand(state_.bounds[step.counter] <= static_cast<std::int64_t>(rows.count),
           fmt::format("{} need not have as many rows", named(whole)));
    demand(!rows.is_reversed || !tensor(whole).has_free_rows, "free rows have no last one");
    is_there(whole);
    is_there(row);
  }

  void write_row(const FlowInstruction& step) {
    check_rows(step, step.to, step.from);
    if (!violation_.empty()) return;
    read(step.from);
    Held& held = state_.held[places_[step.to]];
    demand(held == Held{step.to, Fill::rows},
           fmt::format("a row of {} is written at the wrong time", named(step.to)));
    demand(!share_bytes(step.from, step.to), "a row is written from where its tensor lies");
    held.fill = Fill::rows_and_this;
  }

  /// Each state that a step computes is what this step has given for it.
  void advance_states(std::uint32_t counter) {
    for (const FlowTensorNumber state : program_.counters[counter].states) {
      Held& held = state_.held[places_[state]];
      demand(held == Held{state, Fill::renewed}, fmt::format("{} is not renewed", named(state)));
      held.fill = Fill::whole;
    }
  }

  /// The row of each tensor that the counter fills has been written.
  void advance_rows(std::uint32_t counter) {
    for (Held& held : state_.held) {
      if (held.tensor == no_tensor ||
          (held.fill != Fill::rows && held.fill != Fill::rows_and_this) ||
          fillings_.at(held.tensor).first != counter)
        continue;
      demand(held.fill == Fill::rows_and_this,
             fmt::format("a row of {} is not written", named(held.tensor)));
      held.fill = Fill::rows;
    }
  }

  void close_rows(const FlowInstruction& step) {
    if (!is_there(step.to)) return;
    Held& held = state_.held[places_[step.to]];
    demand(held == Held{step.to, Fill::rows}, fmt::format("{} is not filled", named(step.to)));
    const FlowTensor& whole = tensor(step.to);
    demand(!whole.sizes.empty() && (!whole.has_free_rows || (whole.memory == Memory::output &&
                                                             places_[step.to] == step.to)),
           fmt::format("{} has no rows", named(step.to)));
    held.fill = Fill::whole;
  }

  const FlowProgram& program_;
  std::map<std::pair<InstructionNumber, Places>, State> states_;
  std::deque<std::pair<InstructionNumber, Places>> waiting_;
  /// By tensor that is filled by rows: the counter of its rows, and these.
  std::map<FlowTensorNumber, std::pair<std::uint32_t, RowLayout>> fillings_;
  Places places_;
  State state_;
  std::string violation_;
};

}  // namespace

Result<void> check_flow(const FlowProgram& program) { return FlowChecker(program).check(); }

}  // namespace lemma::backend
