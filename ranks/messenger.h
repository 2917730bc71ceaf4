#pragma once
// Ranks over any transport.
//
// A thread of its own sends and receives, so that others are served while this process computes. It
// looks for messages some thousand times a second and sleeps in between, so that on a machine with as
// many ranks as processors it does not take the time of those that compute.

#include <functional>
#include <memory>

#include "ranks/ranks.h"
#include "ranks/transport.h"

namespace lemma::ranks {

/// `connect` is called on that thread.
Result<std::unique_ptr<Ranks>> ranks_over(
    const std::function<Result<std::unique_ptr<Transport>>()>& connect);

}  // namespace lemma::ranks
