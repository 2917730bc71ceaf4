#include "system/signals.h"

namespace lemma {

struct sigaction handle_unless_ignored(int number, const struct sigaction& action) {
  struct sigaction before {};
  sigaction(number, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  return before;
}

}  // namespace lemma
