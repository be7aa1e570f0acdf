// Connectionist temporal classification: labels of sequences that are not aligned with their steps.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

double LogSum(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

// Connectionist temporal classification of one sequence (Graves et al., 2006): minus the logarithm of the probability
// of `labels`, and its gradient in the logits. Row t of `log_probability` has the classes of step t, the blank last.
struct CtcSequence {
  const double* log_probability;
  int64_t steps, classes;
  std::vector<int64_t> labels;
  bool merge;  // repetitions of a label that no blank parts are one

  double Loss(double* gradient) const {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const int64_t blank = classes - 1, n = 2 * static_cast<int64_t>(labels.size()) + 1;
    auto label = [&](int64_t u) { return u % 2 == 0 ? blank : labels[u / 2]; };
    auto stays = [&](int64_t u) { return merge || u % 2 == 0; };
    auto skips = [&](int64_t u) { return u > 1 && u % 2 == 1 && !(merge && label(u) == label(u - 2)); };
    auto seen = [&](int64_t t, int64_t u) { return log_probability[t * classes + label(u)]; };
    // forward: of the first steps up to t, backward: of those behind t, being at place u.
    std::vector<double> forward(steps * n, kNever), backward(steps * n, kNever);
    for (int64_t u = 0; u < std::min<int64_t>(n, 2); ++u) forward[u] = seen(0, u);
    for (int64_t t = 1; t < steps; ++t) {
      const double* before = &forward[(t - 1) * n];
      for (int64_t u = 0; u < n; ++u) {
        double sum = stays(u) ? before[u] : kNever;
        if (u > 0) sum = LogSum(sum, before[u - 1]);
        if (skips(u)) sum = LogSum(sum, before[u - 2]);
        forward[t * n + u] = sum + seen(t, u);
      }
    }
    for (int64_t u = std::max<int64_t>(n - 2, 0); u < n; ++u) backward[(steps - 1) * n + u] = 0;
    for (int64_t t = steps - 1; t-- > 0;) {
      const double* after = &backward[(t + 1) * n];
      for (int64_t u = 0; u < n; ++u) {
        double sum = stays(u) ? after[u] + seen(t + 1, u) : kNever;
        if (u + 1 < n) sum = LogSum(sum, after[u + 1] + seen(t + 1, u + 1));
        if (u + 2 < n && skips(u + 2)) sum = LogSum(sum, after[u + 2] + seen(t + 1, u + 2));
        backward[t * n + u] = sum;
      }
    }
    double all = forward[steps * n - 1];
    if (n > 1) all = LogSum(all, forward[steps * n - 2]);
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<double> through(classes, kNever);
      for (int64_t u = 0; u < n; ++u) {
        through[label(u)] = LogSum(through[label(u)], forward[t * n + u] + backward[t * n + u]);
      }
      for (int64_t k = 0; k < classes; ++k) {
        const double expected = std::isinf(all) ? 0 : std::exp(through[k] - all);
        gradient[t * classes + k] = std::exp(log_probability[t * classes + k]) - expected;
      }
    }
    return -all;
  }
};

