// v1 control flow back in functional form: loops, nested loops, conditionals, and what is left alone with a reason.
#include "jit/graph/transforms/functionalize.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace xc {
namespace {

// One node per line: "name Op input input … ! attr=type …"; a type attribute or a string.
std::unique_ptr<Graph> Load(const std::string& text) {
  GraphDef def;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    NodeDef* node = def.add_node();
    node->set_name(words[0]);
    node->set_op(words[1]);
    for (size_t i = 2; i < words.size(); ++i) {
      std::vector<std::string> parts = absl::StrSplit(words[i], '=');
      if (parts.size() == 1) {
        node->add_input(words[i]);
      } else if (parts[0] == "frame_name") {
        (*node->mutable_attr())[parts[0]].set_s(parts[1]);
      } else if (parts[0] == "N") {
        (*node->mutable_attr())[parts[0]].set_i(2);
      } else if (parts[0] == "value") {
        TensorProto* t = (*node->mutable_attr())["value"].mutable_tensor();
        t->set_dtype(DT_INT32);
        t->mutable_tensor_shape();
        t->add_int_val(std::stoi(parts[1]));
      } else {
        (*node->mutable_attr())[parts[0]].set_type(DataTypeFromEnumName(parts[1]));
      }
    }
  }
  auto graph = ImportGraphDef(def);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : nullptr;
}

int Count(const Graph& graph, const std::string& op) {
  int n = 0;
  for (int id = 0; id < graph.size(); ++id) n += graph.has(id) && graph.node(id).op == op;
  return n;
}

const Node* Only(const Graph& graph, const std::string& op) {
  const Node* found = nullptr;
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id) && graph.node(id).op == op) found = &graph.node(id);
  }
  EXPECT_EQ(Count(graph, op), 1) << op;
  return found;
}

std::shared_ptr<const Graph> Function(const Graph& graph, const Node& node, const std::string& attr) {
  auto name = node.Func(attr);
  EXPECT_TRUE(name.ok()) << name.status();
  auto body = graph.library()->Instantiate(*name, graph.library());
  EXPECT_TRUE(body.ok()) << body.status();
  return *body;
}

// i = 0; while (i < n) i = i + 1; with `body` between, which gives the next value from "sw:1".
std::string Loop(const std::string& next, const std::string& extra = "") {
  return absl::StrCat(R"(
    n Placeholder dtype=int32
    zero Const dtype=int32 value=0
    ei Enter zero T=int32 frame_name=w
    en Enter n T=int32 frame_name=w
    mi Merge ei ni T=int32 N=2
    mn Merge en nn T=int32 N=2
    lt Less mi mn T=int32
    c LoopCond lt
    si Switch mi c T=int32
    sn Switch mn c T=int32
    pivot Identity si:1 T=int32
    one Const ^pivot dtype=int32 value=1
    add AddV2 si:1 one T=int32
    ni NextIteration )",
                      next, R"( T=int32
    nn NextIteration sn:1 T=int32
    xi Exit si T=int32
    out Identity xi T=int32
    )",
                      extra);
}

TEST(Functionalize, ALoop) {
  auto graph = Load(Loop("add"));
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->irregular, 0);
  const Node* loop = Only(*graph, "StatelessWhile");
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(result->made.at(loop->name), "w");
  EXPECT_EQ(Count(*graph, "Merge") + Count(*graph, "Enter") + Count(*graph, "Exit"), 0);
  EXPECT_EQ(graph->FindNode("out")->inputs[0], (OutputRef{loop->id, 0}));
  auto body = Function(*graph, *loop, "body");
  EXPECT_EQ(body->Args().size(), 2u);
  EXPECT_EQ(body->Retvals().size(), 2u);
  EXPECT_EQ(Count(*body, "AddV2"), 1);
  EXPECT_EQ(Count(*Function(*graph, *loop, "cond"), "Less"), 1);
}

TEST(Functionalize, LoopsInLoops) {
  auto graph = Load(Loop("xj", R"(
    ej Enter add T=int32 frame_name=inner
    em Enter sn:1 T=int32 frame_name=inner
    mj Merge ej nj T=int32 N=2
    ltj Less mj em T=int32
    cj LoopCond ltj
    sj Switch mj cj T=int32
    two Const ^sj dtype=int32 value=2
    mul AddV2 sj:1 two T=int32
    nj NextIteration mul T=int32
    xj Exit sj T=int32
    )"));
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->irregular, 0);
  auto body = Function(*graph, *Only(*graph, "StatelessWhile"), "body");
  const Node* inner = Only(*body, "StatelessWhile");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->inputs.size(), 2u);  // its variable and the value that enters unchanged
  EXPECT_EQ(Count(*Function(*body, *inner, "body"), "AddV2"), 1);
}

constexpr char kBranches[] = R"(
    p Placeholder dtype=bool
    x Placeholder dtype=float
    s Switch x p T=float
    sp Switch p p T=bool
    yes Identity sp:1 T=bool
    no Identity sp T=bool
    neg Neg s:1 T=float
    exp Exp s T=float
    m Merge exp neg T=float N=2
    )";

TEST(Functionalize, AConditionalWithSeveralResults) {
  auto graph = Load(absl::StrCat(kBranches, R"(
    a Const ^yes dtype=int32 value=7
    b Const ^no dtype=int32 value=8
    m2 Merge b a T=int32 N=2
    index Neg m:1 T=int32
    after Neg m T=float
    )"));
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  const Node* branch = Only(*graph, "StatelessIf");
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->num_outputs(), 4);  // two values, and which side each took
  EXPECT_EQ(graph->FindNode("after")->inputs[0], (OutputRef{branch->id, 0}));
  EXPECT_EQ(graph->FindNode("index")->inputs[0].node, branch->id);
  EXPECT_EQ(Count(*graph, "Switch") + Count(*graph, "Neg"), 2);
  EXPECT_EQ(Count(*Function(*graph, *branch, "then_branch"), "Neg"), 1);
  EXPECT_EQ(Count(*Function(*graph, *branch, "else_branch"), "Exp"), 1);
}

