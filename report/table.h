#pragma once
// Tables with aligned columns.

#include <string>
#include <vector>

namespace lemma {

class Table {
 public:
  enum class Align { left, right };

  Table(std::vector<std::string> headings, std::vector<Align> alignment);
  /// Cells are shown as base/shown_text.h says.
  void add(std::vector<std::string> row);
  /// Headings, a rule, the rows; two spaces between columns; no trailing spaces.
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1.23 G", "45.6 M", "789": three significant digits with a decimal prefix.
std::string with_prefix(double value);
/// "1.23 ms", "45 us".
std::string duration_text(double seconds);
/// "-12.3%", "+1.0%", "-0.003%", "same".
std::string change_text(double before, double after);

}  // namespace lemma
