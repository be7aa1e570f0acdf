// Which reductions are sums of columns.
#include "backends/plan/column_form.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlo/text/parser.h"

namespace xc::plan {
namespace {

// Whether the sum over the first dimension of d, f32[300,300,3], is one, where `body` computes d.
bool IsColumns(absl::string_view body) {
  const auto module = ParseModule(absl::StrCat(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
f {
  x = f32[300,3] parameter(0)
  y = f32[300,300,3] parameter(1)
  a = f32[300,300,3] broadcast(x), dimensions={0,2}
  b = f32[300,300,3] broadcast(x), dimensions={1,2}
  )",
                                               body, R"(
  z = f32[] constant(0)
  ROOT r = f32[300,3] reduce(d, z), dimensions={0}, to_apply=add
}
ENTRY e {
  x = f32[300,3] parameter(0)
  y = f32[300,300,3] parameter(1)
  ROOT d = f32[300,3] fusion(x, y), kind=kInput, calls=f
}
)"));
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() && FindColumnReduce(*(*module)->entry()->root(), TargetInfo()).has_value();
}

// Vectors across the ends of short rows are for what is read in order: else each lane would need coordinates.
TEST(ColumnForm, ShortRowsOfColumns) {
  EXPECT_TRUE(IsColumns("d = f32[300,300,3] subtract(y, y)"));
  EXPECT_FALSE(IsColumns("d = f32[300,300,3] subtract(a, b)"));
}

}  // namespace
}  // namespace xc::plan
