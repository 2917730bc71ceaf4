// NonMaxSuppression (ONNX, since operator set 10). Arithmetic is that of f32, the type of the boxes.

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

struct Box {
  float y1 = 0, x1 = 0, y2 = 0, x2 = 0;  // two opposite corners, the lower ones first
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Box box_at(const std::vector<double>& boxes, std::size_t i, bool has_center) {
  std::array<float, 4> c{};
  for (std::size_t k = 0; k < 4; ++k) c[k] = static_cast<float>(boxes[4 * i + k]);
  if (has_center)  // x, y, width, height
    return {c[1] - c[3] / 2, c[0] - c[2] / 2, c[1] + c[3] / 2, c[0] + c[2] / 2};
  return {std::min(c[0], c[2]), std::min(c[1], c[3]), std::max(c[0], c[2]), std::max(c[1], c[3])};
}

/// Whether the intersection is more than that part of the union. Boxes without area overlap with none.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float intersection = height * width;
  const float all = a.area() + b.area() - intersection;
  return all > 0 && intersection / all > threshold;
}

struct Limits {
  std::int64_t boxes = 0;
  float overlap = 0;
  float score = -std::numeric_limits<float>::infinity();
  bool has_score = false;
};

Result<double> scalar(const ProcedureCall& call, std::size_t i, double otherwise) {
  if (!call.has(i)) return otherwise;
  LEMMA_ASSIGN_OR_RETURN(const Constant* value, call.tensor(i));
  if (value->element_count() != 1)
    return bad_input(fmt::format("input {} is {}, not one number", i, text(call.inputs[i])));
  return value->reals().front();
}

/// The boxes of one class, best ones first; of equal scores the first one is first.
std::vector<std::size_t> selected_boxes(const std::vector<Box>& boxes,
                                        std::span<const double> scores, const Limits& limits) {
  std::vector<std::size_t> candidates, selected;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (!limits.has_score || static_cast<float>(scores[i]) > limits.score) candidates.push_back(i);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (const std::size_t i : candidates) {
    if (static_cast<std::int64_t>(selected.size()) >= limits.boxes) break;
    if (std::none_of(selected.begin(), selected.end(), [&](std::size_t other) {
          return overlaps(boxes[i], boxes[other], limits.overlap);
        }))
      selected.push_back(i);
  }
  return selected;
}

Result<Limits> limits_of(const ProcedureCall& call) {
  Limits limits;
  if (call.has(2)) {
    LEMMA_ASSIGN_OR_RETURN(limits.boxes, call.integer(2));
  }
  LEMMA_ASSIGN_OR_RETURN(const double overlap, scalar(call, 3, 0));
  LEMMA_ASSIGN_OR_RETURN(const double score, scalar(call, 4, 0));
  limits.overlap = static_cast<float>(overlap);
  limits.has_score = call.has(4);
  if (limits.has_score) limits.score = static_cast<float>(score);
  return limits;
}

Result<std::vector<RunTimeValue>> non_max_suppression(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* boxes, call.tensor(0));
  LEMMA_ASSIGN_OR_RETURN(const Constant* scores, call.tensor(1));
  LEMMA_ASSIGN_OR_RETURN(const Limits limits, limits_of(call));
  const auto sizes = sizes_of(*boxes), of_scores = sizes_of(*scores);
  if (boxes->type().data_type != DataType::f32 || scores->type().data_type != DataType::f32 ||
      sizes.size() != 3 || of_scores.size() != 3 || sizes[2] != 4 || of_scores[0] != sizes[0] ||
      of_scores[2] != sizes[1])
    return bad_input(fmt::format("boxes {} and scores {} do not fit", text(call.inputs[0]),
                                 text(call.inputs[1])));
  const bool has_center = call.attributes.integer("center_point_box", 0) != 0;
  const auto count = static_cast<std::size_t>(sizes[1]);
  const std::vector<double> coordinates = boxes->reals(), of_boxes = scores->reals();
  std::vector<std::int64_t> selected;
  for (std::int64_t batch = 0; batch < sizes[0]; ++batch) {
    std::vector<Box> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(box_at(coordinates, static_cast<std::size_t>(batch) * count + i, has_center));
    for (std::int64_t kind = 0; kind < of_scores[1]; ++kind) {
      const auto first = static_cast<std::size_t>(batch * of_scores[1] + kind) * count;
      for (const std::size_t box :
           selected_boxes(all, std::span(of_boxes).subspan(first, count), limits))
        selected.insert(selected.end(), {batch, kind, static_cast<std::int64_t>(box)});
    }
  }
  const auto rows = static_cast<std::int64_t>(selected.size() / 3);
  return std::vector<RunTimeValue>{Constant::of(DataType::i64, {rows, 3}, selected)};
}

constexpr std::array box_procedures = {
    ProcedureRecord{"NonMaxSuppression", "", 10,
                    "the boxes of the best scores that do not overlap too much, as rows of batch, "
                    "class and box",
                    non_max_suppression},
};

}  // namespace

std::span<const ProcedureRecord> box_selections() { return box_procedures; }

}  // namespace lemma::procedures
