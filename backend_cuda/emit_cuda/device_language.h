#pragma once
// The language that source for a GPU is written in: CUDA, or HIP for AMD devices. All that differs between the two is here and in
// the parts *.hip.in; kernels, tables and parts are written once, with CUDA's words.

#include <string>
#include <string_view>

#include "backend/emit/emit_program.h"
#include "backend/multiprocessor.h"

namespace lemma::backend {

/// A part with CUDA's words, in the language of the source: calls, types, names of files. What a model has a say in is filled
/// in later.
std::string in_language(std::string_view part, const CudaOptions& options);

/// The name of a file of CUDA source in the language.
std::string file_in_language(std::string_view file, const CudaOptions& options);

/// Parts that are written for each language.
struct LanguageParts {
  std::string_view device_words;   // ptx.cuh, hip.cuh
  std::string_view device_checks;  // of persistent.cuh
  std::string_view cmake;
};
LanguageParts language_parts(const CudaOptions& options);

/// The architecture as the checks of a device compare it: its number for CUDA, its name for HIP.
std::string architecture_constant(const CudaOptions& options);

/// The files of all programs (shared_files) in the language; only those without words of a model differ.
ProgramFiles in_language(ProgramFiles files, const CudaOptions& options);

}  // namespace lemma::backend
