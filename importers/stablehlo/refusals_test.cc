// Damaged and unsupported modules are refused with a message that says where, what and why.
#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

// One line in the body of a function of a few parameters.
void Line(const std::string& line, absl::string_view message) {
  ExpectRefused("func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {\n" +
                    line + "\n  return %a : tensor<2x3xf32>\n}\n",
                message);
}

TEST(Refusals, Operations) {
  Line("%0 = stablehlo.frobnicate %a : tensor<2x3xf32>",
       "line 2, column 6: func.func: expected an operation of stablehlo, chlo or func, found `stablehlo.frobnicate`");
  Line("%0 = sdy.sharding_constraint %a <@m, [{}, {}] : tensor<2x3xf32>", "this `<` is not closed");
  Line("%0 = sdy.reshard %a, %b", "expected `:` and types");
  Line("%0 = stablehlo.add %a : tensor<2x3xf32>", "stablehlo.add: expected 2 operands, found 1");
  Line("%0 = stablehlo.add %a, %c : tensor<2x3xf32>", "stablehlo.add: the value %c is not defined");
  Line("%0 = stablehlo.add %a, %b : tensor<2x4xf32>", "stablehlo.add: result 0 is f32[2,3], but its type is given as");
  Line("%0 = stablehlo.add %a %b : tensor<2x3xf32>", "stablehlo.add: expected `,` or `:`");
  Line("%0 = stablehlo.add %a, %b", "stablehlo.add: expected an operand, an attribute or `:`, found `return`");
  Line("%0:2 = stablehlo.add %a, %b : tensor<2x3xf32>", "gives 1 results, but 2 are named");
  Line("%a = stablehlo.add %a, %b : tensor<2x3xf32>", "the value %a is defined twice");
  Line("%0 = stablehlo.add %a, %b {speed = 3 : i64} : tensor<2x3xf32>", "stablehlo.add: has no attribute `speed`");
  Line("%0 = \"stablehlo.add\"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>",
       "operand 1, %b, is f32[2,3], but its type is given as f32[3,2]");
  Line("%0 = stablehlo.add %a#1, %b : tensor<2x3xf32>", "%a has 1 values, found #1");
  Line("%0 = stablehlo.compare XX, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
       "attribute `comparison_direction` is XX, should be one of EQ, NE, GE, GT, LE, LT");
  Line("%0 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
       "compare_type SIGNED does not fit operands of f32");
  // A word of an attribute, not a location: it was read again and again.
  Line("%0 = stablehlo.add %a, %b {mhlo.x = #stablehlo.scatter<dims loc, y>, z = 1 : i64} : tensor<2x3xf32>",
       "stablehlo.add: has no attribute `z`");
  Line("%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>", "stablehlo.transpose: ");
  Line("%0 = stablehlo.transpose %a : (tensor<2x3xf32>) -> tensor<3x2xf32>", "attribute `permutation` is missing");
  Line("%0 = stablehlo.slice %a [0:2] : (tensor<2x3xf32>) -> tensor<2xf32>", "stablehlo.slice: ");
  Line(
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, i]->[b, f], window = {} : (tensor<2x3xf32>, "
      "tensor<2x3xf32>) -> tensor<2x2xf32>",
      "stablehlo.convolution: expected `i`, `o` (once each) or the number of a spatial dimension, found `i`");
  Line(
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 1, f]x[0, i, o]->[b, 0, f], window = {} : "
      "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>",
      "spatial dimension 0 is missing");
}

TEST(Refusals, Types) {
  Line("%0 = stablehlo.constant dense<1.0> : tensor<2x?xf32>", "the sizes of a constant should be known");
  Line("%0 = stablehlo.abs %a : tensor<*xf32>", "tensors of unknown rank are not supported");
  Line("%0 = stablehlo.abs %a : tensor<2x3xf33>", "expected an element type such as f32, bf16, i32, ui8 or i1, found");
  Line("%0 = stablehlo.abs %a : tensor<99999999999999999999xf32>", "this size does not fit into 64 bits");
  Line("%0 = stablehlo.abs %a : tensor<9999999999x9999999999xf32>", "stablehlo.abs: ");
  Line("%0 = stablehlo.abs %a : tensor<2x!quant.uniform<i8:f32, 0.1>>", "elements of type `!quant.uniform` are not");
  Line("%0 = stablehlo.abs %a : tensor<2x3xcomplex<f16>>", "expected complex<f32> or complex<f64>");
  Line("%0 = stablehlo.abs %a : !my.type", "the type `!my.type` is not supported");
}

