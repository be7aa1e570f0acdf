// Host kernels of non-maximum suppression: how many boxes are kept depends on their values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// Intersection over union of boxes given by two opposite corners.
float Overlap(const float* a, const float* b) {
  float ay0 = std::min(a[0], a[2]), ax0 = std::min(a[1], a[3]), ay1 = std::max(a[0], a[2]), ax1 = std::max(a[1], a[3]);
  float by0 = std::min(b[0], b[2]), bx0 = std::min(b[1], b[3]), by1 = std::max(b[0], b[2]), bx1 = std::max(b[1], b[3]);
  float area_a = (ay1 - ay0) * (ax1 - ax0), area_b = (by1 - by0) * (bx1 - bx0);
  if (area_a <= 0 || area_b <= 0) return 0;
  float height = std::max(std::min(ay1, by1) - std::max(ay0, by0), 0.0f);
  float width = std::max(std::min(ax1, bx1) - std::max(ax0, bx0), 0.0f);
  return height * width / (area_a + area_b - height * width);
}

struct Candidate {
  int32_t box = 0;
  float score = 0;
  size_t compared = 0;  // with how many kept boxes
  // The queue's top has the best score, and of equal ones the first box.
  bool operator<(const Candidate& o) const { return score < o.score || (score == o.score && box > o.box); }
};

absl::StatusOr<float> Number(const KernelContext& c, int i) {
  XC_ASSIGN_OR_RETURN(std::vector<double> v, c.in(i).AsDoubles());
  if (v.size() != 1) return c.Error(absl::StrCat("operand ", i, " must be a scalar"));
  return static_cast<float>(v[0]);
}

// boxes, scores, max_output_size, iou_threshold[, score_threshold[, soft_nms_sigma]]
absl::Status NonMaxSuppression(KernelContext& c) {
  const Tensor &boxes = c.in(0), &scores = c.in(1);
  if (boxes.dtype() != DT_FLOAT || scores.dtype() != DT_FLOAT) return absl::UnimplementedError("boxes of that type");
  if (boxes.rank() != 2 || boxes.dims()[1] != 4) return c.Error("boxes must be [n, 4]");
  if (scores.rank() != 1 || scores.dims()[0] != boxes.dims()[0]) return c.Error("there must be one score per box");
  XC_ASSIGN_OR_RETURN(int64_t limit, c.Int(2));
  if (limit < 0) return c.Error("max_output_size must not be negative");
  float overlap = 0.5f, least = std::numeric_limits<float>::lowest(), sigma = 0;
  if (c.num_inputs() > 3) {
    XC_ASSIGN_OR_RETURN(overlap, Number(c, 3));
  } else {
    XC_ASSIGN_OR_RETURN(overlap, c.node.Float("iou_threshold"));
  }
  if (!(overlap >= 0 && overlap <= 1)) return c.Error("iou_threshold must be in [0, 1]");
  if (c.num_inputs() > 4) {
    XC_ASSIGN_OR_RETURN(least, Number(c, 4));
  }
  if (c.num_inputs() > 5) {
    XC_ASSIGN_OR_RETURN(sigma, Number(c, 5));
    if (!(sigma >= 0)) return c.Error("soft_nms_sigma must not be negative");
  }
  std::vector<Candidate> all;
  for (int32_t i = 0; i < static_cast<int32_t>(scores.num_elements()); ++i) {
    if (scores.data<float>()[i] > least) all.push_back({i, scores.data<float>()[i], 0});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(all));
  std::vector<Candidate> kept;
  while (static_cast<int64_t>(kept.size()) < limit && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    float before = next.score;
    bool dropped = false;
    for (size_t j = kept.size(); j-- > next.compared && !dropped && next.score > least;) {
      float common = Overlap(boxes.data<float>() + 4 * next.box, boxes.data<float>() + 4 * kept[j].box);
      if (sigma > 0) {
        next.score *= std::exp(-0.5f / sigma * common * common);
      } else {
        dropped = common > overlap;
      }
    }
    next.compared = kept.size();
    if (dropped) continue;
    if (next.score == before) {
      kept.push_back(next);
    } else if (next.score > least) {
      queue.push(next);
    }
  }
  bool pad = false;
  if (c.node.FindAttr("pad_to_max_output_size") != nullptr) {
    XC_ASSIGN_OR_RETURN(pad, c.node.Bool("pad_to_max_output_size"));
  }
  int64_t found = static_cast<int64_t>(kept.size()), size = pad ? limit : found;
  XC_ASSIGN_OR_RETURN(c.outputs[0], Tensor::Create(DT_INT32, {size}));
  for (int64_t i = 0; i < found; ++i) c.outputs[0].data<int32_t>()[i] = kept[i].box;
  int valid = 1;
  if (c.node.op == "NonMaxSuppressionV5") {
    XC_ASSIGN_OR_RETURN(c.outputs[1], Tensor::Create(DT_FLOAT, {size}));
    for (int64_t i = 0; i < found; ++i) c.outputs[1].data<float>()[i] = kept[i].score;
    valid = 2;
  }
  if (c.node.num_outputs() > valid) {
    c.outputs[valid] = Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(found));
  }
  return absl::OkStatus();
}

