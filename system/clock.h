#pragma once
// Processor time of single threads, for figures that do not depend on what else the machine does, and the date.

#include <string>

namespace lemma {

/// Processor seconds that the calling thread has used.
double thread_processor_seconds();

/// The date in universal time: "2026-11-22".
std::string today();

}  // namespace lemma
