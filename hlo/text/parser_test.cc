// What the parser accepts, what it makes of it, and the messages for what it refuses.
#include "hlo/text/parser.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hlo/text/printer.h"

namespace xc {
namespace {

std::string ModuleError(const std::string& text, const ParseOptions& options = {}) {
  const auto module = ParseModule(text, options);
  return module.ok() ? "ok" : std::string(module.status().message());
}

// The error of an instruction in an entry computation with two parameters.
std::string Error(const std::string& line, const ParseOptions& options = {}) {
  return ModuleError(
      absl::StrCat("HloModule m\nENTRY e {\n  a = f32[4]{0} parameter(0)\n  b = f32[4]{0} parameter(1)\n", line,
                   "\n}\n"),
      options);
}

void ExpectError(const std::string& line, const std::string& message) {
  const std::string error = Error(line);
  EXPECT_NE(error.find(message), std::string::npos) << line << "\n" << error;
}

TEST(Parser, ErrorShowsPlaceLineAndWhatWasExpected) {
  EXPECT_EQ(Error("  ROOT r = f32[4]{0} add(a, c)"),
            "line 5, column 29: no instruction 'c' is defined before this one in 'e'\n"
            "  ROOT r = f32[4]{0} add(a, c)\n"
            "                            ^");
  EXPECT_EQ(Error("  ROOT r = f32[4]{0} add(a, b"),
            "line 6, column 1: expected ',' or ')', found '}'\n"
            "}\n"
            "^");
  EXPECT_EQ(ModuleError("HloModule m\nENTRY e {\n  ROOT a = f32[] constant(1)\n"),
            "line 3, column 29: expected the name of an instruction or '}', found the end of the text\n"
            "  ROOT a = f32[] constant(1)\n"
            "                            ^");
}

TEST(Parser, DeclaredResultIsTheRoots) {
  EXPECT_EQ(ModuleError("HloModule m\nENTRY e (a: f32[2]) -> f32[<=2]{0:S(5)} { ROOT a = f32[2]{0} parameter(0) }"),
            "ok");
  EXPECT_EQ(ModuleError("HloModule m\nENTRY e (a: f32[2]) -> f32[3] { ROOT a = f32[2]{0} parameter(0) }").substr(0, 89),
            "line 2, column 9: computation 'e' is declared to give f32[3], and its root 'a' is f32[2]\n");
}

TEST(Parser, LongLinesAreCutAroundThePlace) {
  std::string line = "  ROOT r = f32[4]{0} add(a, b), frontend_attributes={x=\"" + std::string(500, 'y') +
                     "\"}, foo=1" + ", metadata={op_name=\"" + std::string(500, 'z') + "\"}";
  const std::string error = Error(line);
  EXPECT_NE(error.find("line 5, column 561: unknown attribute 'foo' of add"), std::string::npos) << error;
  EXPECT_LT(error.size(), 600u);
}

TEST(Parser, Attributes) {
  ExpectError("ROOT r = f32[4] add(a, b), foo=3",
              "unknown attribute 'foo' of add; expected one of: control-predecessors, metadata, sharding, "
              "backend_config, frontend_attributes, statistics, origin, result_accuracy");
  ExpectError("ROOT r = f32[4] add(a, b), dimensions={3}", "unknown attribute 'dimensions' of add");
  ExpectError("ROOT r = f32[4] add(a, b), to_apply=e", "unknown attribute 'to_apply' of add");
  ExpectError("ROOT r = f32[4] reverse(a), dimensions={0}, dimensions={0}", "attribute 'dimensions' is given twice");
  ExpectError("ROOT r = f32[4] reverse(a)", "reverse needs the attribute 'dimensions'");
  ExpectError("ROOT r = f32[4] reverse(a), dimensions={x}", "expected an integer, found 'x'");
  ExpectError("ROOT r = f32[4] reverse(a), dimensions={99999999999999999999}", "does not fit into 64 bits");
  ExpectError("ROOT r = pred[4] compare(a, b), direction=lt", "expected one of EQ, NE, GE, GT, LE, LT, found 'lt'");
  ExpectError("ROOT r = f32[4] fusion(a), kind=kMagic, calls=e", "expected one of kLoop, kInput, kOutput, kCustom");
  ExpectError("ROOT r = f32[2] slice(a), slice={[0:2:1}", "expected ']', found '}'");
  ExpectError("ROOT r = f32[6] pad(a, b), padding=1x1", "expected padding as LOW_HIGH or LOW_HIGH_INTERIOR");
  ExpectError("ROOT r = f32[6] reduce-window(a, b), window={size=2x2 stride=1}, to_apply=e",
              "expected a number for each dimension of the window");
  ExpectError("ROOT r = f32[6] reduce-window(a, b), window={sizes=2x2}, to_apply=e",
              "expected size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal, found 'sizes'");
  ExpectError("ROOT r = f32[6] reduce-window(a, b), to_apply=e", "reduce-window needs the attribute 'window'");
  ExpectError("ROOT r = f32[6] reduce-window(a, b), window={size=2}", "reduce-window needs the attribute 'to_apply'");
  ExpectError("ROOT r = f32[6] convolution(a, b), dim_labels=b01f_01io->b0f",
              "the three parts need the same number of dimensions");
  ExpectError("ROOT r = f32[6] convolution(a, b), dim_labels=b00f_01io->b01f", "'0' does not belong at position 2");
  ExpectError("ROOT r = f32[4] add(a, b), metadata={op_nam=\"x\"}", "unknown metadata field 'op_nam'");
  ExpectError("ROOT r = f32[4] add(a, b), sharding={devices=[2]<=[2] foo}", "'foo' does not belong in a sharding");
  ExpectError("ROOT r = f32[4] add(a, b), sharding=replicated", "expected '{', found 'replicated'");
  ExpectError("ROOT r = f32[4] add(a, b), backend_config={\"a\":{{}", "this '{' has no matching '}'");
  ExpectError("ROOT r = f32[4] add(a, b), backend_config=\"a", "this string has no closing quote");
  ExpectError("ROOT r = f32[4] add(a, b), control-predecessors={q}", "no instruction 'q' is defined before this one");
  ExpectError("ROOT r = f32[4] while(a), body=e", "while needs another computation beside this one");
  ExpectError("ROOT r = f32[4] while(a), condition=e", "while needs the attribute 'body'");
  ExpectError("ROOT r = f32[4] call(a), to_apply=nowhere", "no computation 'nowhere' is defined");
  ExpectError("ROOT r = f32[4] call(a), to_apply=e", "computation 'e' calls itself, directly or through others");
}

TEST(Parser, Instructions) {
  ExpectError("ROOT r = f32[4] frobnicate(a)", "unknown opcode 'frobnicate'");
  ExpectError("ROOT r = f32[4] addd(a, b)", "unknown opcode 'addd'; did you mean `add`?");
  ExpectError("ROOT r = f32[4] dynamic_slice(a, b)", "unknown opcode 'dynamic_slice'; did you mean `dynamic-slice`?");
  ExpectError("ROOT r = f32[4] mulitply(a, b)", "unknown opcode 'mulitply'; did you mean `multiply`?");
  ExpectError("ROOT r = f32[4] add(a)", "add takes 2 operands, found 1");
  ExpectError("ROOT r = f32[4] negate(a, b)", "negate takes 1 operand, found 2");
  ExpectError("a = f32[4] negate(b)", "instruction 'a' is defined twice");
  ExpectError("ROOT r = f32[4] negate(r)", "no instruction 'r' is defined before this one");
  ExpectError("ROOT r = f32[4] negate(f32[5] a)", "'a' has the shape f32[4], not f32[5]");
  ExpectError("ROOT r = f32[4] parameter(1)", "parameter 1 is defined twice");
  ExpectError("ROOT r = f32[4] parameter(3)", "computation 'e' has 4 parameters or more, but none with the number 2");
  ExpectError("ROOT r = f32[4] parameter(1000000000000)", "parameter number 1000000000000 is out of range");
  ExpectError("ROOT r = f32[4] parameter(-1)", "parameter number -1 is out of range");
  ExpectError("ROOT r = f32[4] negate(a)\nROOT s = f32[4] negate(a)", "a computation has only one ROOT");
  ExpectError("ROOT r = ((f32[4]), f32[4], s32[]) negate-start(a, b)", "negate takes 1 operands, found 2");
  ExpectError("ROOT r = f32[4] negate-start(a)", "the shape of an asynchronous start is a tuple");
  ExpectError("ROOT r = ((f32[4]), f32[4], s32[]) async-start(a)", "async-start needs the attribute 'calls'");
}

// The shape of the ROOT, which the text leaves out.
std::string Inferred(const std::string& root) {
  const auto module = ParseModule(absl::StrCat(R"(HloModule m
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = add(x, y) }
both { x = f32[2,3]{0,1} parameter(0) ROOT t = tuple(x, x) }
ENTRY e {
  a = f32[2,3]{0,1} parameter(0)
  b = f32[2,3] parameter(1)
  c = f32[] constant(1)
  t = (s32[], f32[2,3]{0,1}) parameter(2)
  ROOT )",
                                               root, "\n}"));
  return module.ok() ? (*module)->entry()->root()->shape().ToString() : std::string(module.status().message());
}

TEST(Parser, ShapesThatAreLeftOut) {
  EXPECT_EQ(Inferred("r = add(b, b)"), "f32[2,3]");
  EXPECT_EQ(Inferred("r = add(a, b)"), "f32[2,3]{0,1}");
  EXPECT_EQ(Inferred("r = compare(b, a), direction=LT"), "pred[2,3]{0,1}");
  EXPECT_EQ(Inferred("r = transpose(a), dimensions={1,0}"), "f32[3,2]");
  EXPECT_EQ(Inferred("r = tuple(a, c)"), "(f32[2,3]{0,1}, f32[])");
  EXPECT_EQ(Inferred("r = get-tuple-element(t), index=1"), "f32[2,3]{0,1}");
  EXPECT_EQ(Inferred("r = dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}"), "f32[2,2]");
  EXPECT_EQ(Inferred("r = reduce(a, c), dimensions={0}, to_apply=sum"), "f32[3]");
  EXPECT_EQ(Inferred("r = call(a), to_apply=both"), "(f32[2,3], f32[2,3])");
  EXPECT_EQ(Inferred("r = add(negate(a), f32[2,3] abs(b))"), "f32[2,3]{0,1}");
  ExpectError("r = parameter(2)", "'parameter' needs its shape before the opcode");
  ExpectError("r = constant(1)", "'constant' needs its shape before the opcode");
  ExpectError("r = negate-start(a)", "'negate-start' needs its shape before the opcode");
  ExpectError("r = broadcast(a), dimensions={0}", "none can be inferred: broadcast: needs its result shape");
  ExpectError("r = iota(), iota_dimension=0", "none can be inferred: iota: needs its result shape");
  ExpectError("r = get-tuple-element(a), index=0", "none can be inferred: get-tuple-element: operand 0 is f32[4]");
  ExpectError("r = custom-call(a), custom_call_target=\"x\"", "custom-call: needs its result shape");
  ExpectError("r = call(a), to_apply=later\n}\nlater {\n x = f32[4] parameter(0)",
              "'call' needs its shape before the opcode, since 'later' is not defined before it");
  ExpectError("r = call(a), to_apply=e", "since 'e' is not defined before it");
  ExpectError("r = while(a), condition=e", "while needs the attribute 'body'");
}

TEST(Parser, ShapesThatAreLeftOutAreBounded) {
  std::string doubles, nests;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&doubles, "t", i + 1, " = tuple(t", i, ", t", i, ")\n");
  for (int i = 0; i < 120; ++i) absl::StrAppend(&nests, "t", i + 1, " = tuple(t", i, ")\n");
  ExpectError("t0 = f32[] constant(1)\n" + doubles,
              "shapes that are left out may nest 100 deep and have 1048576 parts");
  ExpectError("t0 = f32[] constant(1)\n" + nests, "line 106, column 8: shapes that are left out may nest 100 deep");
}

