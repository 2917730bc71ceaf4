#pragma once
// What the tests of databases share: a folder of rules of their own, and the rules.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "verifier/rule_files.h"
#include "verifier/write_proofs.h"

namespace lemma::verifier {

namespace fs = std::filesystem;

inline constexpr const char* rules = "substitutions.proofs";
inline constexpr const char* commutes =
    "axiom add_commutes\n  a : [n]\n  b : [n]\n  Add(a, b) = Add(b, a)\n\n"
    "axiom mul_commutes\n  a : [n]\n  b : [n]\n  Mul(a, b) = Mul(b, a)\n";
inline constexpr const char* swap = "rule swap\n  x : [m]\n  y : [m]\n  Add(x, y) => Add(y, x)\n";
inline constexpr const char* product =
    "rule product\n  x : [m]\n  y : [m]\n  Mul(x, y) => Mul(y, x)\n";
inline constexpr const char* wrong = "rule wrong\n  x : [m]\n  y : [m]\n  Sub(x, y) => Sub(y, x)\n";
/// No axiom is about Neg: it has an index proof only.
inline constexpr const char* by_index = "rule twice\n  x : [m]\n  Neg(Neg(x)) => x\n";
/// The tests take its index proof away, so that it has a certificate only.
inline constexpr const char* by_axioms =
    "rule lone\n  x : [m]\n  y : [m]\n  Relu(Add(x, y)) => Relu(Add(y, x))\n";
/// Neither.
inline constexpr const char* beyond =
    "rule beyond\n  x : [n, c, h]\n  Relu(GlobalMaxPool(x)) => GlobalMaxPool(Relu(x))\n";

/// A folder of axioms and rules that each test fills, proves, alters and loads.
class DatabaseFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = fs::temp_directory_path() / ("lemma_database_test_" + name);
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "axioms");
    fs::create_directories(folder_ / "substitutions");
    write("axioms/a.axioms", commutes);
    write("axioms.rounding", "add_commutes bitwise\nmul_commutes bitwise\n");
    write("substitutions/a.rules", std::string(swap) + "\n" + product);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& contents) {
    std::ofstream(folder_ / file) << contents;
  }
  std::string read(const std::string& file) {
    const auto contents = read_text_file(folder_ / file);
    EXPECT_TRUE(contents) << file;
    return contents.value_or("");
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string contents = read(file);
    const std::size_t at = contents.find(from);
    ASSERT_NE(at, std::string::npos) << file << ": " << from;
    contents.replace(at, from.size(), to);
    write(file, contents);
  }
  /// The value of a field of a record.
  std::string field(const std::string& file, const std::string& name, const std::string& key) {
    const std::string contents = read(file);
    const std::size_t line = contents.find("\n" + name + " ");
    const std::size_t begin = contents.find(" " + key + "=", line) + key.size() + 2;
    return contents.substr(begin, contents.find_first_of(" \n", begin) - begin);
  }
  void set_field(const std::string& file, const std::string& name, const std::string& key,
                 const std::string& value) {
    const std::string contents = read(file);
    const std::size_t line = contents.find("\n" + name + " ");
    ASSERT_NE(line, std::string::npos);
    const std::size_t begin = contents.find(" " + key + "=", line) + key.size() + 2;
    write(file, contents.substr(0, begin) + value +
                    contents.substr(contents.find_first_of(" \n", begin)));
  }
  void prove_and_write() {
    const auto verification = verify_database(folder_);
    ASSERT_TRUE(verification) << verification.error().message;
    const auto written = write_proofs(folder_, *verification);
    ASSERT_TRUE(written) << written.error().message;
  }
  std::string refusal() {
    const auto database = load_rules(folder_);
    return database ? "" : database.error().message;
  }

  fs::path folder_;
};

}  // namespace lemma::verifier
