// Timetables kept up to date beside timetables computed anew: operators of a model in pieces on devices, and random moves, in each
// of which an operator's pieces go to other devices. Prints a row of JSON for each kind of model.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "plans/simulator/incremental.h"

namespace {

using namespace lemma::simulator;

constexpr std::size_t pieces = 4;

/// Operators that read others. Each has pieces; a piece reads the pieces that it overlaps, by a message where these are elsewhere.
class PlacedModel {
 public:
  PlacedModel(std::vector<std::vector<std::size_t>> reads, std::size_t devices, std::uint64_t seed)
      : reads_(std::move(reads)), devices_(devices), random_(seed) {
    for (std::size_t op = 0; op < reads_.size(); ++op) {
      places_.push_back(random_places());
      work_.push_back(static_cast<Time>(1'000'000 + below(100'000'000)));
    }
    readers_.resize(reads_.size());
    for (std::size_t op = 0; op < reads_.size(); ++op)
      for (const std::size_t read : reads_[op]) readers_[read].push_back(op);
    graph = task_graph();
  }

  /// All tasks, from the places of the pieces.
  TaskGraph task_graph() {
    TaskGraph result;
    for (const char* what : {"device", "out of", "into"})
      for (std::size_t i = 0; i < devices_; ++i)
        result.resources.push_back(fmt::format("{} {}", what, i));
    messages_.assign(reads_.size(), {});
    first_.assign(reads_.size(), 0);
    for (std::size_t op = 0; op < reads_.size(); ++op) {
      std::vector<Task> computing(pieces);
      for (const std::size_t read : reads_[op])
        for (std::size_t piece = 0; piece < pieces; ++piece) {
          const Message message{read, piece, piece};
          messages_[op].push_back({message, result.add(task_of(op, message))});
          computing[piece].predecessors.push_back(messages_[op].back().second);
        }
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        computing[piece].resources = {place(op, piece)};
        computing[piece].duration = work_[op];
        const TaskNumber number = result.add(std::move(computing[piece]));
        if (piece == 0) first_[op] = number;
      }
    }
    return result;
  }

  void move(IncrementalTimetable& timetable) {
    const std::size_t op = below(reads_.size());
    places_[op] = random_places();
    for (std::size_t piece = 0; piece < pieces; ++piece)
      timetable.set_resources(first_[op] + static_cast<TaskNumber>(piece), {place(op, piece)});
    set_messages(timetable, op);
    for (const std::size_t reader : readers_[op]) set_messages(timetable, reader, op);
  }

  TaskGraph graph;

 private:
  struct Message {
    std::size_t from_op, from_piece, piece;
  };

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  std::vector<std::size_t> random_places() {
    const std::size_t first = below(devices_), step = below(2);
    std::vector<std::size_t> result;
    for (std::size_t piece = 0; piece < pieces; ++piece)
      result.push_back((first + piece * step) % devices_);
    return result;
  }
  Resource place(std::size_t op, std::size_t piece) const {
    return static_cast<Resource>(places_[op][piece]);
  }

  Task task_of(std::size_t op, const Message& message) const {
    Task task;
    const Resource from = place(message.from_op, message.from_piece), to = place(op, message.piece);
    task.predecessors = {first_[message.from_op] + static_cast<TaskNumber>(message.from_piece)};
    if (from != to) {
      const auto devices = static_cast<Resource>(devices_);
      task.resources = {devices + from, 2 * devices + to};
      task.duration = 1'000'000 + work_[message.from_op] / 4;
    }
    return task;
  }
  void set_messages(IncrementalTimetable& timetable, std::size_t op,
                    std::size_t only = static_cast<std::size_t>(-1)) const {
    for (const auto& [message, number] : messages_[op]) {
      if (only != static_cast<std::size_t>(-1) && message.from_op != only) continue;
      Task task = task_of(op, message);
      if (timetable.graph().tasks[number].resources != task.resources)
        timetable.set_resources(number, std::move(task.resources));
      if (timetable.graph().tasks[number].duration != task.duration)
        timetable.set_duration(number, task.duration);
    }
  }

