#pragma once
// Where the boxes and lines of a picture of a graph stand: boxes in rows, what is read above what reads it. Lines
// run between rows, and through rows in places of their own, never behind a box.

#include <cstddef>
#include <string>
#include <vector>

namespace lemma {

struct LayoutBox {
  int width = 0, height = 0;  // given
  int row = 0, x = 0, y = 0;  // found
  int middle() const { return x + width / 2; }
};

struct LayoutLine {
  std::size_t from = 0, to = 0;  // boxes; `from` stands before `to`
  int port = 0, ports = 1;       // where it arrives: which of how many places on top
  std::string path;              // found: as in SVG
};

struct Layout {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutLine> lines;
  int width = 0, height = 0;  // found
};

void arrange(Layout& layout);

}  // namespace lemma