TEST(Parser, AColonBehindTheModulesName) {
  const auto module = ParseModule("HloModule m.1:\nENTRY e { ROOT a = f32[] constant(1) }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->name(), "m.1");
}

// The groups of a mesh, as they are printed.
std::string MeshGroups(const std::string& groups) {
  const auto module = ParseModule(absl::StrCat(
      "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\nENTRY e {\n"
      "p = f32[8] parameter(0)\nROOT r = f32[8] all-reduce(p), replica_groups=",
      groups, ", to_apply=add }"));
  if (!module.ok()) return std::string(module.status().message());
  const std::string printed = (*module)->entry()->root()->ToString();
  const size_t from = printed.find("replica_groups=") + 15;
  return printed.substr(from, printed.find(", to_apply") - from);
}

TEST(Parser, ReplicaGroupsOfAMesh) {
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'b'}"), "[2,4]<=[8]");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'a'}"), "[4,2]<=[2,4]T(1,0)");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4]{'a','b'}"), "[1,8]<=[8]");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'b','a'}"), "[1,8]<=[2,4]T(1,0)");
  EXPECT_EQ(MeshGroups("mesh['a b'=2,\"b\"=4], {'1'}"), "[2,4]<=[8]");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'b':(1)2}"), "[4,2]<=[2,2,2]T(0,2,1)");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'b':(2)2}"), "[4,2]<=[8]");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4] {'b':(2)2,'b':(1)2}"), "[2,4]<=[2,2,2]T(0,2,1)");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=2,'c'=2] {'b'}"), "[4,2]<=[2,2,2]T(0,2,1)");
  EXPECT_EQ(MeshGroups("mesh['a'=1,'b'=1] {'a'}"), "[1,1]<=[1]");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=2], device_ids=(3,1,2,0) {'b'}"), "{{3,1},{2,0}}");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=2], device_ids=(3,1,2,0) {'a'}"), "{{3,2},{1,0}}");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b'}"), "{{0,2,4,6},{1,3,5,7}}");
  EXPECT_EQ(MeshGroups("mesh['a'=2,'b'=4], device_ids=([8]) {'b'}"), "[2,4]<=[8]");
}

