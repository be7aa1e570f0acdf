#include "hlo/opcode.h"

#include <array>
#include <bitset>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace xc {
namespace {

using enum TypeClass::Bits;

struct OpcodeRow {
  absl::string_view name;
  int arity;
  int types;
  OpAccess access;
  OpCost cost;
  uint32_t traits;
  absl::string_view attributes;
};

constexpr OpcodeRow kOpcodeRows[kOpcodeCount] = {
#define XC_OPCODE(e, name, arity, rule, types, access, cost, traits, attributes) \
  {name, arity, types, OpAccess::k##access, OpCost::k##cost, traits, attributes},
#include "hlo/opcode.def"
#undef XC_OPCODE
};

struct AttrRow {
  absl::string_view name;
  bool common;
};
constexpr AttrRow kAttrRows[] = {
#define XC_ATTR(e, name, type) {name, false},
#define XC_COMMON_ATTR(e, name, type) {name, true},
#include "hlo/attribute.def"
#undef XC_ATTR
#undef XC_COMMON_ATTR
};
constexpr int kAttrCount = sizeof(kAttrRows) / sizeof(kAttrRows[0]);

// What the names in a row's last column say.
struct OpAttributes {
  std::bitset<kAttrCount> allowed;
  std::vector<AttrKind> required;
  CallStyle calls = CallStyle::kNone;
  bool must_call = false;
};

CallStyle CallStyleOf(absl::string_view name, CallStyle before) {
  if (name == "called_computations") return CallStyle::kCustom;
  if (name == "to_apply" && before == CallStyle::kNone) return CallStyle::kToApply;
  if (name == "calls") return CallStyle::kCalls;
  if (name == "called_computation") return CallStyle::kAsync;
  if (name == "condition_body") return CallStyle::kConditionBody;
  if (name == "branches") return CallStyle::kBranches;
  if (name == "select_scatter") return CallStyle::kSelectScatter;
  return before;
}

OpAttributes ParseAttributes(absl::string_view names) {
  OpAttributes out;
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    const bool required = absl::ConsumeSuffix(&name, "*");
    const CallStyle style = CallStyleOf(name, out.calls);
    if (style != out.calls) out.must_call = required;
    out.calls = style;
    for (int i = 0; i < kAttrCount; ++i) {
      if (kAttrRows[i].name != name) continue;
      out.allowed.set(i);
      if (required) out.required.push_back(static_cast<AttrKind>(i));
    }
  }
  for (int i = 0; i < kAttrCount; ++i) {
    if (kAttrRows[i].common) out.allowed.set(i);
  }
  return out;
}

const OpAttributes& AttributesOf(HloOpcode opcode) {
  static const auto* const kAll = [] {
    auto* all = new std::array<OpAttributes, kOpcodeCount>();
    for (int op = 0; op < kOpcodeCount; ++op) (*all)[op] = ParseAttributes(kOpcodeRows[op].attributes);
    return all;
  }();
  return (*kAll)[static_cast<int>(opcode)];
}

const OpcodeRow& RowOf(HloOpcode opcode) { return kOpcodeRows[static_cast<int>(opcode)]; }

}  // namespace

absl::string_view OpcodeName(HloOpcode opcode) { return RowOf(opcode).name; }

std::optional<HloOpcode> OpcodeFromName(absl::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, HloOpcode>();
    for (int i = 0; i < kOpcodeCount; ++i) map->emplace(kOpcodeRows[i].name, static_cast<HloOpcode>(i));
    return map;
  }();
  auto it = kByName->find(name);
  if (it == kByName->end()) return std::nullopt;
  return it->second;
}

int OpcodeArity(HloOpcode opcode) { return RowOf(opcode).arity; }
uint32_t OpcodeTraits(HloOpcode opcode) { return RowOf(opcode).traits; }
OpAccess OpcodeAccess(HloOpcode opcode) { return RowOf(opcode).access; }
OpCost OpcodeCost(HloOpcode opcode) { return RowOf(opcode).cost; }
int OpcodeTypes(HloOpcode opcode) { return RowOf(opcode).types; }
bool OpcodeHasAttr(HloOpcode opcode, AttrKind kind) {
  return AttributesOf(opcode).allowed.test(static_cast<int>(kind));
}
absl::Span<const AttrKind> OpcodeRequiredAttrs(HloOpcode opcode) { return AttributesOf(opcode).required; }
CallStyle OpcodeCallStyle(HloOpcode opcode) { return AttributesOf(opcode).calls; }

CallCount OpcodeCallCount(HloOpcode opcode) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const int64_t min = AttributesOf(opcode).must_call;
  switch (OpcodeCallStyle(opcode)) {
    case CallStyle::kNone:
      return {0, 0};
    case CallStyle::kToApply:
    case CallStyle::kCalls:
    case CallStyle::kAsync:
      return {min, 1};
    case CallStyle::kConditionBody:
    case CallStyle::kSelectScatter:
      return {2, 2};
    case CallStyle::kBranches:
    case CallStyle::kCustom:
      return {min, kAny};
  }
  return {0, 0};
}

absl::string_view AttrName(AttrKind kind) { return kAttrRows[static_cast<int>(kind)].name; }
bool IsCommonAttr(AttrKind kind) { return kAttrRows[static_cast<int>(kind)].common; }

}  // namespace xc