  std::vector<std::vector<std::size_t>> reads_, places_, readers_;  // by operator
  std::vector<Time> work_;
  std::vector<std::vector<std::pair<Message, TaskNumber>>> messages_;
  std::vector<TaskNumber> first_;  // by operator, its first piece
  std::size_t devices_;
  std::mt19937_64 random_;
};

/// Each operator reads the one before it.
std::vector<std::vector<std::size_t>> chain(std::size_t count) {
  std::vector<std::vector<std::size_t>> reads(count);
  for (std::size_t i = 1; i < count; ++i) reads[i] = {i - 1};
  return reads;
}

/// Blocks of branches as long as `length` that meet, as in Inception.
std::vector<std::vector<std::size_t>> blocks(std::size_t count, std::size_t branches,
                                             std::size_t length) {
  std::vector<std::vector<std::size_t>> reads(1);
  while (reads.size() + branches * length + 1 <= count) {
    const std::size_t before = reads.size() - 1;
    std::vector<std::size_t> ends;
    for (std::size_t branch = 0; branch < branches; ++branch) {
      for (std::size_t i = 0; i < length; ++i)
        reads.push_back({i == 0 ? before : reads.size() - 1});
      ends.push_back(reads.size() - 1);
    }
    reads.push_back(ends);
  }
  return reads;
}

/// Layers over steps of time: each reads the one below and the step before.
std::vector<std::vector<std::size_t>> grid(std::size_t layers, std::size_t steps) {
  std::vector<std::vector<std::size_t>> reads;
  for (std::size_t step = 0; step < steps; ++step)
    for (std::size_t layer = 0; layer < layers; ++layer) {
      reads.emplace_back();
      if (layer > 0) reads.back().push_back(reads.size() - 2);
      if (step > 0) reads.back().push_back(reads.size() - 1 - layers);
    }
  return reads;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int measure(const char* what, const std::vector<std::vector<std::size_t>>& reads,
            std::size_t devices, std::size_t moves) {
  // First the moves alone, as a search makes them; then the same moves with what they are compared with.
  double building = 0, full = 0, incremental = 0;
  std::size_t looked_at = 0;
  {
    PlacedModel model(reads, devices, 1);
    IncrementalTimetable timetable(model.graph);
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < moves; ++i) {
      model.move(timetable);
      looked_at += timetable.update();
    }
    incremental = seconds_since(begin);
  }
  PlacedModel model(reads, devices, 1);
  IncrementalTimetable timetable(model.graph);
  for (std::size_t i = 0; i < moves; ++i) {
    model.move(timetable);
    timetable.update();
    auto begin = std::chrono::steady_clock::now();
    const TaskGraph graph = model.task_graph();
    building += seconds_since(begin);
    begin = std::chrono::steady_clock::now();
    const Timetable anew = simulate(graph);
    full += seconds_since(begin);
    if (anew.tasks != timetable.timetable().tasks) {
      fmt::print(stderr, "{}: move {} gives another timetable\n", what, i);
      return 1;
    }
  }
  const auto count = static_cast<double>(moves);
  fmt::print("[\"{}\", {}, {}, {}, {:.3f}, {:.3f}, {:.3f}, {:.3f}]\n", what,
             model.graph.tasks.size(), devices, moves, static_cast<double>(looked_at) / count,
             building / count * 1e6, full / count * 1e6, incremental / count * 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t moves = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  int failed = 0;
  failed += measure("chain of 125 operators", chain(125), 16, moves);
  failed += measure("blocks of 4 branches of 3 operators", blocks(120, 4, 3), 16, moves);
  failed += measure("blocks of 16 branches of 6 operators", blocks(120, 16, 6), 64, moves);
  failed += measure("4 layers over 20 steps", grid(4, 20), 16, moves);
  failed += measure("4 layers over 200 steps", grid(4, 200), 16, moves);
  failed += measure("100 branches of one operator", blocks(102, 100, 1), 64, moves);
  return failed == 0 ? 0 : 1;
}
