// Schedules and buffer assignments of small programs, each checked by playing its reads and writes.
#include "compiler/memory/buffer_assignment.h"

#include "compiler/memory/in_place.h"
#include "compiler/memory/schedule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

const Shape kVec(ElementType::kF32, {256});
const Shape kInt(ElementType::kS32, {});
const Shape kPred(ElementType::kPred, {});

HloInstruction* Param(HloComputation* c, int64_t n, const Shape& s) {
  return c->Add(HloInstruction::CreateParameter(n, s, "p"));
}
HloInstruction* Get(HloComputation* c, HloInstruction* t, int64_t i) {
  HloInstruction* g = c->Add(HloOpcode::kGetTupleElement, t->shape().tuple_shape(i), {t});
  g->set_attr<AttrKind::kIndex>(i);
  return g;
}

BufferAssignment Assign(HloModule* module) {
  EXPECT_TRUE(FlattenCalls(module).ok());
  EXPECT_TRUE(ScheduleModule(module).ok());
  auto assignment = AssignBuffers(module);
  EXPECT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_TRUE(VerifySchedule(module).ok()) << VerifySchedule(module);
  const absl::Status checked = CheckBufferAssignment(module, *assignment);
  EXPECT_TRUE(checked.ok()) << checked << "\n" << assignment->Report();
  return *std::move(assignment);
}

int Count(const HloModule& module, HloOpcode opcode) {
  int count = 0;
  for (const auto& c : module.computations()) {
    for (const auto& i : c->instructions()) count += i->opcode() == opcode;
  }
  return count;
}

TEST(BufferAssignment, ElementwiseChainLivesInTheOutput) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* p = Param(e, 0, kVec);
  HloInstruction* x = p;
  for (int i = 0; i < 5; ++i) x = e->Add(HloOpcode::kNegate, kVec, {x});
  e->set_root(x);
  const BufferAssignment a = Assign(&module);
  EXPECT_EQ(a.arena_bytes(), 0);
  EXPECT_EQ(a.Slice(x).ToString(), "output 0[1024]");
  EXPECT_EQ(a.Slice(p).ToString(), "parameter 0[1024]");
  EXPECT_EQ(Count(module, HloOpcode::kCopy), 0);
}

TEST(BufferAssignment, WhatForwardsHasTheSliceOfItsOperand) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* made = e->Add(HloOpcode::kNegate, kVec, {Param(e, 0, kVec)});
  // Many, so that all that is kept by instruction grows while they are looked at.
  std::vector<HloInstruction*> forwarding = {made};
  for (int i = 0; i < 100; ++i) {
    const Shape shape(ElementType::kF32, {i % 2 == 0 ? 16 : 32, i % 2 == 0 ? 16 : 8});
    forwarding.push_back(e->Add(HloOpcode::kReshape, shape, {forwarding.back()}));
  }
  e->set_root(e->Add(HloOpcode::kCosine, forwarding.back()->shape(), {forwarding.back()}));
  const BufferAssignment a = Assign(&module);
  for (const HloInstruction* i : forwarding) EXPECT_EQ(a.Slice(i).ToString(), a.Slice(made).ToString());
  EXPECT_EQ(a.Slice(made).size, 1024);
}

TEST(BufferAssignment, BroadcastsAreMadeWhenTheyAreNeeded) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* x = Param(e, 0, kVec);
  HloInstruction* scalar = Param(e, 1, Shape(ElementType::kF32, {}));
  for (int i = 0; i < 4; ++i) {
    HloInstruction* broadcast = e->Add(HloOpcode::kBroadcast, kVec, {scalar});
    HloInstruction* wide = e->Add(HloOpcode::kConcatenate, Shape(ElementType::kF32, {4096}), {x});
    HloInstruction* narrow = e->Add(HloOpcode::kDot, kVec, {wide, wide});
    x = e->Add(HloOpcode::kAdd, kVec, {broadcast, narrow});
  }
  e->set_root(x);
  // The wide array, what it is made of or what is made of it, and never a broadcast that waits.
  EXPECT_LE(Assign(&module).arena_bytes(), 4 * (4096 + 256));
}