// logits [steps, batch, classes], sparse labels, the number of steps of each sequence: losses, and gradients in the
// logits.
absl::Status CtcLoss(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool collapse, c.node.Bool("preprocess_collapse_repeated"));
  XC_ASSIGN_OR_RETURN(bool merge, c.node.Bool("ctc_merge_repeated"));
  XC_ASSIGN_OR_RETURN(bool ignore, c.node.Bool("ignore_longer_outputs_than_inputs"));
  const Tensor &logits = c.in(0), &indices = c.in(1);
  if (logits.rank() != 3 || (logits.dtype() != DT_FLOAT && logits.dtype() != DT_DOUBLE)) {
    return c.Error("inputs is not a 3-Tensor");
  }
  const int64_t steps = logits.dims()[0], batch = logits.dims()[1], classes = logits.dims()[2];
  XC_ASSIGN_OR_RETURN(auto at, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto labels, c.Ints(2));
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(3));
  const int64_t count = static_cast<int64_t>(labels.size());
  if (indices.dims() != Dims{count, 2} || c.in(2).rank() != 1) return c.Error("labels must be [n, 2] and [n]");
  if (c.in(3).dims() != Dims{batch} || classes < 1) return c.Error("sequence_length does not fit the inputs");
  std::vector<std::vector<int64_t>> rows(batch);
  std::vector<int64_t> given(batch, 0);  // before repetitions are left out
  for (int64_t i = 0; i < count; ++i) {
    const int64_t b = at[2 * i];
    if (b < 0 || b >= batch) return c.Error("labels indices must be less than the batch size");
    if (labels[i] < 0 || labels[i] >= classes - 1) {
      return c.Error(absl::StrCat("label ", labels[i], " must be from 0 to ", classes - 2));
    }
    ++given[b];
    if (!collapse || rows[b].empty() || rows[b].back() != labels[i]) rows[b].push_back(labels[i]);
  }
  XC_ASSIGN_OR_RETURN(auto values, logits.AsDoubles());
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {batch}));
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, logits.dims()));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths[b];
    if (length < 0 || length > steps)
      return c.Error(absl::StrCat("sequence_length(", b, ") must be from 0 to ", steps));
    if (rows[b].empty()) return c.Error(absl::StrCat("Labels length is zero in batch ", b));
    const bool longer = given[b] > length;
    if (longer && !ignore) {
      return c.Error(absl::StrCat("Not enough time for target transition sequence (required: ", given[b],
                                  ", available: ", length, ")"));
    }
    if (longer || length == 0) continue;
    constexpr int64_t kMostPlaces = int64_t{1} << 28;
    if (length * (2 * static_cast<int64_t>(rows[b].size()) + 1) > kMostPlaces) {
      return absl::ResourceExhaustedError(absl::StrCat("node '", c.node.name, "': so many steps and labels"));
    }
    std::vector<double> log_probability(length * classes), gradient(length * classes);
    for (int64_t t = 0; t < length; ++t) {
      const double* row = &values[(t * batch + b) * classes];
      const double high = *std::max_element(row, row + classes);
      double sum = 0;
      for (int64_t k = 0; k < classes; ++k) sum += std::exp(row[k] - high);
      for (int64_t k = 0; k < classes; ++k) log_probability[t * classes + k] = row[k] - high - std::log(sum);
    }
    CtcSequence sequence{log_probability.data(), length, classes, std::move(rows[b]), merge};
    StoreDouble(c.outputs[0], b, sequence.Loss(gradient.data()));
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t k = 0; k < classes; ++k) {
        StoreDouble(c.outputs[1], (t * batch + b) * classes + k, gradient[t * classes + k]);
      }
    }
  }
  return absl::OkStatus();
}

// The most likely class of every step; blanks, and if asked for repetitions, are left out.
absl::Status CtcGreedyDecoder(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool merge, c.node.Bool("merge_repeated"));
  XC_ASSIGN_OR_RETURN(int64_t blank, c.node.Int("blank_index"));
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(1));
  const Tensor& logits = c.in(0);
  if (logits.rank() != 3 || (logits.dtype() != DT_FLOAT && logits.dtype() != DT_DOUBLE)) {
    return c.Error("inputs is not a 3-Tensor");
  }
  int64_t steps = logits.dims()[0], batch = logits.dims()[1], classes = logits.dims()[2];
  if (blank < 0) blank += classes;
  if (static_cast<int64_t>(lengths.size()) != batch || classes < 1 || blank < 0 || blank >= classes) {
    return c.Error("sequence_length or blank_index does not fit the inputs");
  }
  XC_ASSIGN_OR_RETURN(auto values, logits.AsDoubles());
  XC_ASSIGN_OR_RETURN(c.outputs[3], c.Alloc(3, {batch, 1}));
  std::vector<int64_t> indices, decoded;
  int64_t longest = 0;
  for (int64_t b = 0; b < batch; ++b) {
    if (lengths[b] > steps) return c.Error(absl::StrCat("sequence_length(", b, ") <= ", steps));
    int64_t previous = -1, found = 0;
    double sum = 0;
    for (int64_t t = 0; t < lengths[b]; ++t) {
      auto row = values.begin() + (t * batch + b) * classes;
      auto best = std::max_element(row, row + classes);
      int64_t label = best - row;
      sum -= *best;
      if (label != blank && !(merge && label == previous)) {
        indices.push_back(b);
        indices.push_back(found++);
        decoded.push_back(label);
      }
      previous = label;
    }
    longest = std::max(longest, found);
    if (logits.dtype() == DT_FLOAT) c.outputs[3].data<float>()[b] = static_cast<float>(sum);
    if (logits.dtype() == DT_DOUBLE) c.outputs[3].data<double>()[b] = sum;
  }
  c.outputs[0] = Tensor::Int64s(indices).Reshaped({static_cast<int64_t>(decoded.size()), 2});
  c.outputs[1] = Tensor::Int64s(decoded);
  c.outputs[2] = Tensor::Int64s({batch, longest});
  return absl::OkStatus();
}

