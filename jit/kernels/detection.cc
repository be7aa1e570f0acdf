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

}  // namespace

void RegisterDetectionKernels(KernelRegistry& r) {
  r.Add(
      {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5"},
      NonMaxSuppression, false);
}

}  // namespace xc
