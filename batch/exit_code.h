#pragma once

namespace lemma {

// Exit codes of the program (docs/exit_codes.md).
enum class ExitCode : int {
  done = 0,
  internal_fault = 1,
  bad_input = 2,  // bad usage as well
  some_models_failed = 3,
  check_failed = 4,
  no_ranks = 5,   // started as several processes, and cannot share the work among them
  no_device = 6,  // the target needs a device that is not here
  unproved = 7,   // a result stands on rules that were given without proof
};

}  // namespace lemma