// Beam search over the labellings of one sequence, as a tree of prefixes (Graves and Jaitly, 2014). All probabilities
// are logarithms.
class CtcBeams {
 public:
  CtcBeams(int64_t width, int64_t classes) : width_(width), blank_(classes - 1) {
    root_ = Fresh(nullptr, -1);
    root_->now = {0, kNever, 0};
    leaves_.insert(root_);
  }

  // One more step of the sequence: a logit per class.
  void Step(const double* logits) {
    const double high = *std::max_element(logits, logits + blank_ + 1);
    double sum = 0;
    for (int64_t k = 0; k <= blank_; ++k) sum += std::exp(logits[k] - high);
    const double norm = high + std::log(sum);
    std::vector<Prefix*> before(leaves_.rbegin(), leaves_.rend());  // the most likely first
    leaves_.clear();
    for (Prefix* p : before) p->last = p->now;
    for (Prefix* p : before) {
      if (p->parent != nullptr) {
        if (p->parent->active()) {
          p->now.label =
              LogSum(p->now.label, p->label == p->parent->label ? p->parent->last.blank : p->parent->last.all);
        }
        p->now.label += logits[p->label] - norm;
      }
      p->now.blank = p->last.all + logits[blank_] - norm;
      p->now.all = LogSum(p->now.blank, p->now.label);
      leaves_.insert(p);
    }
    for (Prefix* p : before) {
      if (!Fits(p->last.all)) continue;
      for (int64_t k = 0; k < blank_; ++k) {
        auto it = p->children.find(k);
        if (it != p->children.end() && it->second->active()) continue;
        const double label = logits[k] - norm + (k == p->label ? p->last.blank : p->last.all);
        if (!Fits(label)) continue;
        if (static_cast<int64_t>(leaves_.size()) == width_) {
          Prefix* lowest = *leaves_.begin();
          leaves_.erase(leaves_.begin());
          lowest->now = {};
        }
        Prefix*& child = p->children[k];
        if (child == nullptr) child = Fresh(p, k);
        child->now = {label, label, kNever};
        leaves_.insert(child);
      }
    }
  }

  int64_t size() const { return static_cast<int64_t>(leaves_.size()); }

  // The labels of the most likely prefixes, with the logarithms of their probabilities.
  std::vector<std::pair<std::vector<int64_t>, double>> Best(int64_t count, bool merge) const {
    std::vector<std::pair<std::vector<int64_t>, double>> best;
    for (auto it = leaves_.rbegin(); it != leaves_.rend() && static_cast<int64_t>(best.size()) < count; ++it) {
      std::vector<int64_t> labels;
      int64_t behind = -1;
      for (const Prefix* p = *it; p->parent != nullptr; p = p->parent) {
        if (!merge || p->label != behind) labels.push_back(p->label);
        behind = p->label;
      }
      std::reverse(labels.begin(), labels.end());
      best.emplace_back(std::move(labels), (*it)->now.all);
    }
    return best;
  }

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  // Of a prefix at one step: in all, ending in its last label, ending in a blank.
  struct Probability {
    double all = kNever, label = kNever, blank = kNever;
  };
  struct Prefix {
    Prefix* parent;
    int64_t label, number;
    Probability last, now;
    std::map<int64_t, Prefix*> children;
    bool active() const { return now.all != kNever; }
  };
  struct LessLikely {
    bool operator()(const Prefix* a, const Prefix* b) const {
      return a->now.all != b->now.all ? a->now.all < b->now.all : a->number > b->number;
    }
  };

