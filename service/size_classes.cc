#include "service/size_classes.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "hlo/base/primes.h"
#include "hlo/base/status.h"
#include "service/general_code.h"

namespace xc {
namespace {

using Column = std::vector<int64_t>;  // a class' size in each signature

// Multiples of `divisor`: the size of a sample of a program that has limits, which is not above `largest`, which has
// been seen (0: there is none); and that of others.
int64_t SmallerSampleSize(int which, int64_t largest, int64_t divisor, const std::set<int64_t>& taken) {
  for (int64_t n = largest * (4 - which) / 4 / divisor; n > 0 && n * divisor > 1; --n) {
    if ((IsPrime(n) || which == 3) && !taken.contains(n * divisor)) return n * divisor;
  }
  return 0;
}
int64_t SampleSize(int which, int number, int64_t divisor, const std::set<int64_t>& taken) {
  const int64_t size = GeneralCode::SampleSize(which, number);
  if (divisor == 1) return size;
  int64_t n = (size + divisor - 1) / divisor;
  if (which >= 3) return n * divisor;
  n = std::max<int64_t>(n, 3);
  while (!IsPrime(n) || taken.contains(n * divisor)) ++n;
  return n * divisor;
}

int64_t FloorQuotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// k and d with y = k * x + d in all signatures.
std::optional<std::pair<int64_t, int64_t>> Linear(const Column& x, const Column& y) {
  for (size_t s = 1; s < x.size(); ++s) {
    if (x[s] == x[0]) continue;
    const int64_t k = (y[s] - y[0]) / (x[s] - x[0]), d = y[0] - k * x[0];
    if (k < 1) return std::nullopt;
    for (size_t t = 0; t < x.size(); ++t) {
      if (y[t] != k * x[t] + d) return std::nullopt;
    }
    return std::pair(k, d);
  }
  return std::nullopt;
}

// The offsets d with y = floor((x + d) / divisor) in all signatures, of so many windows at most.
std::optional<std::pair<int64_t, int64_t>> Offsets(const Column& x, const Column& y, int64_t divisor, int64_t windows) {
  int64_t lowest = -windows * divisor, highest = windows * divisor;
  for (size_t s = 0; s < y.size(); ++s) {
    lowest = std::max(lowest, divisor * y[s] - x[s]);
    highest = std::min(highest, divisor * y[s] - x[s] + divisor - 1);
  }
  if (lowest > highest) return std::nullopt;
  return std::pair(lowest, highest);
}

// k with y = k * a * b in all signatures; 0: there is none.
int64_t Multiple(const Column& a, const Column& b, const Column& y) {
  int64_t multiple = 0;
  for (size_t s = 0; s < y.size(); ++s) {
    int64_t product;
    if (__builtin_mul_overflow(a[s], b[s], &product) || product == 0 || y[s] % product != 0) return 0;
    const int64_t k = y[s] / product;
    if (k == 0 || (s > 0 && k != multiple)) return 0;
    multiple = k;
  }
  return multiple;
}

}  // namespace

void SizeClasses::Add(const std::vector<int64_t>& sizes) {
  if (signatures_++ == 0) {
    classes_.assign(sizes.size(), 0);
    varies_ = {false};
    largest_ = {0};
  }
  if (kept_.size() < kMostKept) kept_.push_back(sizes);
  std::map<std::pair<int, int64_t>, int> split;
  std::vector<bool> varies;
  std::vector<int64_t> largest;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int before = classes_[i];
    auto [it, fresh] = split.try_emplace({before, sizes[i]}, static_cast<int>(varies.size()));
    if (fresh) {
      varies.push_back(varies_[before]);
      largest.push_back(largest_[before]);
    }
    varies[it->second] = varies[it->second] || sizes[i] != kept_[0][i];
    largest[it->second] = std::max(largest[it->second], sizes[i]);
    classes_[i] = it->second;
  }
  varies_ = std::move(varies);
  largest_ = std::move(largest);
}

