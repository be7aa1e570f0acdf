// Rules of the verifier that no text can break, since the parser refuses it first: modules are broken by hand here.
#include "hlo/verifier/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/builder/builder.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using E = ElementType;

std::string Message(const HloModule& module, const VerifierOptions& options = {}) {
  return std::string(VerifyModule(module, options).message());
}

// x → n = negate(x) → e = exponential(n), in "main".
struct Chain {
  std::unique_ptr<HloModule> module;
  HloInstruction *x, *n, *e;
};
Chain MakeChain() {
  HloBuilder b("m");
  Op x = b.Parameter(0, Shape(E::kF32, {4}), "x");
  Op n = b.Neg(x), e = b.Exp(n);
  Chain chain{nullptr, x.instruction(), n.instruction(), e.instruction()};
  chain.module = *b.Build(e);
  return chain;
}

TEST(Verifier, AcceptsWhatIsRight) {
  Chain c = MakeChain();
  EXPECT_EQ(VerifyModule(*c.module), absl::OkStatus());
}

TEST(Verifier, CyclesAreNamed) {
  Chain c = MakeChain();
  c.n->ReplaceOperand(0, c.e);
  EXPECT_THAT(Message(*c.module), HasSubstr("depends on itself (negate <- exponential <- "));
}

TEST(Verifier, CyclesThroughControlDependencies) {
  Chain c = MakeChain();
  c.n->AddControlPredecessor(c.e);
  EXPECT_THAT(Message(*c.module), HasSubstr("there should be no cycle"));
}

TEST(Verifier, EntryAndRoots) {
  HloModule module("m");
  EXPECT_THAT(Message(module), HasSubstr("module m has no ENTRY computation"));
  module.set_entry(module.AddComputation("main"));
  EXPECT_THAT(Message(module), HasSubstr("computation main: has no root"));
}

TEST(Verifier, RootOfAnotherComputation) {
  Chain c = MakeChain();
  HloComputation* other = c.module->AddComputation("other");
  HloInstruction* y = other->Add(HloInstruction::CreateParameter(0, Shape(E::kF32, {4}), "y"));
  other->set_root(c.e);
  EXPECT_THAT(Message(*c.module), HasSubstr("computation other: its root is not one of its instructions"));
  other->set_root(y);
  EXPECT_EQ(VerifyModule(*c.module), absl::OkStatus());
}

TEST(Verifier, OperandOfAnotherComputation) {
  Chain c = MakeChain();
  HloComputation* other = c.module->AddComputation("other");
  other->set_root(other->Add(HloOpcode::kNegate, Shape(E::kF32, {4}), {c.x}));
  EXPECT_THAT(Message(*c.module), HasSubstr("operand 0, x, is in computation main, should be in other"));
  other->root()->DetachOperands();
}

TEST(Verifier, MissingOperand) {
  Chain c = MakeChain();
  c.e->ReplaceOperand(0, nullptr);
  EXPECT_THAT(Message(*c.module), HasSubstr("exponential in computation main: operand 0 is missing"));
}

TEST(Verifier, OperandCount) {
  Chain c = MakeChain();
  c.e->AppendOperand(c.x);
  EXPECT_THAT(Message(*c.module), HasSubstr("exponential: has 2 operands, should have 1"));
}

TEST(Verifier, NamesAndIdsAreUnique) {
  Chain c = MakeChain();
  c.e->set_name("negate");
  EXPECT_THAT(Message(*c.module), HasSubstr("there are two instructions of this name"));
  c.e->set_name("e");
  c.e->set_id(c.n->id());
  EXPECT_THAT(Message(*c.module), HasSubstr("there are two instructions with id"));
}

TEST(Verifier, Parameters) {
  Chain c = MakeChain();
  c.x->set_parameter_number(1);
  EXPECT_THAT(Message(*c.module), HasSubstr("has 1 parameters but none of number 0"));
  c.x->set_parameter_number(0);
  c.module->entry()->Add(HloInstruction::CreateParameter(0, Shape(E::kF32, {4}), "y"));
  EXPECT_THAT(Message(*c.module), HasSubstr("has parameter number 0 as x has; it should have its own"));
}

TEST(Verifier, RecursionAndDepth) {
  HloBuilder b("m");
  Shape scalar = Shape::Scalar(E::kF32);
  HloComputation* last = nullptr;
  for (int i = 0; i < 20; ++i) {
    auto sub = b.SubBuilder("level");
    Op x = sub->Parameter(0, scalar, "x");
    last = sub->Finish(last == nullptr ? sub->Neg(x) : sub->Call(last, {x}));
  }
  auto module = *b.Build(b.Call(last, {b.Parameter(0, scalar, "x")}));
  EXPECT_EQ(VerifyModule(*module), absl::OkStatus());
  EXPECT_THAT(Message(*module, {.max_call_depth = 10}), HasSubstr("computations are nested more than 10 deep"));
  HloComputation* first = module->computations()[1].get();
  HloInstruction* call = first->Add(HloOpcode::kCall, scalar, {first->parameter(0)});
  call->AddCalledComputation(last);
  EXPECT_THAT(Message(*module), HasSubstr("computations should not be recursive"));
}

