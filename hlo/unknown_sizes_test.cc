// Modules with sizes that only arguments say.
#include "hlo/unknown_sizes.h"

#include <gtest/gtest.h>

#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

// The module for arguments of these shapes, verified; or what is wrong.
std::string Bound(const std::string& text, const std::vector<std::string>& shapes) {
  auto module = ParseModule(text);
  if (!module.ok()) return module.status().ToString();
  const auto shape = [&](int64_t argument, const Shape&) -> absl::StatusOr<Shape> {
    if (argument < static_cast<int64_t>(shapes.size())) return ParseShape(shapes[argument]);
    return absl::InvalidArgumentError("there is no such argument");
  };
  absl::Status status = BindUnknownSizes(shape, module->get());
  if (status.ok()) status = VerifyModule(**module);
  return status.ok() ? PrintModule(**module) : std::string(status.message());
}

void ExpectLines(const std::string& printed, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) EXPECT_NE(printed.find(line), std::string::npos) << line << " in\n" << printed;
}

TEST(UnknownSizes, FollowFromTheArguments) {
  ExpectLines(Bound(R"(
HloModule m, entry_computation_layout={(f32[?,6]{1,0}, f32[6,?]{1,0})->f32[?]{0}}
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[?,6] parameter(0)
  w = f32[6,?] parameter(1)
  zero = f32[] constant(0)
  y = f32[?,?] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[?,?] tanh(y)
  s = f32[?] reduce(t, zero), dimensions={1}, to_apply=add
  b = f32[?,6] broadcast(s), dimensions={0}
  u = f32[?,6] multiply(b, x)
  f = f32[?] reshape(u)
  h = f32[?,3] reshape(f)
  c = f32[?,6] concatenate(u, x), dimensions={0}
  z = f32[?] reduce(c, zero), dimensions={1}, to_apply=add
  n = s32[] get-dimension-size(x), dimensions={0}
  ROOT r = f32[?] negate(z)
})",
                    {"f32[4,6]", "f32[6,5]"}),
              {"(f32[4,6]{1,0}, f32[6,5]{1,0})->f32[8]{0}", "%y = f32[4,5]", "%b = f32[4,6]", "%f = f32[24]",
               "%h = f32[8,3]", "= f32[8,6] concatenate", "ROOT %r = f32[8]"});
}

TEST(UnknownSizes, FollowThroughLoopsAndBranches) {
  const std::string printed = Bound(R"(
HloModule m
body { s = (s32[], f32[?]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[?] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[?] tanh(x)
  ROOT r = (s32[], f32[?]) tuple(j, y) }
condition { s = (s32[], f32[?]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(3)
  ROOT r = pred[] compare(i, end), direction=LT }
yes { x = f32[?] parameter(0)  ROOT y = f32[?] sine(x) }
no { x = f32[?] parameter(0)  ROOT y = f32[?] cosine(x) }
ENTRY e {
  x = f32[?] parameter(0)
  p = pred[] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[?]) tuple(zero, x)
  w = (s32[], f32[?]) while(s), condition=condition, body=body
  y = f32[?] get-tuple-element(w), index=1
  ROOT r = f32[?] conditional(p, y, x), true_computation=yes, false_computation=no
})",
                                    {"f32[7]"});
  ExpectLines(printed, {"%y.1 = f32[7]", "ROOT %r.2 = f32[7]"});
  EXPECT_EQ(printed.find('?'), std::string::npos) << printed;
}

TEST(UnknownSizes, OfAWholeDimensionSliced) {
  ExpectLines(Bound(R"(
HloModule m
ENTRY e {
  x = f32[?,6] parameter(0)
  ROOT s = f32[?,2] slice(x), slice={[0:-9223372036854775808], [1:3]}
})",
                    {"f32[5,6]"}),
              {"ROOT %s = f32[5,2]", "slice={[0:5], [1:3]}"});
}

TEST(UnknownSizes, OfArraysInTuples) {
  ExpectLines(Bound(R"(
HloModule m, entry_computation_layout={(s32[], (f32[?]{0}, (f32[4]{0}, f32[?,4]{1,0})))->f32[?]{0}}
ENTRY e {
  n = s32[] parameter(0)
  t = (f32[?], (f32[4], f32[?,4])) parameter(1)
  x = f32[?] get-tuple-element(t), index=0
  u = (f32[4], f32[?,4]) get-tuple-element(t), index=1
  y = f32[?,4] get-tuple-element(u), index=1
  z = f32[?] reshape(y)
  ROOT r = f32[?] concatenate(x, z), dimensions={0}
})",
                    {"s32[]", "f32[3]", "f32[4]", "f32[2,4]"}),
              {"(s32[], (f32[3]{0}, (f32[4]{0}, f32[2,4]{1,0})))->f32[11]{0}", "ROOT %r = f32[11]"});
}

TEST(UnknownSizes, ModulesWithoutThemStay) {
  ExpectLines(Bound("HloModule m\nENTRY e { x = f32[<=5] parameter(0)  ROOT y = f32[<=5] tanh(x) }", {}),
              {"ROOT %y = f32[<=5]"});
}

TEST(UnknownSizes, AreRefusedWithTheInstruction) {
  const auto refused = [](const std::string& lines, const std::string& message) {
    const std::string text = "HloModule m\nENTRY e {\n  x = f32[?,4] parameter(0)\n  y = f32[?] parameter(1)\n";
    const std::string result = Bound(text + lines + "\n}", {"f32[3,4]", "f32[5]"});
    EXPECT_NE(result.find(message), std::string::npos) << message << " in\n" << result;
  };
  refused("ROOT b = f32[?,4] broadcast(x), dimensions={0,1}", "ROOT %b = f32[3,4]");
  refused("ROOT b = f32[?,?] broadcast(y), dimensions={1}",
          "f32[?,5] has an unknown size (?) that no operand determines");
  refused("ROOT i = s32[?] iota(), iota_dimension=0", "s32[?] has an unknown size (?) that no operand determines");
  refused("ROOT r = f32[?,?] reshape(x)", "f32[?,?] has an unknown size (?) that no operand determines");
  refused("ROOT r = f32[?,7] reshape(x)", "has an unknown size (?) that no operand determines");
  refused("z = f32[?] reshape(x)\n  ROOT a = f32[?] add(y, z)", "add: operand 0 is f32[5] and operand 1 is f32[12]");
  EXPECT_NE(Bound("HloModule m\nENTRY e { x = f32[?,4] parameter(0)  ROOT y = f32[?,4] tanh(x) }", {"f32[3,5]"})
                .find("its argument is f32[3,5]"),
            std::string::npos);
  EXPECT_NE(Bound("HloModule m\nENTRY e { x = f32[?] parameter(0)  ROOT y = f32[?] tanh(x) }", {})
                .find("there is no such argument"),
            std::string::npos);
}

}  // namespace
}  // namespace xc