TEST(BufferAssignment, ParameterAsOutputIsCopied) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* p = Param(e, 0, kVec);
  e->set_root(e->Add(HloOpcode::kTuple, Shape::Tuple({kVec, kVec}), {p, p}));
  const BufferAssignment a = Assign(&module);
  EXPECT_EQ(Count(module, HloOpcode::kCopy), 2);
  EXPECT_EQ(a.OutputSlice(1).ToString(), "output 1[1024]");
}

// A loop over (i, x, y) with a body made by `make`.
template <typename Make>
void BuildLoop(HloModule* module, Make make, bool from_parameters) {
  const Shape state = Shape::Tuple({kInt, kVec, kVec});
  HloComputation* cond = module->AddComputation("cond");
  {
    HloInstruction* s = Param(cond, 0, state);
    HloInstruction* ten = cond->Add(HloInstruction::CreateConstant(Literal::Scalar<int32_t>(ElementType::kS32, 10)));
    HloInstruction* less = cond->Add(HloOpcode::kCompare, kPred, {Get(cond, s, 0), ten});
    less->set_attr<AttrKind::kDirection>(CompareDirection::kLt);
    cond->set_root(less);
  }
  HloComputation* body = module->AddComputation("body");
  {
    HloInstruction* s = Param(body, 0, state);
    HloInstruction* one = body->Add(HloInstruction::CreateConstant(Literal::Scalar<int32_t>(ElementType::kS32, 1)));
    HloInstruction* next = body->Add(HloOpcode::kAdd, kInt, {Get(body, s, 0), one});
    auto [x, y] = make(body, Get(body, s, 1), Get(body, s, 2), Get(body, s, 0));
    body->set_root(body->Add(HloOpcode::kTuple, state, {next, x, y}));
  }
  HloComputation* e = module->AddComputation("e");
  module->set_entry(e);
  HloInstruction* p0 = Param(e, 0, kVec);
  HloInstruction* p1 = Param(e, 1, kVec);
  HloInstruction* zero = e->Add(HloInstruction::CreateConstant(Literal::Scalar<int32_t>(ElementType::kS32, 0)));
  HloInstruction* x = from_parameters ? p0 : e->Add(HloOpcode::kNegate, kVec, {p0});
  HloInstruction* y = from_parameters ? p1 : e->Add(HloOpcode::kNegate, kVec, {p1});
  HloInstruction* init = e->Add(HloOpcode::kTuple, state, {zero, x, y});
  HloInstruction* loop = e->Add(HloOpcode::kWhile, state, {init});
  loop->AddCalledComputation(cond);
  loop->AddCalledComputation(body);
  e->set_root(e->Add(HloOpcode::kTuple, Shape::Tuple({kVec, kVec}), {Get(e, loop, 1), Get(e, loop, 2)}));
}

TEST(BufferAssignment, LoopStateIsUpdatedInPlace) {
  HloModule module("m");
  BuildLoop(
      &module,
      [](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction* i) {
        HloInstruction* row = b->Add(HloOpcode::kSlice, Shape(ElementType::kF32, {1}), {x});
        row->set_attr<AttrKind::kSlice>({{0}, {1}, {1}});
        return std::make_pair(b->Add(HloOpcode::kDynamicUpdateSlice, kVec, {x, row, i}), y);
      },
      false);
  const BufferAssignment a = Assign(&module);
  // y never changes: only the counter's constant is copied into its state, and y into its output.
  EXPECT_EQ(Count(module, HloOpcode::kCopy), 1) << module.entry()->name();
  EXPECT_LE(a.arena_bytes(), 4 * 64) << a.Report();
}

TEST(BufferAssignment, SwappedStateNeedsCopies) {
  HloModule module("m");
  BuildLoop(
      &module, [](HloComputation*, HloInstruction* x, HloInstruction* y, HloInstruction*) { return std::pair(y, x); },
      true);
  const BufferAssignment a = Assign(&module);
  // Two into the loop, two or three around it, the counter.
  EXPECT_GE(Count(module, HloOpcode::kCopy), 5);
  EXPECT_LE(Count(module, HloOpcode::kCopy), 6);
  EXPECT_EQ(a.outputs().size(), 2u);
}

