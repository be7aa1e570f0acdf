#include "hlo/attributes.h"

#include "hlo/literal.h"

namespace xc {

const AttrValue* Attributes::FindValue(AttrKind kind) const {
  for (const auto& [k, value] : entries_) {
    if (k == kind) return value.get();
  }
  return nullptr;
}

void Attributes::SetValue(AttrKind kind, AttrValue value) {
  auto shared = std::make_shared<const AttrValue>(std::move(value));
  auto it = std::lower_bound(entries_.begin(), entries_.end(), kind,
                             [](const auto& entry, AttrKind k) { return entry.first < k; });
  if (it != entries_.end() && it->first == kind) {
    it->second = std::move(shared);
  } else {
    entries_.emplace(it, kind, std::move(shared));
  }
}

void Attributes::Erase(AttrKind kind) {
  std::erase_if(entries_, [kind](const auto& entry) { return entry.first == kind; });
}

bool AttrEqual(const AttrValue& a, const AttrValue& b) {
  if (const auto* x = std::get_if<std::shared_ptr<const Literal>>(&a)) {
    const auto* y = std::get_if<std::shared_ptr<const Literal>>(&b);
    return y != nullptr && (*x == *y || (*x && *y && (*x)->BitEqual(**y)));
  }
  return a == b;
}

absl::string_view CompareDirectionName(CompareDirection direction) {
  static constexpr absl::string_view kNames[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  return kNames[static_cast<int>(direction)];
}

absl::string_view FusionKindName(FusionKind kind) {
  static constexpr absl::string_view kNames[] = {"kLoop", "kInput", "kOutput", "kCustom"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace xc
