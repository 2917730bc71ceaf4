#pragma once
// The processor that this program runs on.

#include <string>

namespace lemma {

/// A digest of the processor's model and of the instructions that it offers here: code that a compiler made for this
/// processor runs where it is the same. Empty where the operating system does not say it.
std::string processor_digest();

}  // namespace lemma
