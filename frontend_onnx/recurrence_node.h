#pragma once
// LSTM, GRU and RNN of ONNX as a file has them, with what their records leave out: lengths of sequences, peepholes, limits
// on what activations are given, other activations, coupled gates.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend_onnx/messages.h"
#include "ir/data_type.h"

namespace lemma::frontend {

/// A function of ONNX's list for recurrences.
struct GateActivation {
  std::string op;                    // of the standard operator; empty for Affine and ScaledTanh
  std::optional<float> alpha, beta;  // attributes of it
  float factor = 1, inner_factor = 1, addend = 0;  // factor * op(inner_factor * x) + addend
};

struct RecurrenceNode {
  enum class Kind { lstm, gru, rnn };
  Kind kind = Kind::rnn;
  int gates = 1, states = 1;   // an LSTM has a cell beside the hidden state
  std::int64_t size = 0;       // of the hidden state
  std::vector<bool> reversed;  // by direction
  std::vector<std::vector<GateActivation>> activations;  // by direction, then f, g and h
  std::optional<float> limit;  // on the size of what activations are given
  bool batch_first = false, couples_gates = false, resets_after_product = false;
};

/// Nothing if the node is none of them, or its attributes are not valid.
std::optional<RecurrenceNode> recurrence_of(const ::onnx::NodeProto& node);

}  // namespace lemma::frontend
