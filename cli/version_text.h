#pragma once
// What `lemma --version` prints.

#include <string>

namespace lemma {

/// Lines: "lemma" and its version; the commit, where the program was built from a checkout; the operator sets that are
/// understood; the ONNX Runtime that Python has, or that there is none.
std::string version_text();

}  // namespace lemma
