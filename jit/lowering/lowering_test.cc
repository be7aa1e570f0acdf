// Ops with attributes or shapes that do not fit: the lowering refuses them, and says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

// An operand: an argument of the cluster, or with `values` an int32 constant.
struct Operand {
  DataType type = DT_FLOAT;
  Dims dims;
  std::vector<int64_t> values = {};
};

std::string Attr(const std::string& name, const std::string& value) {
  return absl::StrCat(" attr { key: '", name, "' value { ", value, " } }");
}

// Lowers one node that takes the operands; gives the error's text, empty if there is none.
std::string Refusal(const std::string& op, const std::string& attrs, const std::vector<Operand>& operands) {
  std::string text, inputs;
  std::vector<ClusterArg> args;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string type = absl::StrCat("type: ", static_cast<int>(operands[i].type));
    absl::StrAppend(&text, "node { name: 'a", i, "' op: '_Arg'", Attr("T", type), Attr("index", absl::StrCat("i: ", i)),
                    " } ");
    absl::StrAppend(&inputs, " input: 'a", i, "'");
    ClusterArg arg;
    arg.type = operands[i].type;
    arg.dims = operands[i].dims;
    if (!operands[i].values.empty()) {
      Tensor t = Tensor::Int32s(operands[i].values);
      arg.constant = std::make_shared<const HostConstant>(t.Reshaped(operands[i].dims));
    }
    args.push_back(std::move(arg));
  }
  absl::StrAppend(&text, "node { name: 'n' op: '", op, "'", inputs, attrs, " } ");
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status() << text;
  auto graph = ImportGraphDef(*def);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return "";
  std::set<int> needed;
  auto lowered = LowerCluster(**graph, args, &needed);
  return std::string(lowered.status().message());
}

const std::string kFloat = Attr("T", "type: DT_FLOAT");

TEST(LoweringTest, Factorizations) {
  EXPECT_THAT(Refusal("Qr", kFloat, {{DT_FLOAT, {3}}}), HasSubstr("node 'n' (Qr): operand 0 must be matrices"));
  EXPECT_THAT(Refusal("MatrixDeterminant", kFloat, {{DT_FLOAT, {2, 3}}}), HasSubstr("must be square matrices"));
  EXPECT_THAT(Refusal("TridiagonalSolve", kFloat, {{DT_FLOAT, {3, 4}}, {DT_FLOAT, {5, 1}}}),
              HasSubstr("diagonals must be [..., 3, n]"));
  EXPECT_THAT(Refusal("BandedTriangularSolve", kFloat, {{DT_FLOAT, {4, 3}}, {DT_FLOAT, {3, 1}}}),
              HasSubstr("number of bands 4 cannot exceed the size of the matrix 3"));
  EXPECT_THAT(Refusal("BandedTriangularSolve", kFloat, {{DT_FLOAT, {2, 2, 3}}, {DT_FLOAT, {3, 3, 1}}}),
              HasSubstr("do not broadcast"));
  EXPECT_EQ(Refusal("Qr", kFloat, {{DT_FLOAT, {3, 2}}}), "");
}

TEST(LoweringTest, Diagonals) {
  std::vector<Operand> in = {{DT_FLOAT, {3, 4}}, {DT_INT32, {2}, {1, -1}}, {DT_FLOAT, {}}};
  EXPECT_THAT(Refusal("MatrixDiagPartV3", kFloat, in), HasSubstr("the lower diagonal is above the upper one"));
  in[1].values = {0, 4};
  EXPECT_THAT(Refusal("MatrixDiagPartV3", kFloat, in), HasSubstr("diagonals 0 to 4 are not those of 3 x 4 matrices"));
  in[1].values = {-2, 3};
  EXPECT_EQ(Refusal("MatrixDiagPartV3", kFloat, in), "");
}

TEST(LoweringTest, Images) {
  std::vector<Operand> in = {{DT_FLOAT, {1, 4, 4, 2}}, {DT_FLOAT, {3, 4}}, {DT_INT32, {3}}, {DT_INT32, {2}, {2, 2}}};
  EXPECT_THAT(Refusal("CropAndResize", kFloat + Attr("method", "s: 'cubic'"), in), HasSubstr("unknown method cubic"));
  in[2].dims = {2};
  EXPECT_THAT(Refusal("CropAndResize", kFloat, in), HasSubstr("boxes must be [n, 4], with n indices"));
  std::vector<Operand> resize = {{DT_FLOAT, {1, 4, 4, 2}}, {DT_INT32, {2}, {1 << 28, 1 << 28}}};
  EXPECT_THAT(Refusal("ResizeBicubic", kFloat, resize), HasSubstr("such large images"));
  resize[1].values = {0, 3};
  EXPECT_THAT(Refusal("ResizeArea", kFloat, resize), HasSubstr("sizes must be positive"));
}

