#pragma once
// Handlers of signals that ask the process to end.

#include <csignal>

namespace lemma {

/// Handles a signal as `action` says, unless the process was started with it ignored: its caller decides what may
/// interrupt it (nohup, `trap '' INT`). What was set before.
struct sigaction handle_unless_ignored(int number, const struct sigaction& action);

}  // namespace lemma