// overlaps [n, n], scores, max_output_size, overlap_threshold, score_threshold: boxes of which only the overlaps are
// known.
absl::Status NonMaxSuppressionWithOverlaps(KernelContext& c) {
  const Tensor &overlaps = c.in(0), &scores = c.in(1);
  const int64_t n = scores.num_elements();
  if (scores.rank() != 1 || overlaps.dims() != Dims{n, n}) return c.Error("overlaps must be [n, n] for n scores");
  XC_ASSIGN_OR_RETURN(int64_t limit, c.Int(2));
  XC_ASSIGN_OR_RETURN(float most, Number(c, 3));
  XC_ASSIGN_OR_RETURN(float least, Number(c, 4));
  if (limit < 0) return c.Error("max_output_size must not be negative");
  std::vector<int64_t> order, kept;
  for (int64_t i = 0; i < n; ++i) {
    if (scores.data<float>()[i] > least) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return scores.data<float>()[x] > scores.data<float>()[y]; });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limit) break;
    bool fits =
        std::none_of(kept.begin(), kept.end(), [&](int64_t k) { return overlaps.data<float>()[i * n + k] > most; });
    if (fits) kept.push_back(i);
  }
  c.outputs[0] = Tensor::Int32s(kept);
  return absl::OkStatus();
}

// boxes [batch, n, 1 or classes, 4], scores [batch, n, classes], sizes per class and in all, thresholds: the best boxes
// of every class, suppressed class by class, best first.
absl::Status CombinedNonMaxSuppression(KernelContext& c) {
  const Tensor &boxes = c.in(0), &scores = c.in(1);
  if (boxes.rank() != 4 || scores.rank() != 3 || boxes.dims()[3] != 4 || boxes.dims()[0] != scores.dims()[0] ||
      boxes.dims()[1] != scores.dims()[1]) {
    return c.Error("boxes must be [batch, n, q, 4] and scores [batch, n, classes]");
  }
  int64_t batch = scores.dims()[0], n = scores.dims()[1], classes = scores.dims()[2], sets = boxes.dims()[2];
  if (sets != 1 && sets != classes) return c.Error("there must be one set of boxes, or one per class");
  XC_ASSIGN_OR_RETURN(int64_t per_class, c.Int(2));
  XC_ASSIGN_OR_RETURN(int64_t total, c.Int(3));
  XC_ASSIGN_OR_RETURN(float overlap, Number(c, 4));
  XC_ASSIGN_OR_RETURN(float least, Number(c, 5));
  XC_ASSIGN_OR_RETURN(bool pad_per_class, c.node.Bool("pad_per_class"));
  XC_ASSIGN_OR_RETURN(bool clip, c.node.Bool("clip_boxes"));
  if (per_class <= 0 || total <= 0) return c.Error("the numbers of boxes must be positive");
  if (!(overlap >= 0 && overlap <= 1)) return c.Error("iou_threshold must be in [0, 1]");
  if (pad_per_class) total = std::min(total, per_class * classes);
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {batch, total, 4}));
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, {batch, total}));
  XC_ASSIGN_OR_RETURN(c.outputs[2], c.Alloc(2, {batch, total}));
  XC_ASSIGN_OR_RETURN(c.outputs[3], c.Alloc(3, {batch}));
  struct Found {
    float score;
    const float* box;
    int64_t of_class;
  };
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Found> found;
    for (int64_t k = 0; k < classes; ++k) {
      auto box = [&](int64_t i) { return boxes.data<float>() + ((b * n + i) * sets + (sets == 1 ? 0 : k)) * 4; };
      auto score = [&](int64_t i) { return scores.data<float>()[(b * n + i) * classes + k]; };
      std::vector<int64_t> order;
      for (int64_t i = 0; i < n; ++i) {
        if (score(i) > least) order.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return score(x) > score(y); });
      size_t first = found.size();
      for (int64_t i : order) {
        if (static_cast<int64_t>(found.size() - first) >= per_class) break;
        bool dropped = false;
        for (size_t j = first; j < found.size() && !dropped; ++j) dropped = Overlap(box(i), found[j].box) > overlap;
        if (!dropped) found.push_back({score(i), box(i), k});
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.score > y.score; });
    int64_t kept = std::min<int64_t>(total, static_cast<int64_t>(found.size()));
    for (int64_t i = 0; i < kept; ++i) {
      for (int d = 0; d < 4; ++d) {
        float v = found[i].box[d];
        c.outputs[0].data<float>()[(b * total + i) * 4 + d] = clip ? std::clamp(v, 0.0f, 1.0f) : v;
      }
      c.outputs[1].data<float>()[b * total + i] = found[i].score;
      c.outputs[2].data<float>()[b * total + i] = static_cast<float>(found[i].of_class);
    }
    c.outputs[3].data<int32_t>()[b] = static_cast<int32_t>(kept);
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterDetectionKernels(KernelRegistry& r) {
  r.Add(
      {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5"},
      NonMaxSuppression, false);
  r.Add({"NonMaxSuppressionWithOverlaps"}, NonMaxSuppressionWithOverlaps, false);
  r.Add({"CombinedNonMaxSuppression"}, CombinedNonMaxSuppression, false);
}

}  // namespace xc