TEST(LoweringTest, SampledImages) {
  std::vector<Operand> in = {
      {DT_FLOAT, {1, 4, 4, 2}}, {DT_INT32, {2}, {3, 3}}, {DT_FLOAT, {2}, {1, 1}}, {DT_FLOAT, {2}, {0, 0}}};
  EXPECT_THAT(Refusal("ScaleAndTranslate", kFloat + Attr("kernel_type", "s: 'sinc'"), in),
              HasSubstr("there is no kernel_type 'sinc'"));
  EXPECT_EQ(Refusal("ScaleAndTranslate", kFloat, in), "");
  in[2].values = {1, 0};
  EXPECT_THAT(Refusal("ScaleAndTranslate", kFloat, in), HasSubstr("scale must be positive"));
  in[3] = {DT_FLOAT, {1}, {0}};
  EXPECT_THAT(Refusal("ScaleAndTranslate", kFloat, in), HasSubstr("must have two elements"));
}

TEST(LoweringTest, Spectrograms) {
  EXPECT_THAT(Refusal("AudioSpectrogram", Attr("window_size", "i: 1") + Attr("stride", "i: 1"), {{DT_FLOAT, {9, 1}}}),
              HasSubstr("window_size must be 2 or more"));
  std::vector<Operand> in = {{DT_FLOAT, {1, 2, 9}}, {DT_INT32, {}, {8000}}};
  EXPECT_THAT(Refusal("Mfcc", Attr("dct_coefficient_count", "i: 99"), in), HasSubstr("at most as many coefficients"));
  EXPECT_THAT(Refusal("Mfcc", Attr("upper_frequency_limit", "f: 1"), in), HasSubstr("the frequencies do not fit"));
}

TEST(LoweringTest, Quantization) {
  std::vector<Operand> in = {{DT_FLOAT, {3, 4}}, {DT_FLOAT, {}}, {DT_FLOAT, {}}};
  EXPECT_THAT(Refusal("QuantizeAndDequantizeV2", kFloat + Attr("num_bits", "i: 99"), in), HasSubstr("num_bits is 99"));
  EXPECT_THAT(Refusal("FakeQuantWithMinMaxVarsPerChannel", "", in), HasSubstr("the range has a wrong shape"));
  EXPECT_EQ(Refusal("QuantizeAndDequantizeV2", kFloat, in), "");
  std::string target = Attr("T", "type: DT_QINT8");
  EXPECT_EQ(Refusal("QuantizeV2", target, in), "");
  EXPECT_THAT(Refusal("QuantizeV2", target + Attr("axis", "i: 2"), in), HasSubstr("axis is out of range"));
  EXPECT_THAT(Refusal("QuantizeV2", target + Attr("axis", "i: 1"), in), HasSubstr("the range has a wrong shape"));
  EXPECT_THAT(Refusal("QuantizeV2", target + Attr("round_mode", "s: 'HALF_TO_EVEN'"), in),
              HasSubstr("only SCALED rounds half to even"));
}

TEST(LoweringTest, QuantizedArrays) {
  std::string limits = Attr("quantization_min_val", "i: -128") + Attr("quantization_max_val", "i: 127") +
                       Attr("Tin", "type: DT_FLOAT") + Attr("Tout", "type: DT_QINT8");
  std::vector<Operand> in = {{DT_FLOAT, {3, 4}}, {DT_FLOAT, {1}, {1}}, {DT_INT32, {1}, {3}}};
  EXPECT_EQ(Refusal("UniformQuantize", limits, in), "");
  EXPECT_THAT(Refusal("UniformQuantize", limits + Attr("quantization_axis", "i: 1"), in),
              HasSubstr("there must be 4 scales and zero points"));
  in[1].values = {0};
  EXPECT_THAT(Refusal("UniformQuantize", limits, in), HasSubstr("scales must be positive"));
}

