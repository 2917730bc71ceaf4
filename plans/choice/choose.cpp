#include "plans/choice/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plans/choice/fronts.h"
#include "plans/choice/improve.h"
#include "plans/choice/layers.h"
#include "plans/choice/prices.h"
#include "plans/choice/search.h"

namespace lemma::choice {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Of larger problems a layer has too many states anyway.
constexpr std::size_t most_layer_variables = 5'000;

class Chooser {
 public:
  Chooser(const Problem& problem, const ChooseOptions& options)
      : problem_(problem), options_(options), merged_(merged(problem)) {
    elimination_.most_entries = options.most_entries;
  }

  Outcome run() {
    if (!model().is_possible) return impossible();
    for (const Choice& seed : options_.seeds) take_seed(seed);
    const Elimination elimination = eliminated(model(), model().seconds, elimination_);
    if (std::isinf(elimination.bound)) return impossible();
    outcome_.bound = elimination.bound;
    const Values values = decided(elimination);
    if (fits(model(), values)) take(values);
    if (elimination.is_exact && is_known()) return finished(Method::elimination);
    if (elimination.is_exact && is_solved_by_fronts(values)) return std::move(outcome_);
    if (model().room.empty()) {
      improve();
      if (is_solved_by_layers(elimination, 0)) return std::move(outcome_);
      return searched(elimination, 0);
    }
    const PriceOutcome priced =
        bound_by_prices(model(), {options_.price_rounds, elimination_, options_.stop});
    if (priced.bound == infinite) return impossible();
    outcome_.bound = std::max(outcome_.bound, priced.bound);
    if (priced.values) take(*priced.values);
    prices_ = priced.prices;
    improve();
    if (is_stopped(options_.stop)) {
      fill(Method::local_search);
      return std::move(outcome_);
    }
    const std::vector<std::vector<double>> seconds = priced_seconds(model(), priced.prices);
    const double price = price_of_room(model(), priced.prices);
    EliminationOptions in_order = elimination_;
    in_order.order = order_by_moments(model());
    if (is_solved_by_layers(eliminated(model(), seconds, in_order), price))
      return std::move(outcome_);
    return searched(eliminated(model(), seconds, elimination_), price);
  }

 private:
  const Model& model() const { return merged_.model; }
  bool is_known() const { return !std::isinf(seconds_); }

  void take(const Values& values) {
    const double seconds = seconds_of(model(), values);
    if (seconds < seconds_) seconds_ = seconds, values_ = values;
  }

  void take_seed(const Choice& seed) {
    if (!is_allowed(problem_, seed)) return;
    Values values(model().variables());
    for (std::size_t node = 0; node < seed.size(); ++node)
      values[merged_.variable_of[node]] = seed[node];
    take(values);
  }

  void improve() {
    ImproveOptions options;
    options.stop = options_.stop;
    options.rounds = options_.improve_rounds;
    options.prices = prices_;
    if (is_known()) take(improved(model(), values_, options));
  }

  Outcome impossible() {
    outcome_ = {};
    outcome_.bound = infinite;
    outcome_.is_impossible = true;
    return std::move(outcome_);
  }

  /// The best of all is known.
  Outcome finished(Method method) {
    fill(method);
    outcome_.bound = outcome_.seconds;
    outcome_.was_stopped = false;
    return std::move(outcome_);
  }

  void fill(Method method) {
    outcome_.method = method;
    if (!is_known()) return;
    outcome_.choice = merged_.choice_of(values_);
    outcome_.seconds = seconds_of(problem_, outcome_.choice);
    outcome_.peak = peak_of(problem_, outcome_.choice);
    outcome_.bound = std::min(outcome_.bound, outcome_.seconds);
    outcome_.was_stopped = is_stopped(options_.stop) && !outcome_.is_optimal();
  }

  bool is_solved_by_fronts(const Values& cheapest) {
    if (const auto fitting = repaired(model(), cheapest)) take(*fitting);
    const FrontOutcome fronts =
        best_by_fronts(model(), seconds_, {options_.most_points, options_.stop});
    if (!fronts.is_complete) return false;
    if (fronts.values) take(*fronts.values);
    if (is_known())
      outcome_ = finished(Method::fronts);
    else
      outcome_ = impossible();
    return true;
  }

  bool is_solved_by_layers(const Elimination& elimination, double price) {
    if (model().variables() > most_layer_variables) return false;
    const LayerOutcome layers = best_by_layers(model(), elimination, price, seconds_,
                                               {options_.most_layer_states, options_.stop});
    if (!layers.is_complete) return false;
    if (layers.values) take(*layers.values);
    outcome_ = is_known() ? finished(Method::layers) : impossible();
    return true;
  }

  Outcome searched(const Elimination& elimination, double price) {
    const SearchOutcome search_outcome =
        search(model(), elimination, price, seconds_, {options_.most_states, options_.stop});
    outcome_.states = search_outcome.states;
    if (search_outcome.values) take(*search_outcome.values);
    if (search_outcome.is_complete && !is_known()) return impossible();
    if (search_outcome.is_complete) return finished(Method::branch_and_bound);
    if (search_outcome.values) improve();
    fill(Method::local_search);
    return std::move(outcome_);
  }

  const Problem& problem_;
  ChooseOptions options_;
  Merged merged_;
  EliminationOptions elimination_;
  Outcome outcome_;
  std::vector<double> prices_;
  Values values_;
  double seconds_ = infinite;
};

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::elimination: return "elimination";
    case Method::fronts: return "fronts";
    case Method::layers: return "layers";
    case Method::branch_and_bound: return "branch and bound";
    case Method::local_search: return "local search";
  }
  return "";
}

bool Outcome::is_optimal() const { return is_found() && gap() <= 1e-9; }

double Outcome::gap() const {
  if (!is_found() || seconds <= bound) return 0;
  return bound > 0 ? seconds / bound - 1 : infinite;
}

Outcome choose(const Problem& problem, const ChooseOptions& options) {
  return Chooser(problem, options).run();
}

}  // namespace lemma::choice
