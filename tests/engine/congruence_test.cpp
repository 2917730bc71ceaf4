// Congruence closure against a naive one.

#include <random>

#include "tests/engine/plain.h"

namespace lemma::engine {
namespace {

using testing::expect_sound;
using testing::Plain;
using testing::PlainEGraph;
using testing::term;

TEST(Congruence, OfIteratedFunctions) {
  PlainEGraph egraph;
  const ClassId a = term(egraph, "a"), fa = term(egraph, "(f a)"),
                f3 = term(egraph, "(f (f (f a)))");
  const ClassId f5 = term(egraph, "(f (f (f (f (f a)))))");
  EXPECT_TRUE(egraph.unite(f3, a));
  EXPECT_TRUE(egraph.unite(f5, a));
  EXPECT_FALSE(egraph.unite(f5, a));
  egraph.rebuild();
  EXPECT_EQ(egraph.find(fa), egraph.find(a));  // 3 and 5 have no common divisor
  EXPECT_EQ(egraph.class_count(), 1);
  EXPECT_EQ(egraph.node_count(), 2);
  expect_sound(egraph);
}

TEST(Congruence, ArityTellsWordsApart) {
  PlainEGraph egraph;
  const ClassId x = term(egraph, "x");
  const ClassId one = term(egraph, "(f x)"), two = term(egraph, "(f x x)"),
                three = term(egraph, "(f x x x)");
  EXPECT_EQ(egraph.class_count(), 4);
  egraph.unite(x, term(egraph, "y"));
  egraph.rebuild();
  EXPECT_EQ(egraph.find(term(egraph, "(f y)")), egraph.find(one));
  EXPECT_EQ(egraph.find(term(egraph, "(f y x)")), egraph.find(two));
  EXPECT_EQ(egraph.find(term(egraph, "(f x y x)")), egraph.find(three));
  EXPECT_EQ(egraph.class_count(), 4);
  expect_sound(egraph);
}

/// Unites until nothing changes, comparing all pairs.
class NaiveClosure {
 public:
  explicit NaiveClosure(std::size_t count) : class_of_(count) {
    for (std::size_t i = 0; i < count; ++i) class_of_[i] = i;
  }
  void unite(std::size_t a, std::size_t b) {
    const std::size_t gone = class_of_[a], kept = class_of_[b];
    for (std::size_t& id : class_of_) id = id == gone ? kept : id;
  }
  bool equal(std::size_t a, std::size_t b) const { return class_of_[a] == class_of_[b]; }
  void close(const PlainEGraph& egraph) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = 0; i < class_of_.size(); ++i)
        for (std::uint32_t j = 0; j < i; ++j)
          if (!equal(i, j) && congruent(egraph, {i}, {j})) {
            unite(i, j);
            changed = true;
          }
    }
  }

 private:
  bool congruent(const PlainEGraph& egraph, ENodeId a, ENodeId b) const {
    const auto x = egraph.founding_children(a), y = egraph.founding_children(b);
    return egraph.form(a) == egraph.form(b) &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](ClassId p, ClassId q) { return equal(p.v, q.v); });
  }
  std::vector<std::size_t> class_of_;
};

TEST(Congruence, OfRandomTermsIsTheNaiveOne) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    PlainEGraph egraph;
    std::vector<ClassId> ids;
    for (const char* const leaf : {"a", "b", "c", "d"}) ids.push_back(term(egraph, leaf));
    const auto pick = [&] { return ids[random() % ids.size()]; };
    for (int i = 0; i < 40; ++i) {
      std::vector<ClassId> children(1 + random() % 3);
      for (ClassId& child : children) child = pick();
      ids.push_back(egraph.add(egraph.language().form_of(random() % 2 == 0 ? "f" : "g"), children));
    }
    NaiveClosure naive(egraph.id_count());
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 3; ++i) {
        const ClassId a = pick(), b = pick();
        egraph.unite(a, b);
        naive.unite(a.v, b.v);
      }
      egraph.rebuild();
      naive.close(egraph);
      expect_sound(egraph);
      for (std::uint32_t i = 0; i < egraph.id_count(); ++i)
        for (std::uint32_t j = 0; j < i; ++j)
          ASSERT_EQ(egraph.find({i}) == egraph.find({j}), naive.equal(i, j)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lemma::engine
