#include "hlo/base/suggest.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace xc {
namespace {

// Optimal string alignment distance. Names are short.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string Closest(absl::string_view written, const std::vector<std::string>& names) {
  if (written.empty() || written.size() > 64) return "";
  // `-` and `_` are the same.
  const auto plain = [](absl::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '-', '_');
    return out;
  };
  const std::string whole = plain(written);
  std::string best;
  size_t least = std::max<size_t>(1, whole.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::string other = plain(name);
    size_t distance = Distance(whole, other);
    // What was cut short, or goes on.
    if (whole.size() >= 3 && absl::StartsWith(other, whole)) distance = std::min<size_t>(distance, 1);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view written, const std::vector<std::string>& names, absl::string_view prefix) {
  const std::string name = Closest(written, names);
  return name.empty() ? "" : absl::StrCat("; did you mean `", prefix, name, "`?");
}

}  // namespace xc