TEST(BufferAssignment, LateReaderOfStateKeepsACopyOrComesFirst) {
  HloModule module("m");
  BuildLoop(
      &module,
      [](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction*) {
        // Both new states read both old ones.
        return std::make_pair(b->Add(HloOpcode::kAdd, kVec, {x, y}), b->Add(HloOpcode::kSubtract, kVec, {x, y}));
      },
      false);
  const BufferAssignment a = Assign(&module);
  EXPECT_LE(Count(module, HloOpcode::kCopy), 2);
  EXPECT_LE(a.arena_bytes(), 1024 + 4 * 64) << a.Report();
}

TEST(BufferAssignment, DonatedParameterHoldsItsOutput) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* p = Param(e, 0, kVec);
  HloInstruction* q = Param(e, 1, kVec);
  e->set_root(e->Add(HloOpcode::kTuple, Shape::Tuple({kVec, kVec}), {e->Add(HloOpcode::kAdd, kVec, {p, q}), p}));
  module.config().input_output_alias.push_back({{0}, 0, {}, false});
  const BufferAssignment a = Assign(&module);
  EXPECT_EQ(a.OutputSlice(0).ToString(), "parameter 0[1024]");
  EXPECT_TRUE(a.parameters()[0].donated);
  EXPECT_FALSE(a.parameters()[1].donated);
  EXPECT_EQ(a.OutputSlice(1).ToString(), "output 1[1024]");
}

TEST(BufferAssignment, BranchesWriteTheResultDirectly) {
  HloModule module("m");
  HloComputation* t = module.AddComputation("t");
  t->set_root(t->Add(HloOpcode::kNegate, kVec, {Param(t, 0, kVec)}));
  HloComputation* f = module.AddComputation("f");
  f->set_root(Param(f, 0, kVec));
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* p = Param(e, 0, kPred);
  HloInstruction* q = Param(e, 1, kVec);
  HloInstruction* c = e->Add(HloOpcode::kConditional, kVec, {p, q, q});
  c->AddCalledComputation(t);
  c->AddCalledComputation(f);
  e->set_root(c);
  const BufferAssignment a = Assign(&module);
  EXPECT_EQ(a.Slice(t->root()).ToString(), "output 0[1024]");
  EXPECT_EQ(f->root()->opcode(), HloOpcode::kCopy);
  EXPECT_EQ(a.arena_bytes(), 0);
}

// A branch over (i, x) that updates one element of x.
HloComputation* Updates(HloModule* module) {
  HloComputation* c = module->AddComputation("updates");
  HloInstruction* p = Param(c, 0, Shape::Tuple({kInt, kVec}));
  HloInstruction* one = c->Add(HloOpcode::kSlice, Shape(ElementType::kF32, {1}), {Get(c, p, 1)});
  one->set_attr<AttrKind::kSlice>({{0}, {1}, {1}});
  c->set_root(c->Add(HloOpcode::kDynamicUpdateSlice, kVec, {Get(c, p, 1), one, Get(c, p, 0)}));
  return c;
}

// conditional(i == i, (i, x), (i, x)) with two branches.
HloInstruction* Choose(HloComputation* b, HloInstruction* i, HloInstruction* x, HloComputation* yes,
                       HloComputation* no) {
  HloInstruction* same = b->Add(HloOpcode::kCompare, kPred, {i, i});
  same->set_attr<AttrKind::kDirection>(CompareDirection::kEq);
  HloInstruction* argument = b->Add(HloOpcode::kTuple, Shape::Tuple({kInt, kVec}), {i, x});
  HloInstruction* c = b->Add(HloOpcode::kConditional, kVec, {same, argument, argument});
  c->AddCalledComputation(yes);
  c->AddCalledComputation(no);
  return c;
}

