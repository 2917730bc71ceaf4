#pragma once
// The top of the report of `lemma optimize`: was it worth it, what changed, and why is it right.

#include <map>
#include <string>
#include <vector>

#include "batch/optimize_request.h"
#include "report/report_proofs.h"

namespace lemma {

/// What optimized the models, and where.
struct RunSetup {
  std::string version;    // of Lemma
  std::string processor;  // "AMD EPYC, family 25, model 17, avx2"
  int threads = 0;        // for each model
  std::vector<std::string>
      options;  // of the command line, each with its values; empty: the defaults
};

/// Of this program, on this machine.
RunSetup setup_here(int threads, std::vector<std::string> options);

/// A model of which the page says more below.
struct ModelSection {
  std::string id;  // of its heading in the page; empty: there is no section
  std::string
      changes;  // operators before and after: "2 Mul, Conv -> Conv, at 3 places"; empty: not known
};

struct FirstScreen {
  const std::vector<OptimizeAnswer>& answers;
  const std::vector<ModelSection>& sections;  // by answer
  const std::map<std::string, ReportedProof>& proofs;
  const RunSetup& setup;
};

/// One sentence with figures: how much faster models run, and at which sizes that was measured.
std::string gain_sentence(const std::vector<OptimizeAnswer>& answers);

/// The name of the model's file.
std::string short_name(const OptimizeAnswer& answer);

/// As HTML: the sentence; what changed; why it is right; bars of all models, those that were measured first, and in
/// each row why the result is what it is; what was kept as it was, folded; and how it was made.
std::string first_screen(const FirstScreen& screen);

/// Two bars, one above the other, as parts of the larger one of all: before and after.
std::string bars(double before, double after, double largest);

}  // namespace lemma