TEST(Refusals, Constants) {
  Line("%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>",
       "dimension 0 of the constant needs 3 elements, found 2");
  Line("%0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>", "needs 2 elements, found more than 2");
  Line("%0 = stablehlo.constant dense<[1, 300]> : tensor<2xi8>", "this value is out of range for s8");
  Line("%0 = stablehlo.constant dense<[1, 2]> : tensor<2xf32>", "expected a number with a point");
  Line("%0 = stablehlo.constant dense<[1.0, x]> : tensor<2xf32>", "expected a number");
  Line("%0 = stablehlo.constant dense<1.5> : tensor<2xi32>", "expected an integer");
  Line("%0 = stablehlo.constant dense<\"0x00\"> : tensor<2xf32>", "the constant f32[2] needs 8 bytes, found 1");
  Line("%0 = stablehlo.constant dense<\"0x0G000000\"> : tensor<1xf32>", "expected hexadecimal digits");
  Line("%0 = stablehlo.constant dense<[1]> : tensor<1000000000000xi8>", "the text has fewer");
  Line("%0 = stablehlo.constant dense_resource<__elided__> : tensor<1000000000000xi8>",
       "left out would take more than");
  Line("%0 = stablehlo.constant dense<[1, 2", "stablehlo.constant: expected `:`, found `}`");
  ExpectRefused("func.func @main() { %0 = stablehlo.constant dense<[1, 2", "this `<` is not closed");
}

TEST(Refusals, Modules) {
  ExpectRefused("module {", "expected a module, a function or an alias, found the end of the text");
  ExpectRefused("module {}", "the module has no function `main` and no public one");
  ExpectRefused("func.func @f() { return }\nfunc.func @g() { return }",
                "None is called main, and @f and @g are public");
  ExpectRefused("func.func @main() { return }\nfunc.func @main() { return }", "the function @main is defined twice");
  ExpectRefused("func.func private @main(tensor<f32>) -> tensor<f32>", "the entry @main has no body");
  ExpectRefused("func.func @main(%a: tensor<f32>) -> tensor<f64> { return %a : tensor<f32> }",
                "what @main returns is not of the types of its results");
  ExpectRefused("func.func @main() { }", "this region has no operations; it should end with a return");
  ExpectRefused("func.func @main(%a: tensor<f32>) { %0 = stablehlo.abs %a : tensor<f32> }",
                "stablehlo.abs: a region should end with a return");
  ExpectRefused("func.func @main(%a: tensor<f32>) { return %a : tensor<f32>\n return %a : tensor<f32> }",
                "only the last operation of a region should return");
  ExpectRefused("func.func @main() { call @f() : () -> ()\n return }", "func.call: the function @f is not defined");
  ExpectRefused("func.func @main() { call @main() : () -> ()\n return }", "the function @main calls itself");
  ExpectRefused("sdy.mesh @mesh = <[\"x\"=0]>\nfunc.func @main() { return }",
                "the mesh @mesh has an axis without devices");
  ExpectRefused("sdy.mesh @mesh = <[\"x\"=2]>\nsdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main() { return }",
                "the mesh @mesh is defined twice");
  ExpectRefused(
      "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"z\"}]>}) { return }",
      "the mesh has no axis \"z\"");
  ExpectRefused("func.func @main(%a: tensor<f32> {tf.aliasing_output = 3 : i32}) { return }",
                "`tf.aliasing_output` should be the number of a result");
}

TEST(Refusals, Regions) {
  Line(
      "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.abs across dimensions = [0] : (tensor<2x3xf32>, "
      "tensor<f32>) -> tensor<3xf32>",
      "`stablehlo.abs` is no operation that a reduction can apply");
  Line(
      "%0 = \"stablehlo.sort\"(%a) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "%1 = stablehlo.compare LT, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n"
      "stablehlo.return %1 : tensor<2x3xi1> }) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
      "stablehlo.sort: its region uses %a from outside, which is not a constant");
  Line("%0 = \"stablehlo.sort\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>", "expected 1 regions, found 0");
  Line(
      "%0 = \"stablehlo.sort\"(%a) ({\n^bb0(%x: tensor<f32>):\n stablehlo.return %x : tensor<f32>\n^bb1:\n}) : "
      "(tensor<2x3xf32>) -> tensor<2x3xf32>",
      "regions of several blocks are not supported");
}

// Depth costs no stack.
TEST(Refusals, Depth) {
  std::string lists(100000, '['), tuples, regions;
  Line("%0 = stablehlo.abs %a {x = " + lists + "} : tensor<2x3xf32>", "nested more than 100 deep");
  for (int i = 0; i < 10000; ++i) tuples += "tuple<";
  Line("%0 = stablehlo.abs %a : " + tuples, "nested more than 100 deep");
  for (int i = 0; i < 10000; ++i) regions += "\"stablehlo.if\"(%p) ({\n";
  ExpectRefused("func.func @main(%p: tensor<i1>) {\n" + regions, "nested more than 100 deep");
  std::string calls = "func.func @main() { call @f0() : () -> ()\n return }\n";
  for (int i = 0; i < 1000; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    calls += "func.func private @f" + n + "() { call @f" + next + "() : () -> ()\n return }\n";
  }
  ExpectRefused(calls + "func.func private @f1000() { return }", "calls nest more than 500 deep");
}

TEST(Refusals, OperationsWithoutResults) {
  for (const char* op : {R"("stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<f32>))",
                         R"("stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64>}> : (tensor<f32>))",
                         R"("stablehlo.select"(%p, %a, %a) : (tensor<i1>, tensor<f32>, tensor<f32>))",
                         R"("chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<f32>))"}) {
    ExpectRefused(absl::StrCat("func.func @main(%a: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {\n  ", op,
                               " -> ()\n  return %a : tensor<f32>\n}\n"),
                  "should have a result");
  }
}

}  // namespace
}  // namespace xc
