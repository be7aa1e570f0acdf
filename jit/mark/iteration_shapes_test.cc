// What is known before any shape: loops that change the shape of their state, what of them does, and branches that give
// different shapes.
#include "jit/shapes/iteration_shapes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "jit/mark/mark.h"
#include "jit/shapes/symbolic_shapes.h"

namespace xc {
namespace {

std::string Type(const std::string& key, const std::string& type) {
  return absl::StrCat("attr { key: '", key, "' value { type: ", type, " } } ");
}
const std::string kFloat = Type("T", "DT_FLOAT");

std::string N(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& attrs = kFloat, const std::string& kind = "node") {
  std::string out = absl::StrCat(kind, " { name: '", name, "' op: '", op, "' ");
  for (const std::string& i : inputs) absl::StrAppend(&out, "input: '", i, "' ");
  return out + attrs + " } ";
}
// A node of a function.
std::string F(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& attrs = kFloat) {
  return N(name, op, inputs, attrs, "node_def");
}
std::string Ints(const std::string& name, const std::vector<int>& values, bool scalar, const std::string& kind) {
  std::string tensor = "dtype: DT_INT32 tensor_shape { ";
  if (!scalar) absl::StrAppend(&tensor, "dim { size: ", values.size(), " } ");
  absl::StrAppend(&tensor, "} ");
  for (int v : values) absl::StrAppend(&tensor, "int_val: ", v, " ");
  return N(name, "Const", {}, Type("dtype", "DT_INT32") + "attr { key: 'value' value { tensor { " + tensor + "} } }",
           kind);
}
std::string Input(const std::string& name, const std::vector<int>& dims, const std::string& type = "DT_FLOAT") {
  std::string shape;
  for (int d : dims) absl::StrAppend(&shape, "dim { size: ", d, " } ");
  return N(name, "Placeholder", {}, Type("dtype", type) + "attr { key: 'shape' value { shape { " + shape + "} } }");
}
std::string Function(const std::string& name, const std::vector<std::string>& args, const std::string& nodes,
                     const std::vector<std::string>& results) {
  std::string out = absl::StrCat("function { signature { name: '", name, "' ");
  for (const std::string& a : args) {
    absl::StrAppend(&out, "input_arg { name: '", a, "' type: ", a == "i" ? "DT_INT32" : "DT_FLOAT", " } ");
  }
  std::string rets;
  for (size_t k = 0; k < results.size(); ++k) {
    const char* type = name == "test" ? "DT_BOOL" : args[k] == "i" ? "DT_INT32" : "DT_FLOAT";
    absl::StrAppend(&out, "output_arg { name: 'r", k, "' type: ", type, " } ");
    absl::StrAppend(&rets, "ret { key: 'r", k, "' value: '", results[k], "' } ");
  }
  return out + "} " + nodes + rets + "} ";
}

// A loop of `iterations` over a counter, a [?, 4] state `x`, a [4, 4] state `h` and the weights `w`.
std::string Loop(const std::string& body, const std::vector<std::string>& results, int iterations = 5000) {
  const std::vector<std::string> args = {"i", "x", "h", "w"};
  return Input("x", {-1, 4}) + Input("h", {-1, 4}) + Input("w", {4, 4}) + Ints("zero", {0}, true, "node") +
         N("loop", "StatelessWhile", {"zero", "x", "h", "w"},
           "attr { key: 'T' value { list { type: DT_INT32 type: DT_FLOAT type: DT_FLOAT type: DT_FLOAT } } } "
           "attr { key: 'cond' value { func { name: 'test' } } } attr { key: 'body' value { func { name: 'iteration' } "
           "} "
           "}") +
         N("after", "Exp", {"loop:2"}) + "library { " +
         Function("test", args,
                  Ints("iterations", {iterations}, true, "node_def") +
                      F("less", "Less", {"i", "iterations:output:0"}, Type("T", "DT_INT32")),
                  {"less:z:0"}) +
         Function("iteration", args,
                  Ints("one", {1}, true, "node_def") + Ints("axis", {0}, true, "node_def") +
                      F("next", "AddV2", {"i", "one:output:0"}, Type("T", "DT_INT32")) + body,
                  results) +
         "}";
}

struct Found {
  std::unique_ptr<Graph> graph;
  IterationShapes shapes;
  std::string why(const std::string& name) {
    auto it = shapes.changing.find(graph->FindNode(name)->id);
    return it == shapes.changing.end() ? "" : it->second;
  }
};

Found Find(const std::string& text) {
  Found out;
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status();
  auto graph = ImportGraphDef(*def);
  EXPECT_TRUE(graph.ok()) << graph.status();
  out.graph = *std::move(graph);
  out.shapes = FindIterationShapes(*out.graph);
  return out;
}

const std::string kConcat = "attr { key: 'N' value { i: 2 } } " + Type("Tidx", "DT_INT32") + kFloat;
const std::string kStep = F("product", "MatMul", {"h", "w"}) + F("tanh", "Tanh", {"product:product:0"});

TEST(IterationShapes, AStateThatGrows) {
  Found found =
      Find(Loop(kStep + F("grown", "ConcatV2", {"x", "tanh:y:0", "axis:output:0"}, kConcat) +
                    F("seen", "Cumsum", {"grown:output:0", "axis:output:0"}, kFloat + Type("Tidx", "DT_INT32")),
                {"next:z:0", "grown:output:0", "tanh:y:0", "w"}));
  EXPECT_EQ(found.why("loop"), "loop variable 1 changes its shape from iteration to iteration");
  // What takes or gives a shape that changes, and nothing else.
  EXPECT_EQ(found.shapes.nodes, (std::set<std::string>{"grown", "seen"}));
  // The loop stays outside; what is around it does not.
  MarkOptions options;
  options.min_cluster_size = 1;
  auto marking = MarkForCompilation(*found.graph, options);
  ASSERT_TRUE(marking.ok()) << marking.status();
  EXPECT_EQ(marking->nodes[found.graph->FindNode("loop")->id].reason, found.why("loop"));
  EXPECT_GE(marking->nodes[found.graph->FindNode("after")->id].cluster, 0);
}

TEST(IterationShapes, FewTurns) {
  // Each has its own code.
  const std::string body = kStep + F("grown", "ConcatV2", {"tanh:y:0", "x", "axis:output:0"}, kConcat);
  const std::vector<std::string> results = {"next:z:0", "grown:output:0", "tanh:y:0", "w"};
  Found found = Find(Loop(body, results, 5));
  EXPECT_EQ(found.why("loop"), "");
  EXPECT_TRUE(found.shapes.nodes.empty());
  EXPECT_EQ(Find(Loop(body, results, 5000)).why("loop"),
            "loop variable 1 changes its shape from iteration to iteration");
}

TEST(IterationShapes, AStateThatKeepsItsShape) {
  // Through a shape that is computed, too.
  Found found = Find(Loop(kStep + F("size", "Shape", {"x"}, kFloat + Type("out_type", "DT_INT32")) +
                              F("same", "Reshape", {"x", "size:output:0"}, kFloat + Type("Tshape", "DT_INT32")) +
                              F("more", "Exp", {"same:output:0"}),
                          {"next:z:0", "more:y:0", "tanh:y:0", "w"}));
  EXPECT_EQ(found.why("loop"), "");
  EXPECT_TRUE(found.shapes.nodes.empty());
}

TEST(IterationShapes, AShapeMadeOfTheCounter) {
  Found found =
      Find(Loop(kStep + F("rows", "Range", {"axis:output:0", "i", "one:output:0"}, Type("Tidx", "DT_INT32")) +
                    F("count", "Size", {"rows:output:0"}, Type("T", "DT_INT32") + Type("out_type", "DT_INT32")) +
                    F("next2", "Maximum", {"count:output:0", "next:z:0"}, Type("T", "DT_INT32")),
                {"next2:z:0", "x", "tanh:y:0", "w"}));
  EXPECT_EQ(found.why("loop"), "node 'rows': its shape changes from iteration to iteration of 'iteration'");
  EXPECT_EQ(found.shapes.nodes, (std::set<std::string>{"rows", "count"}));
}

TEST(IterationShapes, BranchesOfDifferentShapes) {
  auto choice = [](const std::string& second) {
    return Input("x", {-1, 4}) + Input("p", {}, "DT_BOOL") + N("q", "LogicalNot", {"p"}, "") +
           N("if", "StatelessIf", {"q", "x"},
             Type("Tcond", "DT_BOOL") +
                 "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: "
                 "DT_FLOAT } } } attr { key: 'then_branch' value { func { name: 'one' } } } attr { key: 'else_branch' "
                 "value { func { name: 'two' } } }") +
           "library { " + Function("one", {"x"}, F("exp", "Exp", {"x"}), {"exp:y:0"}) +
           Function("two", {"x"},
                    Ints("axis", {0}, true, "node_def") + F("exp", "Exp", {"x"}) +
                        F("twice", "ConcatV2", {"x", "x", "axis:output:0"}, kConcat),
                    {second}) +
           "}";
  };
  EXPECT_EQ(Find(choice("twice:output:0")).why("if"), "its branches give different shapes as result 0");
  EXPECT_EQ(Find(choice("exp:y:0")).why("if"), "");
}

TEST(IterationShapes, NumbersThatAreTooLarge) {
  Symbols symbols;
  Size large{-1, kMaxNumber};
  EXPECT_FALSE(symbols.Product(large, large).IsNumber());
  EXPECT_FALSE(symbols.Sum(large, large).IsNumber());
  EXPECT_TRUE(symbols.Difference(large, large).Is(0));
  Size a = symbols.Fresh(false, true), b = symbols.Fresh(true);
  EXPECT_TRUE(symbols.Varies(symbols.Sum(a, b)));
  EXPECT_EQ(symbols.Sum(a, b), symbols.Sum(b, a));
}

}  // namespace
}  // namespace xc
