#include "plans/on_ranks/mpi_ranks.h"

#include <array>

#include <fmt/format.h>

#include "ranks/module.h"

namespace lemma::plans {

Result<void> run_as_process(const std::filesystem::path& module, std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run,
                            const std::function<Ending(const Error& error)>& ending_of) {
  LEMMA_ASSIGN_OR_RETURN(void* const connecting,
                         ranks::module_function(module, connect_plans_name, ranks));
  LEMMA_ASSIGN_OR_RETURN(void* const ending, ranks::module_function(module, end_plans_name, ranks));
  auto* connect = reinterpret_cast<ConnectPlansFunction*>(connecting);
  auto* end = reinterpret_cast<EndPlansFunction*>(ending);
  std::array<char, 256> reason{};
  Communicator* communicator = connect(reason.data(), reason.size());
  if (communicator == nullptr)
    return unsupported(fmt::format("MPI cannot be used: {}", reason.data()));
  if (communicator->size() != ranks) {
    const std::size_t joined = communicator->size();
    end(communicator, nullptr);
    return tl::unexpected(ranks::other_launcher(ranks, joined));
  }
  const Result<void> done = run_guarded(run, *communicator);
  if (done) {
    end(communicator, nullptr);
    return {};
  }
  const Ending last = ending_of(ended(*communicator, done.error()));
  end(communicator, &last);
  return done;
}

}  // namespace lemma::plans
