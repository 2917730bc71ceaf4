#pragma once
// What the ranks of a plan do: task programs, and exchanges over MPI between them.

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace ranks {

/// Ends all ranks with a line.
[[noreturn]] inline void fail(const std::string& message) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "rank %d: %s\n", rank, message.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// A block of a tensor that is stored whole in a file, row by row.
struct Block {
  std::vector<std::int64_t> sizes, begin, extent;  // of the whole tensor, and of the block
  std::size_t element_bytes;

  std::size_t bytes() const {
    std::size_t count = element_bytes;
    for (const std::int64_t size : extent) count *= static_cast<std::size_t>(size);
    return count;
  }
  /// Calls `visit` for each run of bytes that lie side by side: where it is in the whole, in the block, and its length.
  template <typename Visit>
  void for_each_row(Visit visit) const {
    const std::size_t rank = sizes.size(), all = bytes();
    if (all == 0) return;
    const std::size_t row =
        element_bytes * (rank == 0 ? 1 : static_cast<std::size_t>(extent[rank - 1]));
    std::vector<std::int64_t> index(rank, 0);
    for (std::size_t at = 0; at < all; at += row) {
      std::size_t place = 0;
      for (std::size_t axis = 0; axis < rank; ++axis)
        place = place * static_cast<std::size_t>(sizes[axis]) +
                static_cast<std::size_t>(begin[axis] + index[axis]);
      visit(place * element_bytes, at, row);
      for (std::size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
        if (++index[axis] < extent[axis]) break;
        index[axis] = 0;
      }
    }
  }
};

/// What a rank reads before it begins, and what it gives in the end.
struct Source {
  int slot;
  const char* file;
  std::size_t offset;  // of the whole tensor in the file
  Block block;
};
struct Output {
  int slot, number;  // of the model's outputs
  bool is_real;      // f32 or f64; others have to be equal
  Block block;
};

/// A task program: its functions, and the folder of its weights.
struct Stage {
  const char* weights;
  int (*create)(const char*, void**);
  int (*run)(void*, const void* const*, const std::size_t*, std::size_t, void* const*,
             const std::size_t*, std::size_t);
  const char* (*message)();
};

enum class Reduction { sum, max, min, mean };

template <typename T>
void reduce(const std::byte* parts, std::size_t count, std::size_t elements, Reduction reduction,
            std::byte* result) {
  for (std::size_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, parts + i * sizeof(T), sizeof(T));
    for (std::size_t part = 1; part < count; ++part) {
      T other;
      std::memcpy(&other, parts + (part * elements + i) * sizeof(T), sizeof(T));
      switch (reduction) {
        case Reduction::sum:
        case Reduction::mean: value = static_cast<T>(value + other); break;
        // What is no number stays, as it does on one device.
        case Reduction::max: value = other > value || other != other ? other : value; break;
        case Reduction::min: value = other < value || other != other ? other : value; break;
      }
    }
    if (reduction == Reduction::mean) value = static_cast<T>(value / static_cast<T>(count));
    std::memcpy(result + i * sizeof(T), &value, sizeof(T));
  }
}

using Reduce = void (*)(const std::byte*, std::size_t, std::size_t, Reduction, std::byte*);