TEST(Parser, BrokenMeshes) {
  const auto expect = [](const std::string& groups, const std::string& message) {
    const std::string error = MeshGroups(groups);
    EXPECT_NE(error.find(message), std::string::npos) << groups << "\n" << error;
  };
  expect("mesh['a'=2] {'b'}", "the mesh has no axis 'b'");
  expect("mesh['a'=2] {'1'}", "the mesh has no axis '1'");
  expect("mesh['a'=2,'a'=2] {'a'}", "the mesh has two axes 'a'");
  expect("mesh['a'=2] {'a','a'}", "parts of axis 'a' overlap");
  expect("mesh['a'=8] {'a':(2)2,'a':(1)4}", "parts of axis 'a' overlap");
  expect("mesh['a'=4] {'a':(1)3}", "axis 'a' of size 4 has no part (1)3");
  expect("mesh['a'=4] {'a':(9223372036854775807)9223372036854775807}", "axis 'a' of size 4 has no part");
  expect("mesh['a'=4] {'a':(1)0}", "a part of an axis has at least one device");
  expect("mesh['a'=0] {'a'}", "axis 'a' has size 0, should be at least 1");
  expect("mesh['a'=2000000000,'b'=2000000000] {'a'}", "it has too many devices");
  expect("mesh['a'=2], device_ids=(0,1,2) {'a'}", "it has 2 devices, but device_ids gives 3");
  expect("mesh['a'=4], device_ids=([2,2]T(1,1)) {'a'}", "is no order of 4 devices");
  expect("mesh['a'=4], device_ids=([2,3]) {'a'}", "is no order of 4 devices");
  expect("mesh['a'=2000000000], device_ids=([2,1000000000]T(1,0)) {'a'}", "a mesh with an order of its own may have");
  expect("mesh['a'=2]", "expected '{'");
  expect("mesh[a=2] {'a'}", "expected the name of an axis in quotes");
  expect("mesh['a=2", "this name has no closing quote");
}