// A branch (i, x) -> Choose of two updates.
HloComputation* ChoosesUpdates(HloModule* module) {
  HloComputation* outer = module->AddComputation("outer");
  HloInstruction* p = Param(outer, 0, Shape::Tuple({kInt, kVec}));
  outer->set_root(Choose(outer, Get(outer, p, 0), Get(outer, p, 1), Updates(module), Updates(module)));
  return outer;
}

TEST(BufferAssignment, BranchesUpdateALoopsStateInPlace) {
  HloModule module("m");
  HloComputation *first = Updates(&module), *second = Updates(&module);
  BuildLoop(
      &module,
      [&](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction* i) {
        return std::make_pair(Choose(b, i, x, first, second), y);
      },
      false);
  const BufferAssignment a = Assign(&module);
  EXPECT_EQ(Count(module, HloOpcode::kCopy), 1) << a.Report();  // the counter, into its state
  EXPECT_EQ(a.Slice(first->root()).ToString(), a.Slice(first->root()->operand(0)).ToString());
  EXPECT_EQ(a.Slice(second->root()).ToString(), a.Slice(second->root()->operand(0)).ToString());
}

TEST(BufferAssignment, ABranchThatPassesTheStateOnCopiesNothing) {
  HloModule module("m");
  HloComputation* passes = module.AddComputation("passes");
  passes->set_root(Get(passes, Param(passes, 0, Shape::Tuple({kInt, kVec})), 1));
  HloComputation* updates = Updates(&module);
  BuildLoop(
      &module,
      [&](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction* i) {
        return std::make_pair(Choose(b, i, x, updates, passes), y);
      },
      false);
  EXPECT_EQ((Assign(&module), Count(module, HloOpcode::kCopy)), 1);
}

TEST(BufferAssignment, BranchesInBranchesUpdateInPlace) {
  HloModule module("m");
  HloComputation *outer = ChoosesUpdates(&module), *updates = Updates(&module);
  BuildLoop(
      &module,
      [&](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction* i) {
        return std::make_pair(Choose(b, i, x, outer, updates), y);
      },
      false);
  EXPECT_EQ((Assign(&module), Count(module, HloOpcode::kCopy)), 1);
}

TEST(BufferAssignment, WhatIsNeededAfterABranchIsNotWrittenOver) {
  HloModule module("m");
  HloComputation *outer = ChoosesUpdates(&module), *updates = Updates(&module);
  BuildLoop(
      &module,
      [&](HloComputation* b, HloInstruction* x, HloInstruction* y, HloInstruction* i) {
        HloInstruction* chosen = Choose(b, i, x, outer, updates);
        return std::make_pair(chosen, b->Add(HloOpcode::kAdd, kVec, {chosen, x}));
      },
      false);
  const BufferAssignment a = Assign(&module);  // plays it: x is read after each of the branches
  for (const auto& c : module.computations()) {
    const HloInstruction* root = c->root();
    if (root->opcode() != HloOpcode::kDynamicUpdateSlice) continue;
    EXPECT_NE(a.Slice(root).ToString(), a.Slice(root->operand(0)).ToString()) << c->name();
  }
}

TEST(BufferAssignment, CheckerSeesAnOverwrittenValue) {
  HloModule module("m");
  HloComputation* e = module.AddComputation("e");
  module.set_entry(e);
  HloInstruction* p = Param(e, 0, kVec);
  HloInstruction* x = e->Add(HloOpcode::kNegate, kVec, {p});
  HloInstruction* y = e->Add(HloOpcode::kAbs, kVec, {x});
  e->set_root(e->Add(HloOpcode::kTanh, kVec, {y}));
  const BufferAssignment a = Assign(&module);
  // The same slices under another program: `x` is read once more after `y` took its place.
  HloInstruction* late = e->Add(HloOpcode::kAdd, kVec, {e->root()->operand(0), x});
  (void)late;
  module.schedule()[e].push_back(late);
  EXPECT_THAT(std::string(CheckBufferAssignment(&module, a).message()), ::testing::HasSubstr("would read"));
}

}  // namespace
}  // namespace xc
