#pragma once
// The memory of this process.

#include <cstddef>

namespace lemma {

/// Bytes that it holds now; 0 where the operating system does not say it.
std::size_t resident_bytes();

/// Gives memory that was freed back to the operating system.
void give_back_memory();

}  // namespace lemma