TEST(Parser, Shapes) {
  EXPECT_EQ(Error("ROOT r = f32[4,-1] negate(a)").substr(0, 73),
            "line 5, column 16: the size of a dimension is negative: -1\nROOT r = f32[4");
  ExpectError("ROOT r = f32[b] negate(a)", "expected the size of a dimension ($n is that of the symbol n,");
  ExpectError("ROOT r = f33[4] negate(a)", "expected a shape, and 'f33' is no element type");
  ExpectError("ROOT r = f32[4 negate(a)", "expected ']', found 'negate'");
  ExpectError("ROOT r = f32[4]{0,1} negate(a)", "the layout orders 2 dimensions, the shape has 1");
  ExpectError("ROOT r = f32[4,4]{1,1} negate(a)", "the layout is no permutation of the 2 dimensions");
  ExpectError("ROOT r = f32[4]{0:Z(1)} negate(a)", "unknown layout attribute 'Z'");
  ExpectError("ROOT r = f32[4]{0:D(C)} negate(a)", "sparse layouts are not supported");
  ExpectError("ROOT r = f32[1000000000,1000000000,1000000000] negate(a)", "does not fit into 63 bits");
  ExpectError("ROOT r = f32[" + std::string(300, '1') + "] negate(a)", "does not fit into 64 bits");
  std::string many = "1";
  for (int i = 0; i < 200; ++i) many += ",1";
  ExpectError("ROOT r = f32[" + many + "] negate(a)", "a shape has more than 128 dimensions");
  for (const char* same :
       {"f32[4]{0:S(5)}", "f32[4,4]{1,0:T(8,128)(2,1)}", "s4[4]{0:E(4)}", "f32[4,4]{0,1:T(8,128)L(4)S(3)}",
        "f32[4]{0:SC(0:1,2)}", "f32[4]{0:M(12)}", "f32[4]{0:#(u32)*(u8)}", "f32[4]{0:T(*,2)}", "f32[?,<=4]{1,0}",
        "opaque[]", "token[]", "b(f32[4]{0})", "f32[]{:T(128)}", "(f32[4]{0}, (s32[], token[]))", "()", "u1[3]",
        "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])"}) {
    const auto shape = ParseShape(same);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->ToString(), same);
  }
  EXPECT_EQ(ParseShape("f32[2]{0} x").status().message(),
            "line 1, column 11: expected the end of the text, found 'x'\nf32[2]{0} x\n          ^");
}

