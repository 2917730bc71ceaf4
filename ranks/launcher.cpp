#include "ranks/launcher.h"

#include <array>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "ranks/messenger.h"
#include "ranks/module.h"

namespace lemma::ranks {
namespace {

std::optional<std::size_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text < '0' || *text > '9') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

Result<std::unique_ptr<Transport>> load(const std::filesystem::path& module, std::size_t ranks) {
  LEMMA_ASSIGN_OR_RETURN(void* const symbol, module_function(module, connect_name, ranks));
  auto* function = reinterpret_cast<ConnectFunction*>(symbol);
  std::array<char, 256> reason{};
  std::unique_ptr<Transport> transport(function(reason.data(), reason.size()));
  if (transport == nullptr)
    return unsupported(fmt::format("MPI cannot be used: {}", reason.data()));
  return transport;
}

}  // namespace

Launch launch_of_environment() {
  constexpr std::array<std::array<const char*, 2>, 3> variables = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}};
  for (const auto& [rank, size] : variables) {
    const auto own = number_in(rank), all = number_in(size);
    if (own && all && *own < *all) return {*own, *all};
  }
  return {};
}

Result<std::unique_ptr<Ranks>> connect(const std::filesystem::path& module) {
  const Launch launch = launch_of_environment();
  if (launch.size == 1) return one_rank();
  return ranks_over([&module, &launch]() -> Result<std::unique_ptr<Transport>> {
    LEMMA_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, load(module, launch.size));
    if (transport->size() == launch.size) return transport;
    const std::size_t joined = transport->size();
    transport->close();
    return tl::unexpected(other_launcher(launch.size, joined));
  });
}

}  // namespace lemma::ranks
