#include "report/graph_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace lemma {

namespace {

constexpr int gap = 22, channel = 40, line_width = 10, margin = 2, sweeps = 4;

/// A box, or the place where a line passes through a row.
struct Place {
  int width = 0, row = 0, x = 0;
  std::vector<std::size_t> above, below;  // places
  double middle() const { return x + width / 2.0; }
};

class Arrangement {
 public:
  explicit Arrangement(Layout& layout) : layout_(layout) {}

  void run() {
    choose_rows();
    make_places();
    for (int i = 0; i < sweeps; ++i) {
      order(true);
      order(false);
    }
    for (auto& row : rows_) pack(row);
    for (int i = 0; i < sweeps; ++i) {
      straighten(true);
      straighten(false);
    }
    finish();
  }

 private:
  void choose_rows() {
    for (const LayoutLine& line : layout_.lines)  // boxes stand behind what they read
      layout_.boxes[line.to].row =
          std::max(layout_.boxes[line.to].row, layout_.boxes[line.from].row + 1);
    // What reads nothing stands just above its first reader.
    std::vector<int> first_reader(layout_.boxes.size(), std::numeric_limits<int>::max());
    std::vector<bool> reads(layout_.boxes.size(), false);
    for (const LayoutLine& line : layout_.lines) {
      first_reader[line.from] = std::min(first_reader[line.from], layout_.boxes[line.to].row);
      reads[line.to] = true;
    }
    for (std::size_t i = 0; i < layout_.boxes.size(); ++i)
      if (!reads[i] && first_reader[i] != std::numeric_limits<int>::max())
        layout_.boxes[i].row = first_reader[i] - 1;
  }

  void make_places() {
    for (const LayoutBox& box : layout_.boxes) add({box.width, box.row, 0, {}, {}});
    for (const LayoutLine& line : layout_.lines) {
      std::vector<std::size_t> way = {line.from};
      for (int row = layout_.boxes[line.from].row + 1; row < layout_.boxes[line.to].row; ++row)
        way.push_back(add({line_width, row, 0, {}, {}}));
      way.push_back(line.to);
      for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        places_[way[i]].below.push_back(way[i + 1]);
        places_[way[i + 1]].above.push_back(way[i]);
      }
      ways_.push_back(std::move(way));
    }
  }

  std::size_t add(Place place) {
    const auto row = static_cast<std::size_t>(place.row);
    if (rows_.size() <= row) rows_.resize(row + 1);
    rows_[row].push_back(places_.size());
    places_.push_back(std::move(place));
    return places_.size() - 1;
  }

  /// Places in the order of what they are joined to in the row before, which leaves few crossings.
  void order(bool downward) {
    std::vector<double> position(places_.size());
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) position[row[i]] = static_cast<double>(i);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto& row = rows_[downward ? i : rows_.size() - 1 - i];
      std::vector<double> wanted(places_.size());
      for (const std::size_t index : row) {
        const auto& joined = downward ? places_[index].above : places_[index].below;
        wanted[index] = joined.empty() ? position[index] : mean(joined, position);
      }
      std::stable_sort(row.begin(), row.end(),
                       [&wanted](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
      for (std::size_t k = 0; k < row.size(); ++k) position[row[k]] = static_cast<double>(k);
    }
  }

  static double mean(const std::vector<std::size_t>& of, const std::vector<double>& values) {
    double sum = 0;
    for (const std::size_t index : of) sum += values[index];
    return sum / static_cast<double>(of.size());
  }

  void pack(const std::vector<std::size_t>& row) {
    int next = 0;
    for (const std::size_t index : row) {
      places_[index].x = next;
      next += places_[index].width + gap;
    }
    for (const std::size_t index : row) places_[index].x -= next / 2;
  }

  /// Each row moves towards what it is joined to; its order and its gaps stay.
  void straighten(bool downward) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto& row = rows_[downward ? i : rows_.size() - 1 - i];
      double missed = 0;
      int next = std::numeric_limits<int>::min();
      for (const std::size_t index : row) {
        Place& place = places_[index];
        const auto& joined = downward ? place.above : place.below;
        double wanted = place.middle();
        if (!joined.empty()) {
          wanted = 0;
          for (const std::size_t other : joined) wanted += places_[other].middle();
          wanted /= static_cast<double>(joined.size());
        }
        place.x = std::max(next, static_cast<int>(wanted) - place.width / 2);
        missed += wanted - place.middle();
        next = place.x + place.width + gap;
      }
      const int shift = static_cast<int>(missed / static_cast<double>(row.size()));
      for (const std::size_t index : row) places_[index].x += shift;
    }
  }

  void finish() {
    int left = std::numeric_limits<int>::max(), right = 0;
    for (const Place& place : places_) left = std::min(left, place.x);
    for (Place& place : places_) {
      place.x += margin - left;
      right = std::max(right, place.x + place.width);
    }
    int y = margin;
    for (const auto& row : rows_) {
      int height = 0;
      for (const std::size_t index : row) {
        if (index >= layout_.boxes.size()) continue;
        layout_.boxes[index].x = places_[index].x;
        layout_.boxes[index].y = y;
        height = std::max(height, layout_.boxes[index].height);
      }
      tops_.push_back(y);
      bottoms_.push_back(y + height);
      y += height + channel;
    }
    layout_.width = right + margin;
    layout_.height = y - channel + margin;
    for (std::size_t i = 0; i < ways_.size(); ++i) layout_.lines[i].path = path(i);
  }

  /// Straight down inside a row, and curved between two.
  std::string path(std::size_t index) const {
    const LayoutLine& line = layout_.lines[index];
    const LayoutBox &from = layout_.boxes[line.from], &to = layout_.boxes[line.to];
    int x = from.middle();
    std::string result = fmt::format("M{} {}", x, from.y + from.height);
    for (std::size_t i = 1; i < ways_[index].size(); ++i) {
      const Place& place = places_[ways_[index][i]];
      const auto row = static_cast<std::size_t>(place.row);
      const bool arrives = i + 1 == ways_[index].size();
      const int target = arrives ? to.x + to.width * (line.port + 1) / (line.ports + 1)
                                 : place.x + place.width / 2;
      const int begin = bottoms_[row - 1], end = tops_[row];
      result += fmt::format(" V{} C{} {}, {} {}, {} {}", begin, x, begin + channel / 2, target,
                            end - channel / 2, target, end);
      x = target;
    }
    return result;
  }

  Layout& layout_;
  std::vector<Place> places_;  // those of the boxes are first
  std::vector<std::vector<std::size_t>> rows_, ways_;
  std::vector<int> tops_, bottoms_;  // of rows
};

}  // namespace

void arrange(Layout& layout) {
  if (!layout.boxes.empty()) Arrangement(layout).run();
}

}  // namespace lemma
