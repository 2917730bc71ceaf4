// The module by which ranks that a launcher has started exchange tensors over MPI. It is loaded when several were started.

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "plans/on_ranks/mpi/peers.h"
#include "plans/on_ranks/mpi/windows.h"
#include "plans/on_ranks/mpi_ranks.h"
#include "ranks/mpi/start.h"

namespace lemma::plans {
namespace {

constexpr int tag = 7;

class MpiRank : public Communicator {
 public:
  MpiRank() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_group(MPI_COMM_WORLD, &world_);
    peers_.emplace();
  }

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t size() const override { return static_cast<std::size_t>(size_); }

  Result<void> all_to_all(const Group& group, std::span<const std::byte> parts,
                          std::span<std::byte> received) override {
    const std::size_t part = parts.size() / group.size();
    count(group.size() - 1, part);
    Unit unit(part);
    return checked(MPI_Alltoall(parts.data(), unit.count, unit.type, received.data(), unit.count,
                                unit.type, communicator_of(group)));
  }

  Result<void> all_gather(const Group& group, std::span<const std::byte> part,
                          std::span<std::byte> all) override {
    count(group.size() - 1, part.size());
    Unit unit(part.size());
    return checked(MPI_Allgather(part.data(), unit.count, unit.type, all.data(), unit.count,
                                 unit.type, communicator_of(group)));
  }

  Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    if (to < size() && to != rank()) count(1, sent.size());
    const auto place = [&](std::size_t rank) {
      return rank < size() ? static_cast<int>(place_in(group, rank)) : MPI_PROC_NULL;
    };
    Unit unit(sent.size());
    return checked(MPI_Sendrecv(sent.data(), unit.count, unit.type, place(to), tag, received.data(),
                                unit.count, unit.type, place(from), tag, communicator_of(group),
                                MPI_STATUS_IGNORE));
  }

  Result<void> send(std::size_t to, std::uint32_t channel,
                    std::span<const std::byte> sent) override {
    if (to != rank()) count(1, sent.size());
    if (sent.size() > INT_MAX) return unsupported("a message has more than 2 GB");
    LEMMA_ASSIGN_OR_RETURN(const int message_tag, tag_of(channel));
    forget_delivered();
    Sending& sending = sendings_.emplace_back();
    sending.bytes.assign(sent.begin(), sent.end());
    return checked(MPI_Isend(sending.bytes.data(), static_cast<int>(sent.size()), MPI_BYTE,
                             static_cast<int>(to), message_tag, MPI_COMM_WORLD, &sending.request));
  }

  Result<void> receive(std::size_t from, std::uint32_t channel,
                       std::span<std::byte> received) override {
    if (received.size() > INT_MAX) return unsupported("a message has more than 2 GB");
    LEMMA_ASSIGN_OR_RETURN(const int message_tag, tag_of(channel));
    MPI_Status status;
    LEMMA_RETURN_IF_ERROR(
        checked(MPI_Recv(received.data(), static_cast<int>(received.size()), MPI_BYTE,
                         static_cast<int>(from), message_tag, MPI_COMM_WORLD, &status)));
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (static_cast<std::size_t>(count) != received.size())
      return internal_error("a message has another size than its receiver expects");
    return {};
  }

  void enter(std::string_view place) override {
    Communicator::enter(place);
    peers_->enter(place);
  }
  Windows* windows() override {
    if (windows_ == nullptr)
      windows_ = windows_of_processes([this](const Group& group) { return &known(group); });
    return windows_.get();
  }

  /// Ends all ranks. The first one on a machine says why.
  [[noreturn]] void abort(const Ending& ending) {
    // A rank that was left leaves the word to the one that ends the run, or to the watch, which finds that one gone.
    constexpr auto patience = std::chrono::milliseconds(500);
    if (was_left()) std::this_thread::sleep_for(patience);
    if (peers_->claim_last_word()) std::cerr << ending.line << std::endl;
    MPI_Abort(MPI_COMM_WORLD, ending.code);
    std::abort();
  }
  void close() {
    for (Sending& sending : sendings_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    windows_.reset();
    peers_.reset();
    MPI_Finalize();
  }

 private:
  /// A message that is on its way: its bytes stay until it is delivered.
  struct Sending {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_delivered() {
    std::erase_if(sendings_, [](Sending& sending) {
      int is_done = 0;
      MPI_Test(&sending.request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
  }

  /// Every MPI knows tags up to 32767.
  static constexpr int first_tag = 16, most_channels = 32767 - first_tag;
  static Result<int> tag_of(std::uint32_t channel) {
    if (channel >= most_channels)
      return unsupported("a program has more channels than MPI has tags for");
    return first_tag + static_cast<int>(channel);
  }

  /// So many bytes as a number of elements that MPI can count.
  struct Unit {
    explicit Unit(std::size_t bytes) : count(static_cast<int>(bytes)) {
      if (bytes <= INT_MAX) return;
      MPI_Type_contiguous(block, MPI_BYTE, &block_type);
      const auto blocks = static_cast<int>(bytes / block);
      MPI_Datatype parts[] = {block_type, MPI_BYTE};
      const int lengths[] = {blocks, static_cast<int>(bytes % block)};
      const MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks) * block};
      MPI_Type_create_struct(2, lengths, places, parts, &type);
      MPI_Type_commit(&type);
      count = 1;
    }
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;
    ~Unit() {
      if (type == MPI_BYTE) return;
      MPI_Type_free(&type);
      MPI_Type_free(&block_type);
    }
    static constexpr int block = 1 << 20;
    MPI_Datatype type = MPI_BYTE, block_type = MPI_BYTE;
    int count = 0;
  };

  static Result<void> checked(int code) {
    if (code == MPI_SUCCESS) return {};
    return unsupported("MPI reports that an exchange failed");
  }

  MPI_Comm communicator_of(const Group& group) { return known(group); }

  const MPI_Comm& known(const Group& group) {
    const auto place = communicators_.find(group);
    if (place != communicators_.end()) return place->second;
    std::vector<int> ranks(group.begin(), group.end());
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group_incl(world_, static_cast<int>(ranks.size()), ranks.data(), &members);
    MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &made);
    MPI_Group_free(&members);
    return communicators_.emplace(group, made).first->second;
  }

  int rank_ = 0, size_ = 1;
  MPI_Group world_ = MPI_GROUP_NULL;
  std::map<Group, MPI_Comm> communicators_;
  std::list<Sending> sendings_;
  std::unique_ptr<Windows> windows_;
  std::optional<Peers> peers_;
};

}  // namespace
}  // namespace lemma::plans

// NOLINTNEXTLINE(readability-identifier-naming): the names that are looked up.
extern "C" __attribute__((visibility("default"))) lemma::plans::Communicator* lemma_connect_plans(
    char* reason, std::size_t size) {
  if (!lemma::ranks::start_mpi(reason, size)) return nullptr;
  return new lemma::plans::MpiRank;
}

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) void lemma_end_plans(
    lemma::plans::Communicator* communicator, const lemma::plans::Ending* ending) {
  auto* const rank = static_cast<lemma::plans::MpiRank*>(communicator);
  // The others wait for a rank that has failed: all of them end.
  if (ending != nullptr) rank->abort(*ending);
  rank->close();
  delete rank;
}