  Prefix* Fresh(Prefix* parent, int64_t label) {
    prefixes_.push_back({parent, label, static_cast<int64_t>(prefixes_.size()), {}, {}, {}});
    return &prefixes_.back();
  }
  bool Fits(double all) const { return all > kNever && (size() < width_ || all > (*leaves_.begin())->now.all); }

  int64_t width_, blank_;
  std::deque<Prefix> prefixes_;
  Prefix* root_;
  std::set<Prefix*, LessLikely> leaves_;
};

// The most likely labellings of each sequence of the batch, one sparse tensor for each rank, and their logarithms.
absl::Status CtcBeamSearchDecoder(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool merge, c.node.Bool("merge_repeated"));
  XC_ASSIGN_OR_RETURN(int64_t width, c.node.Int("beam_width"));
  XC_ASSIGN_OR_RETURN(int64_t top, c.node.Int("top_paths"));
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(1));
  const Tensor& logits = c.in(0);
  if (logits.rank() != 3 || (logits.dtype() != DT_FLOAT && logits.dtype() != DT_DOUBLE)) {
    return c.Error("inputs is not a 3-Tensor");
  }
  const int64_t steps = logits.dims()[0], batch = logits.dims()[1], classes = logits.dims()[2];
  if (static_cast<int64_t>(lengths.size()) != batch || classes < 1) {
    return c.Error("sequence_length does not fit the inputs");
  }
  if (top < 1 || top > width) return c.Error("requires 0 < top_paths <= beam_width");
  XC_ASSIGN_OR_RETURN(auto values, logits.AsDoubles());
  XC_ASSIGN_OR_RETURN(Tensor log_probability, c.Alloc(static_cast<int>(3 * top), {batch, top}));
  std::vector<std::vector<int64_t>> indices(top), decoded(top);
  std::vector<int64_t> longest(top, 0);
  for (int64_t b = 0; b < batch; ++b) {
    if (lengths[b] > steps) return c.Error(absl::StrCat("sequence_length(", b, ") <= ", steps));
    CtcBeams beams(width, classes);
    for (int64_t t = 0; t < lengths[b]; ++t) beams.Step(&values[(t * batch + b) * classes]);
    if (beams.size() < top) return c.Error("less leaves in the beam search than requested");
    auto best = beams.Best(top, merge);
    for (int64_t k = 0; k < top; ++k) {
      const auto& [labels, probability] = best[k];
      for (size_t i = 0; i < labels.size(); ++i) {
        indices[k].push_back(b);
        indices[k].push_back(static_cast<int64_t>(i));
        decoded[k].push_back(labels[i]);
      }
      longest[k] = std::max(longest[k], static_cast<int64_t>(labels.size()));
      StoreDouble(log_probability, b * top + k, probability);
    }
  }
  for (int64_t k = 0; k < top; ++k) {
    c.outputs[k] = Tensor::Int64s(indices[k]).Reshaped({static_cast<int64_t>(decoded[k].size()), 2});
    c.outputs[top + k] = Tensor::Int64s(decoded[k]);
    c.outputs[2 * top + k] = Tensor::Int64s({batch, longest[k]});
  }
  c.outputs[3 * top] = std::move(log_probability);
  return absl::OkStatus();
}

}  // namespace

void RegisterCtcKernels(KernelRegistry& r) {
  r.Add({"CTCLoss"}, CtcLoss, false);
  r.Add({"CTCGreedyDecoder"}, CtcGreedyDecoder, false);
  r.Add({"CTCBeamSearchDecoder"}, CtcBeamSearchDecoder, false);
}

}  // namespace xc
