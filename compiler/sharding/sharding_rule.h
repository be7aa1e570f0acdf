// Which dimensions of a call's operands and results belong together (`sdy.sharding_rule`), and how devices share the
// arrays by it.
#ifndef XC_COMPILER_SHARDING_SHARDING_RULE_H_
#define XC_COMPILER_SHARDING_SHARDING_RULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/devices/device_tiling.h"
#include "hlo/shape.h"

namespace xc {

// The frontend attribute that holds a rule's text.
inline constexpr char kShardingRuleAttribute[] = "xla.sdy.sharding_rule";

// Every dimension is made of factors, the one that counts most first. Dimensions with a factor in common are cut alike.
struct ShardingRule {
  using Mapping = std::vector<Int64List>;  // of one array: the factors of each dimension
  std::vector<Mapping> operands, results;
  Int64List sizes;       // of the factors
  Int64List replicated;  // factors that are never cut
};

// `#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}, custom>`, or without its name.
// InvalidArgument for what is no rule.
absl::StatusOr<ShardingRule> ParseShardingRule(absl::string_view text);

struct RuleTilings {
  std::vector<DeviceTiling> operands, results;
};
// How arrays lie by `rule`, where the operands lie as `operands` says: a factor is cut as in the first operand that
// cuts it, in all arrays. InvalidArgument where the rule is for other arrays.
absl::StatusOr<RuleTilings> TilingsByRule(const ShardingRule& rule, const std::vector<DeviceTiling>& operands,
                                          const std::vector<Shape>& operand_shapes,
                                          const std::vector<Shape>& result_shapes);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_SHARDING_RULE_H_