TEST(LoweringTest, SingleInstructions) {
  std::vector<Operand> in = {
      {DT_FLOAT, {3, 4}}, {DT_FLOAT, {}}, {DT_INT32, {2}, {1, 0}}, {DT_INT32, {2}, {0, 0}}, {DT_INT32, {2}, {0, 2}}};
  std::string types = kFloat + Attr("Tindices", "type: DT_INT32");
  EXPECT_EQ(Refusal("XlaPad", types, in), "");
  in[4].values = {0, -2};
  EXPECT_THAT(Refusal("XlaPad", types, in), HasSubstr("node 'n' (XlaPad)"));
  in[4] = {DT_INT32, {1}, {0}};
  EXPECT_THAT(Refusal("XlaPad", types, in), HasSubstr("operand 4 has 1 elements, expected 2"));
  EXPECT_THAT(Refusal("XlaDot", kFloat + Attr("dimension_numbers", "s: '\\377'") + Attr("precision_config", "s: ''"),
                      {{DT_FLOAT, {3, 4}}, {DT_FLOAT, {4, 5}}}),
              HasSubstr("dimension_numbers cannot be read"));
  EXPECT_EQ(Refusal("XlaReplicaId", "", {}), "");
}

// Indices known only at run time: of dimensions that are dropped, beside whole and new ones.
TEST(LoweringTest, IndexedSlices) {
  auto mask = [](const std::string& name, int bits) { return Attr(name + "_mask", absl::StrCat("i: ", bits)); };
  const std::string types = kFloat + Attr("Index", "type: DT_INT32");
  const std::string column = types + mask("begin", 1) + mask("end", 1) + mask("shrink_axis", 2);
  std::vector<Operand> in = {{DT_FLOAT, {3, 4, 5}}, {DT_INT32, {2}}, {DT_INT32, {2}}, {DT_INT32, {2}, {1, 1}}};
  EXPECT_EQ(Refusal("StridedSlice", column, in), "");
  EXPECT_EQ(Refusal("StridedSlice", types + mask("ellipsis", 1) + mask("shrink_axis", 2), in), "");
  EXPECT_EQ(Refusal("StridedSlice", types + mask("new_axis", 2) + mask("shrink_axis", 1), in), "");
  EXPECT_THAT(Refusal("StridedSlice", types + mask("shrink_axis", 2), in), HasSubstr("must be known"));
  std::vector<Operand> grad = {{DT_INT32, {3}, {3, 4, 5}}, in[1], in[2], in[3], {DT_FLOAT, {3, 5}}};
  EXPECT_EQ(Refusal("StridedSliceGrad", column, grad), "");
  grad[4].dims = {3, 4};
  EXPECT_THAT(Refusal("StridedSliceGrad", column, grad), HasSubstr("dy does not have the shape of the slice"));
  in[0].dims = {3};
  EXPECT_THAT(Refusal("StridedSlice", column, in), HasSubstr("too many indices"));
}

