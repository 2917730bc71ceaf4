#pragma once
// Runs the threads of a grid as fibres of one thread of the processor, in an order that $HOST_CUDA_ORDER chooses:
//
//   ascending     the block with the lowest number goes as far as it can, then the next one; threads alike
//   descending    the other way round, and a block that has signalled lets the others go first
//   slowest:N     block N goes only when no other can, and lets the others go first whenever it has signalled
//   random:SEED   blocks and threads in an order that changes from turn to turn
//
// Nodes of a graph (host_graph.h) run in such an order, too, as far as what they come after allows.
//
// Shared memory begins with contents that are no numbers. When no thread can go on, but some poll, the clock moves on by a
// minute once. If that does not help, and where barriers are not reached by all threads, the process ends with exit code 3 and a
// message.
//
// Compiled with ThreadSanitizer, emitted source is checked for races as well: each fibre is a thread of its own to it,
// and only barriers, releases and acquires order what fibres do. So a race is found in every order in which the two
// accesses occur, and not only where it changes a result. host_cuda.cpp itself is compiled without it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace host_cuda {

struct Index {
  unsigned x;
};
Index thread_index();
Index block_index();

/// Ends when all threads have returned from `body`, or one has trapped: then has_failed() holds from there on.
void launch(unsigned blocks, unsigned threads, std::size_t shared_bytes,
            const std::function<void()>& body);

bool has_failed();

/// The order of launches from now on, in place of $HOST_CUDA_ORDER.
void set_order(const std::string& name);

/// The lanes of a warp from now on, 32 without a call. Returns true.
bool set_warp_lanes(unsigned lanes);

/// Ends the process with exit code 3.
[[noreturn]] void give_up(const std::string& message);

/// A node of a graph: what it does, and the numbers of earlier nodes that it comes after.
struct GraphStep {
  std::function<void()> run;
  std::vector<std::size_t> after;
};
/// Ends when all nodes have. Each runs on a stack of its own, to its end before another one begins.
void run_graph(const std::vector<GraphStep>& steps);

// For the threads of a grid.
void synchronize_block();
void synchronize_warp();
/// `result`: the value of the lane with the number of this one xor `distance`; so many neighbouring `lanes` take part. Orders
/// no memory.
void exchange(const void* value, void* result, std::size_t bytes, unsigned distance,
              unsigned lanes);
/// `results`: the values of all lanes, one after the other. Orders no memory.
void gather(const void* value, void* results, std::size_t bytes);

/// Copies to shared memory that a thread has begun. `group`: as many groups had been committed before.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  bool is_read;
  unsigned group;
};
struct Copies {
  std::vector<Copy> begun;
  unsigned groups = 0;
};
Copies& copies();

std::uint64_t load(const std::uint64_t* from, bool acquires);
void add(std::uint64_t* to, std::uint64_t summand, bool releases);
void pause();
std::uint64_t nanoseconds();
/// Whether a word was 0, which is 1 then.
bool is_first(std::uint64_t* place);
void trap();
unsigned char* shared_memory();
/// Of the block, from there on.
std::size_t shared_bytes();

}  // namespace host_cuda
