#include "hlo/ops/dot_sparsity.h"

#include <bit>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace xc {
namespace {

bool Read(absl::string_view text, OperandSparsity* out) {
  int64_t* const fields[] = {&out->dimension, &out->num_non_zero, &out->block_size, &out->stride};
  constexpr char kBefore[] = {'@', ':', '/'};
  const char* p = text.data();
  const char* end = p + text.size();
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && (p == end || *p++ != kBefore[i - 1])) return false;
    const auto [stop, error] = std::from_chars(p, end, *fields[i]);
    if (error != std::errc()) return false;
    p = stop;
    if (i == 2 && p == end) break;
  }
  return p == end;
}

}  // namespace

int OperandSparsity::index_bits() const {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(block_size - 1))));
}

absl::StatusOr<DotSparsity> ParseDotSparsity(absl::string_view text) {
  DotSparsity sparsity;
  for (absl::string_view part : absl::StrSplit(text, '_', absl::SkipEmpty())) {
    std::optional<OperandSparsity>* side = nullptr;
    if (absl::ConsumePrefix(&part, "L.")) side = &sparsity.lhs;
    if (side == nullptr && absl::ConsumePrefix(&part, "R.")) side = &sparsity.rhs;
    if (side == nullptr || side->has_value() || !Read(part, &side->emplace())) {
      return absl::InvalidArgumentError(absl::StrCat("sparsity=", text, ", should be like L.1@2:4_R.0@2:4"));
    }
  }
  return sparsity;
}

}  // namespace xc
