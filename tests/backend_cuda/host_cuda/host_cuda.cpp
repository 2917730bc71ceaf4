#include "host_cuda.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Of ThreadSanitizer, where the program is compiled with it (sanitizer/tsan_interface.h).
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
}

namespace host_cuda {

void give_up(const std::string& message) {
  std::fprintf(stderr, "host_cuda: %s\n", message.c_str());
  std::_Exit(3);
}

namespace {

/// Lanes of a warp, and the most of any device.
unsigned warp_size = 32;
constexpr unsigned most_lanes = 64;
constexpr std::size_t group_sizes = 7;  // 1, 2, ..., 64 lanes
constexpr std::size_t stack_bytes = 128U << 10U;
constexpr std::size_t most_left_strands = 2048;
constexpr int turns_without_progress = 64;

bool has_sanitizer() { return __tsan_create_fiber != nullptr; }
void acquire(const void* address) {
  if (has_sanitizer()) __tsan_acquire(const_cast<void*>(address));
}
void release(const void* address) {
  if (has_sanitizer()) __tsan_release(const_cast<void*>(address));
}

/// Where the code on a stack goes on. swapcontext would do, but asks the system for the signal mask each time, of which
/// grids have hundreds of thousands.
struct Place {
  void* words[5];
};

[[noreturn, gnu::noinline]] void go_to(Place& to) { __builtin_longjmp(to.words, 1); }

/// Goes on at `to` until something goes to `from`.
[[gnu::noinline]] void switch_between(Place& from, Place& to) {
  if (__builtin_setjmp(from.words) == 0) go_to(to);
}

/// The same with the beginning of a function on a stack of its own, which never returns.
[[gnu::noinline]] void begin_function(Place& from, unsigned char* stack, std::size_t bytes,
                                      void (*function)()) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  makecontext(&context, function, 0);
  if (__builtin_setjmp(from.words) == 0) setcontext(&context);
}

/// A stack, and the thread that the sanitizer takes what runs on it for.
struct Strand {
  std::unique_ptr<unsigned char[]> stack;
  void* sanitizer = nullptr;
};

enum class State { running, polling, at_barrier, ended };

/// Threads that wait for all of them. What passes it is ordered by one of two places in turn, so that a thread that is
/// late acquires nothing of the next time.
struct Barrier {
  unsigned arrived = 0, passed = 0;
  char places[2] = {};

  const void* place(unsigned time) const { return &places[time % 2]; }
};

struct Warp {
  Barrier barrier;
  /// What groups of so many neighbouring lanes exchange.
  struct Exchange {
    std::array<Barrier, most_lanes> barriers;                                     // by group
    std::array<std::array<std::array<unsigned char, 16>, most_lanes>, 2> values;  // in turn
  };
  std::array<Exchange, group_sizes> exchanges;
};

struct Fibre {
  Place place = {};
  Strand strand;
  bool has_begun = false;
  State state = State::running;
  unsigned block = 0, thread = 0;
  std::array<unsigned, group_sizes> exchanges = {};  // by the binary logarithm of lanes
  const Barrier* barrier = nullptr;                  // that it waits at, and which time
  unsigned time = 0;
  Copies copies;

  bool can_go_on() const {
    return state != State::ended && !(state == State::at_barrier && barrier->passed == time);
  }
};

struct Block {
  std::vector<Fibre> threads;
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  Barrier barrier;
  unsigned ended = 0;
};

std::string first_order() {
  const char* const given = std::getenv("HOST_CUDA_ORDER");
  return given == nullptr ? "ascending" : given;
}

std::string order_name = first_order();

class Order {
 public:
  Order() {
    const std::string& name = order_name;
    if (name == "descending") {
      descends_ = true;
    } else if (name.rfind("slowest:", 0) == 0) {
      slowest_ = static_cast<unsigned>(std::stoul(name.substr(8)));
    } else if (name.rfind("random:", 0) == 0) {
      is_random_ = true;
      random_.seed(static_cast<unsigned>(std::stoul(name.substr(7))));
    } else if (name != "ascending") {
      give_up("'" + name + "' is no order");
    }
  }
  bool is_random() const { return is_random_; }
  /// Whether a block that has signalled lets the others go first.
  bool hands_over() const { return descends_ || slowest_; }

  /// The order of the blocks, of which one was the last to signal.
  std::vector<unsigned> next_blocks(std::size_t count, std::optional<unsigned> last) {
    std::vector<unsigned> order = next(count);
    if (slowest_) last = slowest_;
    if (!hands_over() || !last || *last >= count) return order;
    order.erase(std::find(order.begin(), order.end(), *last));
    order.push_back(*last);
    return order;
  }