TEST(Verifier, CalledComputationsMustBeInTheModule) {
  Chain c = MakeChain(), other = MakeChain();
  HloInstruction* call = c.module->entry()->Add(HloOpcode::kCall, Shape(E::kF32, {4}), {c.x});
  EXPECT_THAT(Message(*c.module), HasSubstr("call: calls 0 computations, should call 1"));
  call->AddCalledComputation(other.module->entry());
  EXPECT_THAT(Message(*c.module), HasSubstr("calls a computation that is not in the module"));
}

TEST(Verifier, AttributesThatAnOpcodeMustOrMustNotHave) {
  Chain c = MakeChain();
  c.e->set_attr<AttrKind::kDimensions>({0});
  EXPECT_THAT(Message(*c.module), HasSubstr("exponential has attribute dimensions, should not have it"));
  c.e->mutable_attributes()->Erase(AttrKind::kDimensions);
  for (int op = 0; op < kOpcodeCount; ++op) {
    c.e->set_opcode(static_cast<HloOpcode>(op));
    VerifyModule(*c.module).IgnoreError();  // must not abort, whatever is missing
  }
  c.e->set_opcode(HloOpcode::kReverse);
  EXPECT_THAT(Message(*c.module), HasSubstr("reverse: has no attribute dimensions, which it should have"));
}

TEST(Verifier, ConstantsHaveTheirShape) {
  HloBuilder b("m");
  Op one = b.One(E::kF32);
  auto module = *b.Build(one);
  *one.instruction()->mutable_shape() = Shape(E::kF32, {2});
  EXPECT_THAT(Message(*module), HasSubstr("has a value of shape f32[], should be f32[2]"));
  one.instruction()->set_literal(nullptr);
  EXPECT_THAT(Message(*module), HasSubstr("is a constant without a value"));
}

TEST(Verifier, Schedules) {
  Chain c = MakeChain();
  auto& schedule = c.module->schedule()[c.module->entry()];
  schedule = {c.x, c.n};
  EXPECT_THAT(Message(*c.module), HasSubstr("exponential in computation main: is missing in the schedule"));
  schedule = {c.x, c.e, c.n};
  EXPECT_THAT(Message(*c.module), HasSubstr("is scheduled before negate, should be after it"));
  schedule = {c.x, c.n, c.n, c.e};
  EXPECT_THAT(Message(*c.module), HasSubstr("is in the schedule twice"));
  schedule = {c.x, c.n, c.e};
  EXPECT_EQ(VerifyModule(*c.module), absl::OkStatus());
}

TEST(Verifier, EntryLayout) {
  Chain c = MakeChain();
  c.module->config().has_entry_layout = true;
  EXPECT_THAT(Message(*c.module), HasSubstr("entry_computation_layout has 0 parameters, should have 1"));
  c.module->config().entry_parameter_layouts = {Shape(E::kF32, {5})};
  EXPECT_THAT(Message(*c.module), HasSubstr("has f32[5] for parameter 0, should be f32[4]"));
}

TEST(Verifier, InvalidShapes) {
  Chain c = MakeChain();
  *c.x->mutable_shape() = Shape(E::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT(Message(*c.module), HasSubstr("does not fit into 63 bits"));
  *c.x->mutable_shape() = Shape();
  EXPECT_THAT(Message(*c.module), HasSubstr("the shape has no element type"));
}

// The computation of a fusion outlives it until computations are swept, and stays a fusion's.
TEST(Verifier, AFusionMayBeRemovedBeforeItsComputation) {
  auto module = *ParseModule(R"(HloModule m
f { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }
ENTRY e { p = f32[2] parameter(0) g = f32[2] fusion(p), kind=kLoop, calls=f ROOT n = f32[2] negate(p) })");
  EXPECT_TRUE(module->entry()->RemoveDead());
  EXPECT_EQ(VerifyModule(*module), absl::OkStatus());
  const std::unique_ptr<HloModule> copy = module->Clone();
  ASSERT_EQ(copy->computations().size(), 2u);
  for (const auto& computation : copy->computations()) EXPECT_EQ(computation->IsFusion(), !computation->IsEntry());
}

}  // namespace
}  // namespace xc