TEST(Parser, Literals) {
  const auto constant = [](const std::string& shape, const std::string& text) {
    return Error(absl::StrCat("ROOT r = ", shape, " constant(", text, ")"));
  };
  const auto expect = [&](const std::string& shape, const std::string& text, const std::string& message) {
    const std::string error = constant(shape, text);
    EXPECT_NE(error.find(message), std::string::npos) << shape << " " << text << "\n" << error;
  };
  expect("f32[3]", "{1,2}", "dimension 0 of the constant needs 3 elements, found 2");
  expect("f32[2]", "{1,2,3}", "expected '}' after the 2 elements of dimension 0");
  expect("f32[2,2]", "{1,2,3,4}", "expected '{' to open dimension 1 of the constant");
  expect("f32[2]", "{1 2}", "expected ',' between elements");
  expect("f32[2]", "x", "expected '{' to open dimension 0 of the constant");
  expect("f32[2]", "1, 2", "expected ')'");
  expect("c64[2]", "(1, 2)", "expected '{' to open dimension 0 of the constant");
  expect("f32[0]", "1", "expected '{' to open dimension 0 of the constant");
  expect("u8[2000000000]", "1", "the elements may take 1073741824 bytes");
  expect("f32[]", "{1}", "expected a number");
  expect("f32[]", "x", "expected a number");
  expect("s8[]", "300", "this value is out of range for the constant's type");
  expect("u32[]", "-1", "this value is out of range for the constant's type");
  expect("s4[]", "8", "this value is out of range for the constant's type");
  expect("s32[]", "1.5", "expected an integer");
  expect("s32[]", "4294967295", "out of range");
  expect("f32[]", "1e400", "out of range");
  expect("f16[]", "70000", "out of range");
  expect("f16[]", "nan(0x400)", "this NaN payload does not fit into the constant's type");
  expect("f32[]", "nan(0x", "expected a NaN's payload as (0xHEX)");
  expect("pred[]", "2", "expected true, false, 1 or 0");
  expect("c64[]", "3", "expected a complex number as (real, imaginary)");
  expect("c64[]", "(3)", "expected a complex number as (real, imaginary)");
  expect("token[]", "0", "a constant cannot be a token");
  expect("(f32[], s32[])", "(1)", "expected ',', found ')'");
  expect("(f32[])", "(1, 2)", "expected ')' after the 1 elements of the tuple");
  expect("f32[1000000000000]", "{1}", "more than the text that follows can hold");
  expect("f32[1000000000000]", "{...}", "all of them may take 1073741824 bytes");
  expect("f32[?]", "{...}", "needs known dimensions");
  expect("(f32[1000000000000000000], f32[1000000000000000000], f32[1000000000000000000])", "{...}", "may take");
  expect("f32[?]", "{1}", "a constant needs known dimensions");
  expect("f32[2]", "{1,", "");
  EXPECT_EQ(ModuleError("ENTRY e { ROOT r = f32[2] constant({1, 2"),
            "line 1, column 36: this '{' has no matching '}'\nENTRY e { ROOT r = f32[2] constant({1, 2\n"
            "                                   ^");
}