  std::vector<unsigned> next(std::size_t count) {
    std::vector<unsigned> order(count);
    std::iota(order.begin(), order.end(), 0U);
    if (descends_) std::reverse(order.begin(), order.end());
    if (is_random_) std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

 private:
  bool descends_ = false, is_random_ = false;
  std::optional<unsigned> slowest_;
  std::mt19937 random_;
};

class Grid {
 public:
  Grid(unsigned blocks, unsigned threads, std::size_t shared_bytes,
       const std::function<void()>& body);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void run();
  void note_signal() { signaller_ = current_->block; }
  Fibre& current() { return *current_; }
  Block& block() { return blocks_[current_->block]; }
  Warp& warp() { return block().warps[current_->thread / warp_size]; }
  void wait_at(Barrier& barrier, std::size_t count, bool orders_memory);
  /// Back to whoever runs the fibres.
  void leave(State state);
  /// For good; no other fibre goes on either.
  void trap();

 private:
  static void begin_fibre();
  void switch_to(Fibre& fibre);
  bool run_block(Block& block);
  bool has_ended() const;

  const std::function<void()>& body_;
  std::vector<Block> blocks_;
  Order order_;
  Place main_ = {};
  void* main_fiber_ = nullptr;
  Fibre* current_ = nullptr;
  std::uint64_t progress_ = 0;
  std::optional<unsigned> signaller_;  // in this turn
  char begin_ = 0, end_ = 0;  // places for the order of what is before, in and after the launch
};

Grid* grid = nullptr;
bool runs_graph = false;
std::uint64_t clock_now = 1;  // nanoseconds
bool has_trapped = false;

/// Of launches that have ended; later ones take them again, since making one takes longer than running it. All of a later
/// launch comes after all of those, but between the nodes of a graph only edges are an order: what nodes leave is not
/// taken before all of them have ended.
std::vector<Strand> left_strands, left_by_nodes;

Strand take_strand() {
  if (!left_strands.empty()) {
    Strand strand = std::move(left_strands.back());
    left_strands.pop_back();
    return strand;
  }
  Strand strand;
  strand.stack.reset(new unsigned char[stack_bytes]);
  if (has_sanitizer()) strand.sanitizer = __tsan_create_fiber(0);
  return strand;
}

void leave_strand(Strand strand) {
  // There are not many threads that the sanitizer can tell apart.
  if (left_strands.size() + left_by_nodes.size() < most_left_strands)
    (runs_graph ? left_by_nodes : left_strands).push_back(std::move(strand));
  else if (strand.sanitizer != nullptr)
    __tsan_destroy_fiber(strand.sanitizer);
}

Grid::Grid(unsigned blocks, unsigned threads, std::size_t shared_bytes,
           const std::function<void()>& body)
    : body_(body), blocks_(blocks) {
  if (has_sanitizer()) main_fiber_ = __tsan_get_current_fiber();
  for (unsigned b = 0; b < blocks; ++b) {
    Block& block = blocks_[b];
    block.threads = std::vector<Fibre>(threads);
    block.warps = std::vector<Warp>((threads + warp_size - 1) / warp_size);
    block.shared.assign(shared_bytes + 128, 0xff);
    for (unsigned t = 0; t < threads; ++t) {
      block.threads[t].block = b;
      block.threads[t].thread = t;
      block.threads[t].strand = take_strand();
    }
  }
}

Grid::~Grid() {
  for (Block& block : blocks_)
    for (Fibre& fibre : block.threads) leave_strand(std::move(fibre.strand));
}

void Grid::begin_fibre() {
  acquire(&grid->begin_);
  grid->body_();
  release(&grid->end_);
  ++grid->block().ended;
  grid->leave(State::ended);
}

void Grid::switch_to(Fibre& fibre) {
  current_ = &fibre;
  fibre.state = State::running;
  constexpr unsigned orders_nothing = 1;
  if (has_sanitizer()) __tsan_switch_to_fiber(fibre.strand.sanitizer, orders_nothing);
  if (std::exchange(fibre.has_begun, true))
    switch_between(main_, fibre.place);
  else
    begin_function(main_, fibre.strand.stack.get(), stack_bytes, begin_fibre);
}

void Grid::leave(State state) {
  Fibre& fibre = current();
  fibre.state = state;
  if (state != State::polling) ++progress_;
  constexpr unsigned orders_nothing = 1;
  if (has_sanitizer()) __tsan_switch_to_fiber(main_fiber_, orders_nothing);
  switch_between(fibre.place, main_);
}

void Grid::trap() {
  has_trapped = true;
  release(&end_);
  leave(State::ended);
}

void Grid::wait_at(Barrier& barrier, std::size_t count, bool orders_memory) {
  Fibre& fibre = current();
  fibre.barrier = &barrier;
  fibre.time = barrier.passed;
  if (orders_memory) release(barrier.place(fibre.time));
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.passed;
  }
  leave(State::at_barrier);
  if (orders_memory) acquire(barrier.place(fibre.time));
}

/// A turn for each thread that can go on, again as long as that leads anywhere.
bool Grid::run_block(Block& block) {
  bool has_moved = false;
  while (true) {
    const std::uint64_t before = progress_;
    for (const unsigned t : order_.next(block.threads.size())) {
      if (block.threads[t].can_go_on()) switch_to(block.threads[t]);
      if (signaller_ && order_.hands_over()) return true;
    }
    if (progress_ == before) return has_moved;
    has_moved = true;
    if (order_.is_random()) return true;
  }
}

bool Grid::has_ended() const {
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [](const Block& block) { return block.ended == block.threads.size(); });
}