// x[:, i - 1:i + 2]: how much is taken is known, where is not.
TEST(LoweringTest, SlicesBetweenNumbersOfAKnownDistance) {
  auto slice = [](const std::string& begin, const std::string& end) {
    const std::string index = Attr("Index", "type: DT_INT32"), type = Attr("T", "type: DT_INT32");
    auto node = [](const std::string& name, const std::string& op, const std::string& inputs,
                   const std::string& attrs) {
      return absl::StrCat("node { name: '", name, "' op: '", op, "' ", inputs, attrs, " } ");
    };
    auto constant = [&](const std::string& name, const std::string& dims, const std::string& values) {
      return node(
          name, "Const", "",
          Attr("dtype", "type: DT_INT32") +
              Attr("value", absl::StrCat("tensor { dtype: DT_INT32 tensor_shape { ", dims, " } ", values, " }")));
    };
    const std::string text = absl::StrCat(
        node("x", "_Arg", "", kFloat + Attr("index", "i: 0")), node("i", "_Arg", "", type + Attr("index", "i: 1")),
        constant("zero", "", "int_val: 0"), constant("one", "", "int_val: 1"), constant("two", "", "int_val: 2"),
        constant("ones", "dim { size: 2 }", "int_val: 1 int_val: 1"),
        node("before", "Sub", "input: 'i' input: 'one'", type), node("after", "AddV2", "input: 'two' input: 'i'", type),
        node("double", "Mul", "input: 'two' input: 'i'", type),
        node("b", "Pack", "input: 'zero' input: '" + begin + "'", type + Attr("N", "i: 2")),
        node("e", "Pack", "input: 'zero' input: '" + end + "'", type + Attr("N", "i: 2")),
        node("s", "StridedSlice", "input: 'x' input: 'b' input: 'e' input: 'ones'",
             kFloat + index + Attr("begin_mask", "i: 1") + Attr("end_mask", "i: 1")),
        node("r", "_Retval", "input: 's'", kFloat + Attr("index", "i: 0")));
    auto def = ParseGraphDef(text, true);
    EXPECT_TRUE(def.ok()) << def.status() << text;
    auto graph = ImportGraphDef(*def).value();
    std::vector<ClusterArg> args(2);
    args[0].type = DT_FLOAT;
    args[0].dims = {3, 8};
    args[1].type = DT_INT32;
    std::set<int> needed;
    auto lowered = LowerCluster(*graph, args, &needed);
    return lowered.ok() ? lowered->module->entry()->root()->shape().ToString(false)
                        : std::string(lowered.status().message());
  };
  EXPECT_EQ(slice("i", "after"), "(f32[3,2], pred[])");
  EXPECT_EQ(slice("before", "after"), "(f32[3,3], pred[])");
  EXPECT_EQ(slice("before", "i"), "(f32[3,1], pred[])");
  EXPECT_THAT(slice("after", "i"), HasSubstr("must be known"));
  EXPECT_THAT(slice("i", "double"), HasSubstr("must be known"));
}

// func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> { return %arg0 + %arg0 }, which jaxlib wrote.
constexpr char kModule[] =
    "4d4cef520d537461626c65484c4f5f76312e31372e300001190501050901030b03070f1317032b1507010d0b131313131303090b0b0b0b03"
    "071317070251050d170103031701050717010527170107151701090b030123031d0f1d1129030905110301030109044d050150030107043d"
    "0301050350050307042903050b03030700050609030105010107040b03030603010501007f13030b05150f110f0b116275696c74696e0076"
    "686c6f006d6f64756c650066756e635f7631006164645f76310072657475726e5f7631002d006d61696e00000815050501010b0d0f0d1113";

// func.func @main(%arg0: tensor<i32>, %arg1: tensor<2x?xf32>) -> tensor<2x?xf32>, which adds the open size, its first
// argument, to the elements, and asserts that it is 3 at most.
constexpr char kOpenModule[] =
    "4d4cef520d537461626c65484c4f5f76312e31372e300001270501051701030b03150f13171b1f23272b2f3303673f1901230b1313131313"
    "1313130b13131313131313031d0b0f0b0b0b1f1f0b0b0b0b0b0b0f0319370f071307071b0f07130f13025202051b17010101170103031701"
    "03231701034517010511170107151701091103031335051d17010b0717010d1117010f111701111117011311170115111701170703011f17"
    "011d1f230d1d211f0309030000001f070902000000090107091d230b031d250503130b0129050900ffffffffffffffff092901051b290305"
    "05091d11050301030129011101290309052901092903010b04cb05015003010704bb030105055005030704a703152b05070703090003420b"
    "05030303420d07030707460f09030f050105094515110b0509010b0617030703010d46190d031305070b0f061b0315030111461d0f030105"
    "0f0d13061f0301050311150421031306030105010086032721270b031d05150f39171f171f1711190f0b116275696c74696e0076686c6f00"
    "6d6f64756c6500636f6e7374616e745f76310066756e635f763100636f6d706172655f763100637573746f6d5f63616c6c5f763100726573"
    "686170655f763100636f6e636174656e6174655f763100636f6e766572745f76310064796e616d69635f62726f6164636173745f696e5f64"
    "696d5f7631006164645f76310072657475726e5f7631002d006572726f725f6d65737361676500006d61696e0033206174206d6f73742c20"
    "6e6f74207b307d0073686170655f617373657274696f6e000841110501010b2329232b27032d032f05313311372739233b232323033d0725"
    "2525";