// As XLA's parser has it.
TEST(Parser, ANumberForAnArrayIsItsFirstElement) {
  const auto expect = [](const std::string& shape, const std::string& text, const std::string& printed) {
    const auto literal = ParseLiteral(*ParseShape(shape), text);
    ASSERT_TRUE(literal.ok()) << literal.status();
    EXPECT_EQ(PrintLiteral(*literal), printed);
  };
  expect("f32[3,3]", "1", "{ { 1, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } }");
  expect("f32[2,2]{0,1}", "5", "{ { 5, 0 }, { 0, 0 } }");
  expect("s32[3]", "-7", "{-7, 0, 0}");
  expect("f32[2]", "nan", "{nan, 0}");
  expect("s4[3]", "-8", "{-8, 0, 0}");
  expect("pred[3]", "true", "{1, 0, 0}");
  expect("(f32[2], s32[])", "(1, 2)", "( {1, 0}, 2 )");
}

TEST(Parser, ModuleLine) {
  EXPECT_NE(ModuleError("HloModule m, foo=3\nENTRY e { ROOT a = f32[] constant(1) }")
                .find("line 1, column 14: unknown module attribute 'foo'; expected one of: is_scheduled"),
            std::string::npos);
  EXPECT_NE(ModuleError("").find("expected 'HloModule' or a computation, found the end of the text"),
            std::string::npos);
  EXPECT_NE(ModuleError("HloModule").find("expected the name of the module"), std::string::npos);
  EXPECT_NE(ModuleError("HloModule m /* foo").find("this comment has no closing */"), std::string::npos);
  EXPECT_NE(
      ModuleError("HloModule m, entry_computation_layout={(f32[4])->f32[]}\nENTRY e { ROOT a = f32[] constant(1) }")
          .find("the entry computation has 0 parameters, entry_computation_layout gives 1"),
      std::string::npos);
  EXPECT_NE(ModuleError("HloModule m, entry_computation_layout={()->f32[4]}\nENTRY e { ROOT a = f32[] constant(1) }")
                .find("the entry computation returns f32[], entry_computation_layout gives f32[4]"),
            std::string::npos);
  EXPECT_NE(ModuleError("e { }").find("computation 'e' has no instructions"), std::string::npos);
  EXPECT_NE(ModuleError("e { a = f32[] constant(1) } e { a = f32[] constant(1) }").find("computation 'e' is defined"),
            std::string::npos);
  EXPECT_NE(ModuleError("ENTRY e { a = f32[] constant(1) } ENTRY f { a = f32[] constant(1) }").find("only one ENTRY"),
            std::string::npos);
}

TEST(Parser, NestingIsBounded) {
  const int n = 100000;
  const std::string open(n, '('), close(n, ')');
  EXPECT_NE(Error("r = " + open + close + " tuple()").find("tuples are nested more than 100 deep"), std::string::npos);
  std::string operands = "r = f32[] ";
  for (int i = 0; i < n; ++i) operands += "negate(f32[] ";
  EXPECT_NE(Error(operands).find("instructions are nested more than 100 deep"), std::string::npos);
  EXPECT_NE(Error("r = f32[4] add(a, b), sharding=" + std::string(n, '{')).find("shardings are nested more than 100"),
            std::string::npos);
  EXPECT_NE(Error("r = f32[4] custom-call(a), custom_call_target=\"x\", literal=" + open).find("nested more than 100"),
            std::string::npos);
  std::string chain = "c0 { ROOT x = f32[] constant(1) }\n";
  for (int i = 1; i < 2000; ++i) {
    absl::StrAppend(&chain, "c", i, " { ROOT x = f32[] call(), to_apply=c", i - 1, " }\n");
  }
  EXPECT_NE(ModuleError(chain).find("calls nest more than 500 deep from 'c500'"), std::string::npos);
  ParseOptions few;
  few.max_instructions = 2;
  EXPECT_NE(Error("r = f32[4] add(a, b)", few).find("the text has more than 2 instructions"), std::string::npos);
}