void Grid::run() {
  release(&begin_);
  int without_progress = 0;
  std::optional<unsigned> last;
  while (!has_ended()) {
    bool has_moved = false;
    signaller_.reset();
    for (const unsigned b : order_.next_blocks(blocks_.size(), last)) {
      has_moved = run_block(blocks_[b]) || has_moved;
      // Where blocks go as far as they can, one that others have waited for is followed by the first again.
      if (has_moved && !order_.is_random()) break;
    }
    if (signaller_) last = signaller_;
    if (has_trapped) break;
    without_progress = has_moved ? 0 : without_progress + 1;
    if (without_progress == turns_without_progress) clock_now += UINT64_C(60000000000);
    if (without_progress > 2 * turns_without_progress)
      give_up("threads wait for ever, or not all of a block reach a barrier");
  }
  acquire(&end_);
}

}  // namespace

namespace {

/// The nodes of a graph, each a thread of its own to the sanitizer: only edges order them.
class GraphRun {
 public:
  explicit GraphRun(const std::vector<GraphStep>& steps)
      : steps_(steps), nodes_(steps.size()), has_run_(steps.size(), false) {}
  ~GraphRun() {
    for (Node& node : nodes_)
      if (node.sanitizer != nullptr) __tsan_destroy_fiber(node.sanitizer);
  }
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  void run() {
    release(&begin_);
    std::optional<unsigned> last;
    for (std::size_t count = 0; count < steps_.size(); ++count) {
      const unsigned number = next(last);
      run_node(number);
      has_run_[number] = true;
      last = number;
    }
    for (const Node& node : nodes_) acquire(&node.end);
  }

 private:
  struct Node {
    std::unique_ptr<unsigned char[]> stack;
    void* sanitizer = nullptr;
    char end = 0;  // a place for the order of what it does and of what comes after it
  };
  static constexpr std::size_t node_stack_bytes = 512U << 10U;

  bool is_ready(std::size_t number) const {
    return !has_run_[number] &&
           std::all_of(steps_[number].after.begin(), steps_[number].after.end(),
                       [this](std::size_t one) { return has_run_[one]; });
  }

  unsigned next(std::optional<unsigned> last) {
    for (const unsigned number : order_.next_blocks(steps_.size(), last))
      if (is_ready(number)) return number;
    give_up("the nodes of a graph wait for each other");
  }

  void run_node(std::size_t number) {
    Node& node = nodes_[number];
    current_ = this;
    number_ = number;
    node.stack.reset(new unsigned char[node_stack_bytes]);
    constexpr unsigned orders_nothing = 1;
    if (has_sanitizer()) {
      main_fiber_ = __tsan_get_current_fiber();
      node.sanitizer = __tsan_create_fiber(0);
      __tsan_switch_to_fiber(node.sanitizer, orders_nothing);
    }
    begin_function(main_, node.stack.get(), node_stack_bytes, begin_node);
  }

  static void begin_node() {
    GraphRun& run = *current_;
    Node& node = run.nodes_[run.number_];
    acquire(&run.begin_);
    for (const std::size_t one : run.steps_[run.number_].after) acquire(&run.nodes_[one].end);
    run.steps_[run.number_].run();
    release(&node.end);
    constexpr unsigned orders_nothing = 1;
    if (has_sanitizer()) __tsan_switch_to_fiber(run.main_fiber_, orders_nothing);
    go_to(run.main_);
  }

