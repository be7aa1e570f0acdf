#include "compiler/sharding/sharding_rule.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// More factors, or bytes, than any rule that somebody wrote.
constexpr int64_t kMostFactors = 1024;

class RuleText {
 public:
  explicit RuleText(absl::string_view text) : text_(text) {
    const size_t open = text.find('<');
    at_ = open == absl::string_view::npos ? 0 : open + 1;
  }

  absl::StatusOr<ShardingRule> Read() {
    XC_RETURN_IF_ERROR(Mappings(&rule_.operands));
    if (!Take('-') || !Take('>')) return Error("`->`");
    XC_RETURN_IF_ERROR(Mappings(&rule_.results));
    if (!Take('{')) return Error("`{`");
    while (!Take('}')) {
      int64_t factor = 0, size = 0;
      XC_RETURN_IF_ERROR(Factor(&factor));
      if (!Take('=') || !Number(&size) || size < 1) return Error("`=` and a size");
      rule_.sizes[factor] = size;
      Take(',');
    }
    // Lists of factors by name, and words.
    while (!AtEnd()) {
      if (Take(',')) continue;
      const std::string word = Word();
      if (word.empty()) return Error("a name");
      if (!Take('=')) continue;
      if (!Take('{')) return Error("`{`");
      while (!Take('}')) {
        int64_t factor = 0;
        XC_RETURN_IF_ERROR(Factor(&factor));
        if (word == "need_replication") rule_.replicated.push_back(factor);
        Take(',');
      }
    }
    return std::move(rule_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, " at offset ", at_, " of the sharding rule `", text_.substr(0, 200), "`"));
  }
  void Skip() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    Skip();
    return at_ >= text_.size() || text_[at_] == '>';
  }
  std::string Word() {
    Skip();
    const size_t start = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_')) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  bool Number(int64_t* number) {
    Skip();
    const size_t start = at_;
    while (at_ < text_.size() && absl::ascii_isdigit(text_[at_])) ++at_;
    return absl::SimpleAtoi(text_.substr(start, at_ - start), number);
  }
  // `i` to `z`, then `z_1`, `z_2`, …: factor 0 to 17, 18, 19, ….
  absl::Status Factor(int64_t* factor) {
    Skip();
    if (at_ >= text_.size() || text_[at_] < 'i' || text_[at_] > 'z') return Error("a factor");
    *factor = text_[at_++] - 'i';
    int64_t more = 0;
    if (at_ < text_.size() && text_[at_] == '_') {
      ++at_;
      if (!Number(&more) || *factor != 'z' - 'i' || more < 1) return Error("a factor's number");
    }
    *factor += more;
    if (*factor >= kMostFactors) return Error("fewer factors");
    if (*factor >= static_cast<int64_t>(rule_.sizes.size())) rule_.sizes.resize(*factor + 1, 1);
    return absl::OkStatus();
  }
  // `([i, jk], [])`.
  absl::Status Mappings(std::vector<ShardingRule::Mapping>* mappings) {
    if (!Take('(')) return Error("`(`");
    while (!Take(')')) {
      if (!Take('[')) return Error("`[`");
      mappings->emplace_back();
      while (!Take(']')) {
        Int64List& dim = mappings->back().emplace_back();
        Skip();
        while (at_ < text_.size() && absl::ascii_isalpha(text_[at_])) {
          XC_RETURN_IF_ERROR(Factor(&dim.emplace_back()));
        }
        if (dim.empty()) return Error("a factor");
        Take(',');
      }
      Take(',');
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t at_ = 0;
  ShardingRule rule_;
};

absl::Status CheckRanks(const std::vector<ShardingRule::Mapping>& mappings, const std::vector<Shape>& shapes) {
  bool fits = mappings.size() == shapes.size();
  for (size_t i = 0; fits && i < shapes.size(); ++i) {
    fits = shapes[i].IsArray() && static_cast<int64_t>(mappings[i].size()) == shapes[i].rank();
  }
  return fits ? absl::OkStatus() : absl::InvalidArgumentError("the sharding rule is for other arrays than the call's");
}

std::vector<DeviceTiling> TilingsOf(const std::vector<ShardingRule::Mapping>& mappings,
                                    const std::vector<Shape>& shapes, const DeviceTiling& factors) {
  std::vector<DeviceTiling> tilings;
  for (size_t i = 0; i < shapes.size(); ++i) {
    DeviceTiling& tiling = tilings.emplace_back(DeviceTiling::Replicated(shapes[i].rank()));
    for (int64_t d = 0; d < shapes[i].rank(); ++d) {
      // By the factor that counts most, so that parts are contiguous.
      for (const DeviceTiling::Digit& digit : factors.dim(mappings[i][d][0])) tiling.Append(d, digit);
      if (shapes[i].dim(d) % tiling.Tiles(d) != 0) tiling.Clear(d);
    }
    if (!tiling.IsReplicated()) tiling.set_order(factors.order());
  }
  return tilings;
}

}  // namespace

absl::StatusOr<ShardingRule> ParseShardingRule(absl::string_view text) { return RuleText(text).Read(); }

absl::StatusOr<RuleTilings> TilingsByRule(const ShardingRule& rule, const std::vector<DeviceTiling>& operands,
                                          const std::vector<Shape>& operand_shapes,
                                          const std::vector<Shape>& result_shapes) {
  XC_RETURN_IF_ERROR(CheckRanks(rule.operands, operand_shapes));
  XC_RETURN_IF_ERROR(CheckRanks(rule.results, result_shapes));
  const int64_t count = static_cast<int64_t>(rule.sizes.size());
  DeviceTiling factors = DeviceTiling::Replicated(count);
  for (size_t o = 0; o < operands.size(); ++o) {
    if (operands[o].IsReplicated()) continue;
    DeviceTiling own = DeviceTiling::Replicated(count);
    own.set_order(operands[o].order());
    for (int64_t d = 0; d < operands[o].rank(); ++d) {
      const int64_t factor = rule.operands[o][d][0];
      if (rule.sizes[factor] % operands[o].Tiles(d) != 0 || !own.dim(factor).empty()) continue;
      for (const DeviceTiling::Digit& digit : operands[o].dim(d)) own.Append(factor, digit);
    }
    factors.MergeFrom(own);
  }
  for (int64_t factor : rule.replicated) factors.Clear(factor);
  return RuleTilings{TilingsOf(rule.operands, operand_shapes, factors),
                     TilingsOf(rule.results, result_shapes, factors)};
}

}  // namespace xc