std::map<int, SizeClasses::Relation> SizeClasses::Relations(bool multiples) const {
  std::vector<Column> columns(varies_.size());
  for (size_t i = classes_.size(); i-- > 0;) {
    Column& column = columns[classes_[i]];
    column.clear();
    for (const std::vector<int64_t>& sizes : kept_) column.push_back(sizes[i]);
  }
  std::vector<int> ascending;
  for (int c = 0; c < static_cast<int>(varies_.size()); ++c) {
    if (varies_[c]) ascending.push_back(c);
  }
  std::stable_sort(ascending.begin(), ascending.end(), [&](int a, int b) { return columns[a] < columns[b]; });
  std::map<int, Relation> relations;
  for (size_t at = 0; at < ascending.size(); ++at) {
    const int c = ascending[at];
    for (size_t i = 0; i < at && !relations.contains(c); ++i) {
      const int a = ascending[i];
      if (const auto line = Linear(columns[a], columns[c]); multiples && line && line->first > 1) {
        relations[c] = {a, -1, line->first, 1, line->second, line->second};
        break;
      }
      for (size_t k = 0; k <= i; ++k) {
        const int64_t multiple = Multiple(columns[a], columns[ascending[k]], columns[c]);
        if (multiple != 0) relations[c] = {a, ascending[k], multiple, 1, 0, 0};
      }
    }
  }
  // What follows from a larger size: strides that are powers of two first, the nearest size first. Those that follow
  // from smaller ones are none to follow from.
  const std::map<int, Relation> from_smaller = relations;
  const auto from_larger = [&](size_t at, auto relation) {
    const int c = ascending[at];
    for (size_t i = at + 1; i < ascending.size() && !relations.contains(c); ++i) {
      const int a = ascending[i];
      if (!from_smaller.contains(a)) relation(c, a);
    }
  };
  const auto quotient = [&](int c, int a, std::initializer_list<int64_t> divisors, int64_t windows) {
    for (int64_t divisor : divisors) {
      if (relations.contains(c)) return;
      if (const auto offsets = Offsets(columns[a], columns[c], divisor, windows)) {
        relations[c] = {a, -1, 1, divisor, offsets->first, offsets->second};
      }
    }
  };
  for (size_t at = 0; at < ascending.size(); ++at) {
    from_larger(at, [&](int c, int a) { quotient(c, a, {2, 4, 8, 16, 32}, 2); });
    from_larger(at, [&](int c, int a) {
      const auto line = Linear(columns[a], columns[c]);
      if (line && line->first == 1) relations[c] = {a, -1, 1, 1, line->second, line->second};
    });
    from_larger(at, [&](int c, int a) { quotient(c, a, {2, 3, 4, 5, 6, 7, 8, 16, 32}, 8); });
  }
  return relations;
}

int64_t SizeClasses::CommonDivisor(int of_class) const {
  constexpr int64_t kMost = 64;
  int64_t divisor = 0;
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i] != of_class) continue;
    for (const std::vector<int64_t>& sizes : kept_) divisor = std::gcd(divisor, sizes[i]);
  }
  return divisor <= kMost ? divisor : std::gcd(divisor, kMost);
}

absl::StatusOr<std::vector<int64_t>> SizeClasses::Sample(int which, int way) const {
  const bool limited = way >= kWays / 2;
  const int related = way % (kWays / 2) - 2;  // below 0: each class by itself; -1: with multiples
  const int rounding = related % kWaysToRound;
  std::map<int, Relation> relations;
  if (related >= 0) relations = Relations(/*multiples=*/related >= kWaysToRound);
  if (related >= 0 && relations.empty()) return absl::UnimplementedError("no size follows from another one");
  std::vector<int64_t> of_class(varies_.size());
  std::set<int64_t> taken;
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (!Varies(i)) taken.insert(of_class[classes_[i]] = kept_[0][i]);
  }
  int varying = 0;
  bool any_multiple = false;
  for (size_t c = 0; c < of_class.size(); ++c) {
    if (!varies_[c]) continue;
    const int number = varying++;
    if (relations.contains(static_cast<int>(c))) continue;
    const int64_t divisor = related == -1 ? CommonDivisor(static_cast<int>(c)) : 1;
    any_multiple |= divisor > 1;
    of_class[c] =
        limited ? SmallerSampleSize(which, largest_[c], divisor, taken) : SampleSize(which, number, divisor, taken);
    if (of_class[c] == 0) return absl::UnimplementedError("its sizes have too few values to try it out with");
    taken.insert(of_class[c]);
  }
  if (related == -1 && !any_multiple) return absl::UnimplementedError("no size is always a multiple");
  // What follows from others that follow from others comes last.
  for (std::map<int, Relation> left = relations; !left.empty();) {
    for (auto it = left.begin(); it != left.end();) {
      const auto& [c, r] = *it;
      if (left.contains(r.a) || left.contains(r.b)) {
        ++it;
        continue;
      }
      const int64_t offsets[kWaysToRound] = {std::clamp(r.divisor - 1, r.lowest, r.highest),
                                             std::clamp<int64_t>(0, r.lowest, r.highest), r.lowest, r.highest};
      int64_t value;
      if (__builtin_mul_overflow(r.multiple, of_class[r.a], &value) ||
          (r.b >= 0 && __builtin_mul_overflow(value, of_class[r.b], &value)) ||
          __builtin_add_overflow(value, offsets[rounding], &value) || value < 0) {
        return absl::UnimplementedError("its sizes have too few values to try it out with");
      }
      of_class[c] = FloorQuotient(value, r.divisor);
      it = left.erase(it);
    }
  }
  std::vector<int64_t> sizes;
  for (int c : classes_) sizes.push_back(of_class[c]);
  return sizes;
}

}  // namespace xc
