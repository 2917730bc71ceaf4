#pragma once
// A definition in the place where another one reads its result.

#include <optional>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Real elements that are computed in a wider type than they are stored in.
bool is_rounded_when_stored(DataType type);

/// The reader's definition with the producer's in place of reads of operand `input`; the producer's operands follow
/// the reader's. Elements are rounded as if they had been stored.
Computation substitute(const Computation& reader, std::uint32_t input, const Computation& producer);

/// How many elements of operand `input` the reader takes, counted as often as it takes them; nothing if it reads the
/// operand at several places of its definition.
std::optional<double> read_count(const Computation& reader, std::uint32_t input);

}  // namespace lemma::backend
