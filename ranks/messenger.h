#pragma once
// Ranks over any transport.
//
// A separate thread sends and receives, so that other ranks are served while this process computes.
// It polls for messages about a thousand times a second and sleeps in between, so that it does not
// take processor time from ranks that compute on the same machine.

#include <functional>
#include <memory>

#include "ranks/ranks.h"
#include "ranks/transport.h"

namespace lemma::ranks {

/// `connect` is called on that thread.
Result<std::unique_ptr<Ranks>> ranks_over(
    const std::function<Result<std::unique_ptr<Transport>>()>& connect);

}  // namespace lemma::ranks