  static GraphRun* current_;
  const std::vector<GraphStep>& steps_;
  std::vector<Node> nodes_;
  std::vector<bool> has_run_;
  Order order_;
  Place main_ = {};
  void* main_fiber_ = nullptr;
  std::size_t number_ = 0;
  char begin_ = 0;
};

GraphRun* GraphRun::current_ = nullptr;

}  // namespace

void run_graph(const std::vector<GraphStep>& steps) {
  runs_graph = true;
  GraphRun(steps).run();
  runs_graph = false;
  std::move(left_by_nodes.begin(), left_by_nodes.end(), std::back_inserter(left_strands));
  left_by_nodes.clear();
}

void set_order(const std::string& name) { order_name = name; }

bool set_warp_lanes(unsigned lanes) {
  if (lanes > most_lanes) give_up("a warp has too many lanes");
  warp_size = lanes;
  return true;
}

Index thread_index() { return {grid->current().thread}; }
Index block_index() { return {grid->current().block}; }

void launch(unsigned blocks, unsigned threads, std::size_t shared_bytes,
            const std::function<void()>& body) {
  if (threads % warp_size != 0) give_up("a block is no whole number of warps");
  auto launched = std::make_unique<Grid>(blocks, threads, shared_bytes, body);
  grid = launched.get();
  grid->run();
  grid = nullptr;
  // What fibres that were given up have used is left to the end of the process.
  if (has_trapped) static_cast<void>(launched.release());
}

void synchronize_block() {
  Block& block = grid->block();
  grid->wait_at(block.barrier, block.threads.size(), true);
}

void synchronize_warp() { grid->wait_at(grid->warp().barrier, warp_size, true); }

namespace {

// Not by a function that the sanitizer looks into: what is exchanged is no memory of the program.
void copy(volatile unsigned char* to, const volatile unsigned char* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

/// What neighbouring lanes of a warp give at the same time.
auto& exchanged_values(const void* value, std::size_t bytes, unsigned lanes) {
  const unsigned lane = grid->current().thread % warp_size;
  const auto kind = static_cast<std::size_t>(std::countr_zero(lanes));
  Warp::Exchange& exchange = grid->warp().exchanges[kind];
  auto& values = exchange.values[grid->current().exchanges[kind]++ % 2];
  if (bytes > values[lane].size()) give_up("a value of an exchange is too large");
  copy(values[lane].data(), static_cast<const unsigned char*>(value), bytes);
  grid->wait_at(exchange.barriers[lane / lanes], lanes, false);
  return values;
}

}  // namespace

void exchange(const void* value, void* result, std::size_t bytes, unsigned distance,
              unsigned lanes) {
  const unsigned lane = grid->current().thread % warp_size;
  if (!std::has_single_bit(lanes) || lanes > warp_size || distance >= lanes)
    give_up("an exchange is not within the lanes that take part");
  auto& values = exchanged_values(value, bytes, lanes);
  copy(static_cast<unsigned char*>(result), values[lane ^ distance].data(), bytes);
}

void gather(const void* value, void* results, std::size_t bytes) {
  auto& values = exchanged_values(value, bytes, warp_size);
  for (unsigned lane = 0; lane < warp_size; ++lane)
    copy(static_cast<unsigned char*>(results) + lane * bytes, values[lane].data(), bytes);
}

Copies& copies() { return grid->current().copies; }

std::uint64_t load(const std::uint64_t* from, bool acquires) {
  const std::uint64_t value = *from;
  if (acquires) acquire(from);
  return value;
}

void add(std::uint64_t* to, std::uint64_t summand, bool releases) {
  static const bool are_lost = std::getenv("HOST_CUDA_LOST_SIGNALS") != nullptr;
  if (are_lost && releases) return;
  if (releases) release(to);
  *to += summand;
  grid->note_signal();
}

void pause() { grid->leave(State::polling); }

std::uint64_t nanoseconds() { return clock_now; }

bool is_first(std::uint64_t* place) { return std::exchange(*place, 1) == 0; }

void trap() { grid->trap(); }

bool has_failed() { return has_trapped; }

std::size_t shared_bytes() { return grid->block().shared.size() - 128; }

unsigned char* shared_memory() {
  const auto begin = reinterpret_cast<std::uintptr_t>(grid->block().shared.data());
  return reinterpret_cast<unsigned char*>((begin + 127) / 128 * 128);
}

}  // namespace host_cuda