TEST(Functionalize, ConditionalsInARowOnOneSelector) {
  auto graph = Load(absl::StrCat(kBranches, R"(
    between Sin m T=float
    t Switch between p T=float
    u Neg t:1 T=float
    m3 Merge t u T=float N=2
    after Neg m3 T=float
    )"));
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Count(*graph, "StatelessIf"), 2);
  EXPECT_TRUE(graph->TopologicalOrder().ok());
}

TEST(Functionalize, IrregularControlFlowStaysWithAReason) {
  // A value leaves the loop that is no loop variable.
  auto graph = Load(Loop("add", R"(
    sq Mul mi mi T=int32
    ss Switch sq c T=int32
    xs Exit ss T=int32
    far Neg xs T=int32
    )"));
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->irregular, 1);
  EXPECT_EQ(Count(*graph, "Merge"), 2);
  EXPECT_NE(graph->FindNode("mi")->pinned.find("node 'xs' (Exit) gives a value that is no loop variable"),
            std::string::npos)
      << graph->FindNode("mi")->pinned;
  // Nodes that do not run together must not share a cluster.
  EXPECT_NE(graph->FindNode("add")->region, graph->FindNode("lt")->region);
  EXPECT_NE(graph->FindNode("add")->region, 0);
  EXPECT_EQ(graph->FindNode("far")->region, 0);
}

TEST(Functionalize, WhatIsToBeKeptIsKept) {
  auto graph = Load(Loop("add"));
  FunctionalizeOptions options;
  options.keep = {{"w", "no lowering"}};
  auto result = FunctionalizeControlFlow(*graph, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->made.empty());
  EXPECT_EQ(Count(*graph, "Enter"), 2);
}

// What v1 gradients of a condition in a loop look like: a push in one branch, and a trigger that waits for it.
TEST(Functionalize, TriggerWaitsForTheConditional) {
  auto graph = Load(R"(
    p Placeholder dtype=bool
    x Placeholder dtype=float
    most Const dtype=int32 value=5
    st StackV2 most elem_type=float
    sh Switch st p T=resource
    sx Switch x p T=float
    push StackPushV2 sh:1 sx:1 T=float
    neg Neg sx:1 T=float
    m Merge sx neg T=float N=2
    sync ControlTrigger ^push
    out Identity m ^sync T=float)");
  auto result = FunctionalizeControlFlow(*graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->irregular, 0);
  const Node* conditional = Only(*graph, "If");
  ASSERT_NE(conditional, nullptr);
  EXPECT_EQ(graph->FindNode("sync")->control_inputs, std::vector<int>{conditional->id});
  EXPECT_EQ(Count(*graph, "Switch") + Count(*graph, "StackPushV2"), 0);
  EXPECT_EQ(Count(*Function(*graph, *conditional, "then_branch"), "StackPushV2"), 1);
}

TEST(Functionalize, SumWithOneWrittenElementIsAWrite) {
  auto graph = Load(R"(
    a Placeholder dtype=variant
    n Placeholder dtype=int32
    i Placeholder dtype=int32
    x Placeholder dtype=float
    r TensorListReserve n n element_dtype=float shape_type=int32
    s TensorListSetItem r i x element_dtype=float
    sum AddN a s T=variant N=2
    out Identity sum T=variant)");
  ASSERT_TRUE(FunctionalizeControlFlow(*graph).ok());
  EXPECT_EQ(Count(*graph, "AddN") + Count(*graph, "TensorListReserve"), 0);
  const Node* write = Only(*graph, "TensorListSetItem");
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(graph->FindNode("out")->inputs[0].node, write->id);
  EXPECT_EQ(graph->node(write->inputs[0].node).name, "a");
  EXPECT_EQ(graph->node(write->inputs[2].node).op, "AddV2");
}

// Two written lists: one stays, the other is written to it. A list that is used elsewhere stays as well.
TEST(Functionalize, SumOfWrittenLists) {
  auto graph = Load(R"(
    n Placeholder dtype=int32
    x Placeholder dtype=float
    r TensorListReserve n n element_dtype=float shape_type=int32
    s TensorListSetItem r n x element_dtype=float
    r2 TensorListReserve n n element_dtype=float shape_type=int32
    s2 TensorListSetItem r2 n x element_dtype=float
    sum AddN s s2 T=variant N=2
    r3 TensorListReserve n n element_dtype=float shape_type=int32
    s3 TensorListSetItem r3 n x element_dtype=float
    twice AddN s3 s3 T=variant N=2
    out Identity sum T=variant
    other Identity twice T=variant)");
  ASSERT_TRUE(FunctionalizeControlFlow(*graph).ok());
  EXPECT_EQ(Count(*graph, "AddN"), 1);
  EXPECT_EQ(Count(*graph, "TensorListReserve"), 2);
}

TEST(Functionalize, ASumOfListsOfVariantsStays) {
  auto graph = Load(R"(
    a Placeholder dtype=variant
    n Placeholder dtype=int32
    x Placeholder dtype=variant
    r TensorListReserve n n element_dtype=variant shape_type=int32
    s TensorListSetItem r n x element_dtype=variant
    sum AddN a s T=variant N=2
    out Identity sum T=variant)");
  ASSERT_TRUE(FunctionalizeControlFlow(*graph).ok());
  EXPECT_EQ(Count(*graph, "AddN"), 1);
  EXPECT_EQ(Count(*graph, "AddV2"), 0);
}

}  // namespace
}  // namespace xc
