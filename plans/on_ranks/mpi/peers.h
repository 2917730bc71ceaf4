#pragma once
// What ranks on one machine know of each other without a message: who is there, and where in the program. A rank that is
// killed says nothing; the others tell it, and end.

#include <cstddef>
#include <string_view>

namespace lemma::plans {

class Peers {
 public:
  /// All ranks, when MPI has started. From now on a rank that is gone ends this process.
  Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  /// All ranks, before MPI ends.
  ~Peers();

  /// Says where this rank is.
  void enter(std::string_view place);
  /// Whether this rank is the first of those on the machine that says why the run ends.
  bool claim_last_word();

 private:
  struct State;
  State* state_;
};

}  // namespace lemma::plans
