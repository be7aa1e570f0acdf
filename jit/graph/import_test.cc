// Importing host graphs: what is refused and with which words, functions, constants.
#include <gtest/gtest.h>

#include "jit/graph/graph.h"

namespace xc {
namespace {

std::unique_ptr<Graph> Import(const std::string& text, std::string* error) {
  auto def = ParseGraphDef(text, /*text=*/true);
  if (!def.ok()) {
    *error = std::string(def.status().message());
    return nullptr;
  }
  auto graph = ImportGraphDef(*def);
  if (!graph.ok()) {
    *error = std::string(graph.status().message());
    return nullptr;
  }
  return *std::move(graph);
}

const char kArg[] = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } ";

std::string AddNode(const std::string& name, const std::string& a, const std::string& b) {
  return "node { name: '" + name + "' op: 'AddV2' input: '" + a + "' input: '" + b +
         "' attr { key: 'T' value { type: DT_FLOAT } } } ";
}

void ExpectError(const std::string& text, const std::string& part) {
  std::string error;
  EXPECT_EQ(Import(text, &error), nullptr);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Import, ConnectsNodes) {
  std::string error;
  auto graph = Import(kArg + AddNode("y", "x", "x:0"), &error);
  ASSERT_NE(graph, nullptr) << error;
  const Node* y = graph->FindNode("y");
  ASSERT_EQ(y->inputs.size(), 2u);
  EXPECT_EQ(y->inputs[1].node, graph->FindNode("x")->id);
  EXPECT_EQ(y->output_types, std::vector<DataType>{DT_FLOAT});
}

TEST(Import, RefusesBadGraphs) {
  ExpectError(AddNode("y", "x", "x"), "input 'x' does not exist");
  ExpectError(std::string(kArg) + kArg, "two nodes are named 'x'");
  ExpectError("node { name: 'x' op: 'Frobnicate' }", "unknown operation 'Frobnicate'");
  ExpectError(kArg + AddNode("y", "x:1", "x"), "takes output 1 of 'x', which has 1");
  ExpectError(AddNode("a", "b", "b") + AddNode("b", "a", "a"), "has a cycle");
  ExpectError("node { name: 'x' op: 'Placeholder' }", "attribute 'dtype' is missing");
  ExpectError("node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { i: 1 } } }", "is not of kind type");
  ExpectError(std::string(kArg) + "node { name: 'y' op: 'Neg' attr { key: 'T' value { type: DT_FLOAT } } }",
              "has 0 data inputs, its signature has 1");
  ExpectError(std::string(kArg) + "node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_INT32 } } }",
              "is float32, expected int32");
  ExpectError("node { name: 'x' ", "line 1");
}

TEST(Import, RefusesDamagedBytes) {
  auto def = ParseGraphDef(std::string("\x0a\xff\xff\xff", 4), false);
  ASSERT_FALSE(def.ok());
  EXPECT_NE(def.status().message().find("truncated"), absl::string_view::npos);
}

TEST(Import, FunctionBodiesNameOutputsOfNodes) {
  std::string error;
  auto graph = Import(R"(
    library { function {
      signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } }
      node_def { name: 'u' op: 'Unpack' input: 'a' attr { key: 'T' value { type: DT_FLOAT } }
                 attr { key: 'num' value { i: 2 } } }
      node_def { name: 's' op: 'Sub' input: 'u:output:1' input: 'u:output:0'
                 attr { key: 'T' value { type: DT_FLOAT } } }
      ret { key: 'r' value: 's:z:0' } } })",
                      &error);
  ASSERT_NE(graph, nullptr) << error;
  NameAttrList call;
  call.set_name("f");
  auto body = graph->library()->Instantiate(call, graph->library());
  ASSERT_TRUE(body.ok()) << body.status();
  const Node* sub = (*body)->FindNode("s");
  EXPECT_EQ(sub->inputs[0].index, 1);
  EXPECT_EQ(sub->inputs[1].index, 0);
  EXPECT_EQ((*body)->Retvals().size(), 1u);
  call.set_name("g");
  EXPECT_EQ(graph->library()->Instantiate(call, graph->library()).status().code(), absl::StatusCode::kNotFound);
}

TEST(Tensor, FromProtoRepeatsTheLastValueAndChecksSizes) {
  TensorProto proto;
  proto.set_dtype(DT_FLOAT);
  proto.mutable_tensor_shape()->add_dim()->set_size(3);
  proto.add_float_val(2);
  auto t = Tensor::FromProto(proto);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->data<float>()[2], 2);
  proto.set_tensor_content("abc");
  EXPECT_NE(Tensor::FromProto(proto).status().message().find("needs 12"), absl::string_view::npos);
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 62);
  EXPECT_FALSE(Tensor::FromProto(proto).ok());
}

TEST(Tensor, HalfWidthFloatsRoundToNearestEven) {
  EXPECT_EQ(FloatToBfloat16(1.00390625f), 0x3f80);
  EXPECT_EQ(Bfloat16ToFloat(0x3fc0), 1.5f);
  EXPECT_EQ(HalfToFloat(FloatToHalf(65504.f)), 65504.f);
}

}  // namespace
}  // namespace xc
