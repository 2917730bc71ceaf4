#pragma once
// What the module for NCCL exports. Functions give 0, or another number and a reason in a text of at most so many bytes.

#include <cstddef>

namespace lemma::plans::nccl {

constexpr std::size_t id_bytes = 128;  // NCCL_UNIQUE_ID_BYTES

/// What goes to one rank and what comes from it, in memory of the host or of the device.
struct Transfer {
  int rank = 0;
  const std::byte* sent = nullptr;
  std::size_t sent_bytes = 0;
  std::byte* received = nullptr;
  std::size_t received_bytes = 0;
};

using MakeId = int(char* id, char* reason, std::size_t size);
/// Joins the ranks that were given this id. A rank takes the device with its number, or the rest of it.
using Connect = int(const char* id, int rank, int ranks, void** state, char* reason,
                    std::size_t size);
/// All of a group call it together.
using Exchange = int(void* state, const Transfer* transfers, std::size_t count, char* reason,
                     std::size_t size);
using End = void(void* state);

inline constexpr const char* make_id_name = "lemma_nccl_make_id";
inline constexpr const char* connect_name = "lemma_nccl_connect";
inline constexpr const char* exchange_name = "lemma_nccl_exchange";
inline constexpr const char* end_name = "lemma_nccl_end";

}  // namespace lemma::plans::nccl