// What XLA's own printer leaves out or writes otherwise is read all the same.
TEST(Parser, Forms) {
  const auto module = ParseModule(R"(// a comment
HloModule m /* another */
ENTRY %e (p: f32[2], q: (s32[], f32[])) -> f32[2] {
  %p = f32[2] parameter(0)
  %q = (s32[], f32[]) parameter(1)
  %s = f32[2] add(f32[2]{0} %p, f32[2] negate(p))
  t = f32[2] call((s32[], f32[]) %q, s), to_apply=later
  ROOT u = f32[2] add(t, f32[2] constant({1, 2}))
}
later {
  x = (s32[], f32[]) parameter(0)
  y = f32[2] parameter(1)
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(PrintModule(**module, PrintOptions::Short()),
            R"(HloModule m, entry_computation_layout={(f32[2], (s32[], f32[]))->f32[2]}

later {
  x = (s32[], f32[]) parameter(0)
  ROOT y = f32[2] parameter(1)
}

ENTRY e {
  p = f32[2] parameter(0)
  q = (s32[], f32[]) parameter(1)
  negate.anon = f32[2] negate(p)
  s = f32[2] add(p, negate.anon)
  t = f32[2] call(q, s), to_apply=later
  constant.anon = f32[2] constant({1, 2})
  ROOT u = f32[2] add(t, constant.anon)
}
)");
}

TEST(Parser, AsynchronousSugarMakesAComputation) {
  const auto module = ParseModule(R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  s = ((f32[4]), f32[4], s32[]) custom-call-start(a), async_execution_thread="tt", custom_call_target="foo"
  u = ((f32[4]), f32[4], s32[]) custom-call-update(s)
  ROOT r = f32[4] custom-call-done(u)
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(PrintModule(**module, PrintOptions::Short()),
            R"(HloModule m, entry_computation_layout={(f32[4])->f32[4]}

async_computation {
  param_0 = f32[4] parameter(0)
  ROOT custom-call = f32[4] custom-call(param_0), custom_call_target="foo"
}, execution_thread="tt"

ENTRY e {
  a = f32[4] parameter(0)
  s = ((f32[4]), f32[4], s32[]) async-start(a), async_execution_thread="tt", calls=async_computation
  u = ((f32[4]), f32[4], s32[]) async-update(s)
  ROOT r = f32[4] async-done(u)
}
)");
}

// Names may repeat in different computations; they become unique.
TEST(Parser, NamesBecomeUnique) {
  const auto module = ParseModule(
      "f { ROOT a = f32[] constant(1) } ENTRY e { a = f32[] constant(2) ROOT b = f32[] call(), to_apply=f }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_NE((*module)->entry()->instructions().front()->name(), (*module)->computations()[0]->root()->name());
}

// Every prefix of a text, and every text with one character changed, gives an error or a module, never a crash.
TEST(Parser, DamagedTextNeverCrashes) {
  const std::string text =
      R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,2]{1,0:T(8)})->f32[2,2]{1,0}}
FileNames
1 "f"
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  p = f32[2,2]{1,0:T(8)} parameter(0), sharding={{devices=[2]<=[2]}, {maximal device=1}}
  c = (f32[2,2], (pred[], c64[])) constant(({ {1, nan(0x1)}, {inf, -2.5e-3} }, (true, (1, 2))))
  i = f32[] constant(-inf)
  w = f32[2,2] reduce-window(p, i), window={size=2x2 pad=1_0x0_1}, to_apply=add, metadata={op_name="a\"b" source_line=2}
  s = ((f32[2,2]), f32[2,2], s32[]) custom-call-start(w), custom_call_target="t", literal=s32[2] {1, 2}
  ROOT d = f32[2,2] custom-call-done(s), backend_config={"a":[1]}
}
)";
  ASSERT_EQ(ModuleError(text), "ok");
  for (size_t i = 0; i < text.size(); ++i) {
    ModuleError(text.substr(0, i));
    for (const char c : {'{', '}', '(', ')', ',', '"', '9', '-', ' ', '\0', '\xFF', 'a', '='}) {
      std::string changed = text;
      changed[i] = c;
      ModuleError(changed);
    }
    ModuleError(text.substr(0, i) + text.substr(i + 1));
  }
}

}  // namespace
}  // namespace xc
