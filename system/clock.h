#pragma once
// Processor time of single threads, for figures that do not depend on what else the machine does.

namespace lemma {

/// Processor seconds that the calling thread has used.
double thread_processor_seconds();

}  // namespace lemma