/// One rank: the tensors that it has, by slot, and what it does with them.
class Rank {
 public:
  Rank(std::string folder, const std::vector<std::size_t>& slot_bytes)
      : folder_(std::move(folder)), bytes_(slot_bytes) {
    for (const std::size_t bytes : slot_bytes) memory_.emplace_back(bytes / sizeof(Line) + 1);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rank_ = rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int number() const { return rank_; }
  std::byte* data(int slot) { return reinterpret_cast<std::byte*>(memory_[slot].data()); }
  std::size_t bytes(int slot) const { return bytes_[slot]; }

  void load(const Source& source, const std::string& folder) {
    const std::string name = folder + "/" + source.file;
    std::FILE* const file = std::fopen(name.c_str(), "rb");
    if (file == nullptr) fail(name + ": cannot be opened");
    bool is_read = true;
    source.block.for_each_row([&](std::size_t from, std::size_t to, std::size_t size) {
      is_read = is_read && std::fseek(file, static_cast<long>(source.offset + from), SEEK_SET) == 0 &&
                std::fread(data(source.slot) + to, 1, size, file) == size;
    });
    std::fclose(file);
    if (!is_read) fail(name + ": ends too early");
  }

  void compute(const Stage& stage, const std::vector<int>& inputs, const std::vector<int>& outputs) {
    void*& program = programs_[&stage];
    if (program == nullptr &&
        stage.create((folder_ + "/" + stage.weights).c_str(), &program) != 0)
      fail(stage.message());
    std::vector<const void*> given;
    std::vector<void*> results;
    std::vector<std::size_t> given_bytes, result_bytes;
    for (const int slot : inputs) {
      given.push_back(data(slot));
      given_bytes.push_back(bytes_[slot]);
    }
    for (const int slot : outputs) {
      results.push_back(data(slot));
      result_bytes.push_back(bytes_[slot]);
    }
    if (stage.run(program, given.data(), given_bytes.data(), given.size(), results.data(),
                  result_bytes.data(), results.size()) != 0)
      fail(stage.message());
  }

  void send(int slot, int to, int channel) {
    sendings_.remove_if([](Sending& sending) {
      int is_done = 0;
      MPI_Test(&sending.request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
    Sending& sending = sendings_.emplace_back();
    sending.bytes.assign(data(slot), data(slot) + bytes_[slot]);
    check(MPI_Isend(sending.bytes.data(), count_of(bytes_[slot]), MPI_BYTE, to, first_tag + channel,
                    MPI_COMM_WORLD, &sending.request));
  }
  void receive(int slot, int from, int channel) {
    check(MPI_Recv(data(slot), count_of(bytes_[slot]), MPI_BYTE, from, first_tag + channel,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  /// Waits until all that was sent has arrived.
  void finish() {
    for (Sending& sending : sendings_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    sendings_.clear();
  }

  // Exchanges of a group. `outer` is how many times the axis that is cut or joined is gone through: the product of the sizes
  // before it.

  void all_gather(int operand, int result, const std::vector<int>& group, std::size_t outer) {
    const std::size_t part = bytes_[operand];
    std::byte* const all = outer == 1 ? data(result) : scratch(part * group.size());
    gather(data(operand), part, all, group);
    if (outer != 1) join(all, group.size(), part, outer, data(result));
  }
  void own_part(int operand, int result, const std::vector<int>& group, std::size_t outer) {
    const std::size_t piece = bytes_[result] / std::max<std::size_t>(outer, 1);
    const std::size_t place = place_in(group);
    for (std::size_t i = 0; i < outer; ++i)
      std::memcpy(data(result) + i * piece,
                  data(operand) + (i * group.size() + place) * piece, piece);
  }
  void all_to_all(int operand, int result, const std::vector<int>& group, std::size_t outer_split,
                  std::size_t outer_join) {
    const std::size_t part = bytes_[operand] / group.size();
    std::byte* const sent = scratch(2 * bytes_[operand]);
    std::byte* const received = sent + bytes_[operand];
    cut(data(operand), group.size(), part, outer_split, sent);
    swap_parts(sent, part, received, group);
    join(received, group.size(), part, outer_join, data(result));
  }
  void reduce_scatter(int operand, int result, const std::vector<int>& group, std::size_t outer,
                      Reduce reduce, Reduction reduction, std::size_t element_bytes) {
    const std::size_t part = bytes_[result];
    std::byte* const sent = scratch(2 * bytes_[operand]);
    std::byte* const received = sent + bytes_[operand];
    cut(data(operand), group.size(), part, outer, sent);
    swap_parts(sent, part, received, group);
    reduce(received, group.size(), part / element_bytes, reduction, data(result));
  }
  /// Each rank adds up a part, in the order of the ranks, and gives it to all.
  void all_reduce(int operand, int result, const std::vector<int>& group, Reduce reduce,
                  Reduction reduction, std::size_t element_bytes) {
    const std::size_t all = bytes_[operand], elements = all / element_bytes, ranks = group.size();
    if (elements % ranks != 0) {
      std::byte* const parts = scratch(all * ranks);
      gather(data(operand), all, parts, group);
      reduce(parts, ranks, elements, reduction, data(result));
      return;
    }
    std::byte* const received = scratch(all + all / ranks);
    swap_parts(data(operand), all / ranks, received, group);
    reduce(received, ranks, elements / ranks, reduction, received + all);
    gather(received + all, all / ranks, data(result), group);
  }
  void broadcast(int operand, int result, const std::vector<int>& group, int root) {
    if (static_cast<int>(place_in(group)) == root)
      std::memcpy(data(result), data(operand), bytes_[operand]);
    check(MPI_Bcast(data(result), count_of(bytes_[result]), MPI_BYTE, root, communicator(group)));
  }
  void shift(int operand, int result, const std::vector<int>& group, int distance, bool is_ring) {
    const int ranks = static_cast<int>(group.size()), place = static_cast<int>(place_in(group));
    const auto at = [&](int other) {
      if (is_ring) return ((other % ranks) + ranks) % ranks;
      return other < 0 || other >= ranks ? MPI_PROC_NULL : other;
    };
    std::memset(data(result), 0, bytes_[result]);
    check(MPI_Sendrecv(data(operand), count_of(bytes_[operand]), MPI_BYTE, at(place + distance), tag,
                       data(result), count_of(bytes_[result]), MPI_BYTE, at(place - distance), tag,
                       communicator(group), MPI_STATUS_IGNORE));
  }

 private:
  struct Line {
    alignas(64) std::byte bytes[64];
  };
  struct Sending {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  static constexpr int tag = 7, first_tag = 16;

  static void check(int code) {
    if (code != MPI_SUCCESS) fail("MPI reports that an exchange failed");
  }
  static int count_of(std::size_t bytes) {
    if (bytes > INT_MAX) fail("a tensor has more than 2 GB");
    return static_cast<int>(bytes);
  }
  std::size_t place_in(const std::vector<int>& group) const {
    return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank_) - group.begin());
  }
  std::byte* scratch(std::size_t bytes) {
    scratch_.resize(std::max(scratch_.size(), bytes));
    return scratch_.data();
  }
  void gather(const std::byte* part, std::size_t bytes, std::byte* all,
              const std::vector<int>& group) {
    check(MPI_Allgather(part, count_of(bytes), MPI_BYTE, all, count_of(bytes), MPI_BYTE,
                        communicator(group)));
  }
  void swap_parts(const std::byte* parts, std::size_t bytes, std::byte* received,
                  const std::vector<int>& group) {
    check(MPI_Alltoall(parts, count_of(bytes), MPI_BYTE, received, count_of(bytes), MPI_BYTE,
                       communicator(group)));
  }
  /// Parts of an axis, one behind the other, from a tensor; and the tensor from them.
  static void cut(const std::byte* whole, std::size_t parts, std::size_t part, std::size_t outer,
                  std::byte* result) {
    for (std::size_t i = 0; i < parts * outer; ++i) {
      const std::size_t piece = part / outer;
      std::memcpy(result + i % parts * part + i / parts * piece, whole + i * piece, piece);
    }
  }
  static void join(const std::byte* cut, std::size_t parts, std::size_t part, std::size_t outer,
                   std::byte* whole) {
    for (std::size_t i = 0; i < parts * outer; ++i) {
      const std::size_t piece = part / outer;
      std::memcpy(whole + i * piece, cut + i % parts * part + i / parts * piece, piece);
    }
  }
  MPI_Comm communicator(const std::vector<int>& group) {
    const auto known = communicators_.find(group);
    if (known != communicators_.end()) return known->second;
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group_incl(world_, static_cast<int>(group.size()), group.data(), &members);
    MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &made);
    MPI_Group_free(&members);
    return communicators_.emplace(group, made).first->second;
  }

  std::string folder_;
  int rank_ = 0;
  std::vector<std::size_t> bytes_;
  std::vector<std::vector<Line>> memory_;
  std::vector<std::byte> scratch_;
  std::map<const Stage*, void*> programs_;
  MPI_Group world_ = MPI_GROUP_NULL;
  std::map<std::vector<int>, MPI_Comm> communicators_;
  std::list<Sending> sendings_;
};

/// What belongs to a rank: its program, which others may share, and its tensors.
struct RankData {
  void (*run)(Rank&, const std::vector<std::vector<int>>& groups);
  std::vector<std::size_t> slot_bytes;
  std::vector<std::vector<int>> groups;
  std::vector<Source> weights, inputs;
  std::vector<Output> outputs;
};

}  // namespace ranks