TEST(LoweringTest, CalledModules) {
  const auto attrs = [](const std::string& module, const std::string& more) {
    return Attr("module", absl::StrCat("s: '", absl::CEscape(module), "'")) + Attr("version", "i: 10") +
           Attr("Tin", "list { type: DT_FLOAT }") + Attr("Tout", "list { type: DT_FLOAT }") + more;
  };
  const auto platforms = [](const std::string& names) {
    return Attr("platforms", absl::StrCat("list { ", names, " }"));
  };
  const std::string module = absl::HexStringToBytes(kModule);
  const std::string op = "XlaCallModule", cpu = platforms("s: 'CPU'");
  EXPECT_EQ(Refusal(op, attrs(module, cpu), {{DT_FLOAT, {2}}}), "");
  EXPECT_EQ(Refusal(op, attrs(module, platforms("s: 'CUDA' s: 'CPU'")), {{DT_FLOAT, {2}}}), "");
  EXPECT_THAT(Refusal(op, attrs(module, cpu), {{DT_FLOAT, {3}}}),
              HasSubstr("node 'n' (XlaCallModule): argument 0 is f32[3], its module takes f32[2]"));
  EXPECT_THAT(Refusal(op, attrs(module, platforms("s: 'CUDA' s: 'TPU'")), {{DT_FLOAT, {2}}}),
              HasSubstr("its module is for cuda, tpu, not for the CPU"));
  EXPECT_THAT(Refusal(op, attrs(module, cpu + Attr("has_token_input_output", "b: true")), {{DT_FLOAT, {2}}}),
              HasSubstr("tokens"));
  EXPECT_THAT(Refusal(op, attrs(module, cpu + Attr("dim_args_spec", "list { s: '0.0' }")), {{DT_FLOAT, {2}}}),
              HasSubstr("the first 1 arguments of the module, which are sizes, should be integers, found f32[2]"));
  EXPECT_THAT(Refusal(op, attrs(module.substr(0, 100), cpu), {{DT_FLOAT, {2}}}),
              HasSubstr("(XlaCallModule): MLIR bytecode, byte 62: file: expected 40 bytes, found 38"));
  EXPECT_THAT(Refusal(op, attrs("module {}", cpu), {{DT_FLOAT, {2}}}),
              HasSubstr("expected StableHLO as MLIR bytecode"));
}

TEST(LoweringTest, CalledModulesOfOpenSizes) {
  const auto refusal = [](const std::string& more, const std::vector<int64_t>& dims) {
    const std::string module = absl::CEscape(absl::HexStringToBytes(kOpenModule));
    return Refusal("XlaCallModule",
                   Attr("module", absl::StrCat("s: '", module, "'")) + Attr("version", "i: 4") +
                       Attr("Tin", "list { type: DT_FLOAT }") + Attr("Tout", "list { type: DT_FLOAT }") + more,
                   {{DT_FLOAT, dims}});
  };
  const std::string size = Attr("dim_args_spec", "list { s: '0.1' }");
  EXPECT_EQ(refusal(size, {2, 3}), "");
  EXPECT_EQ(refusal(size, {2, 0}), "");
  EXPECT_THAT(refusal(size, {2, 4}), HasSubstr("stablehlo.custom_call: shape assertion: 3 at most, not 4"));
  EXPECT_EQ(refusal(size + Attr("disabled_checks", "list { s: 'shape_assertions' }"), {2, 4}), "");
  EXPECT_THAT(refusal(size, {3, 3}), HasSubstr("is f32[2,?], but its shape is given as f32[3,3]"));
  EXPECT_THAT(refusal("", {2, 3}), HasSubstr("argument 1 of @main is f32[2,?]: the op has only 1 arguments"));
  for (const char* wrong : {"0", "0.2", "1.0", "0.-1", "-1.0", "x.y", "."}) {
    EXPECT_THAT(refusal(Attr("dim_args_spec", absl::StrCat("list { s: '", wrong, "' }")), {2, 3}),
                HasSubstr(absl::StrCat("dim_args_spec has '", wrong, "', which is no dimension of an argument")));
  }
}

TEST(LoweringTest, SpecialFunctionsBroadcast) {
  EXPECT_THAT(Refusal("Igamma", kFloat, {{DT_FLOAT, {3}}, {DT_FLOAT, {4}}}), HasSubstr("node 'n' (Igamma)"));
  EXPECT_EQ(Refusal("Igamma", kFloat, {{DT_FLOAT, {3, 1}}, {DT_FLOAT, {4}}}), "");
}

}  // namespace
}  // namespace xc
