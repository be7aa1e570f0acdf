// Calls, loops, branches, tuples, tokens and random bits.
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

void LowerCall(OpLowering& op) {
  op.attrs.Find("no_inline");
  op.Call(op.attrs.Require("callee"), {});
}

// A call that says in attributes which operation its function stands for.
void LowerComposite(OpLowering& op) {
  const Attr* decomposition = op.attrs.Require("decomposition");
  FrontendAttributes frontend;
  if (const Attr* attributes = op.attrs.Find("composite_attributes"); attributes != nullptr) {
    frontend.emplace_back("composite.attributes", std::string(attributes->source));
  }
  frontend.emplace_back("composite.name", op.attrs.Word("name"));
  frontend.emplace_back("composite.version", absl::StrCat(op.attrs.Int("version", 0)));
  Attributes attributes;
  attributes.Set<A::kIsComposite>(true);
  attributes.Set<A::kFrontendAttributes>(std::move(frontend));
  op.Call(decomposition, std::move(attributes));
}

namespace {

// What the loop hands on unchanged is known inside of it, and afterwards, if it is known before.
void KeepKnown(OpLowering& op) {
  const Region &condition = op.op.regions[0], &body = op.op.regions[1];
  if (!op.lowering.refines() || body.operations.empty()) return;
  const std::vector<Value*>& next = body.operations.back()->operands;
  for (size_t i = 0; i < body.arguments.size() && i < next.size(); ++i) {
    const KnownPtr known = op.known(static_cast<int64_t>(i));
    if (known == nullptr || next[i] != body.arguments[i]) continue;
    op.frame.known.emplace(condition.arguments[i], known);
    op.frame.known.emplace(body.arguments[i], known);
    op.SetKnown(static_cast<int64_t>(i), known);
  }
}

}  // namespace

// Values from outside that the regions use become part of the loop's state.
void LowerWhile(OpLowering& op) {
  const std::vector<const Value*> captures = op.Captures();
  if (op.op.results.size() != op.op.operands.size()) return op.Fail("should have a result for each operand");
  for (const Region& region : op.op.regions) {
    bool same = region.arguments.size() == op.op.operands.size();
    for (size_t i = 0; same && i < region.arguments.size(); ++i) {
      same = region.arguments[i]->shape == op.op.operands[i]->shape;
    }
    if (!same) return op.Fail("the arguments of its regions should have the types of its operands");
  }
  std::vector<Op> state = op.Operands();
  KeepKnown(op);
  HloComputation* condition = op.StateRegion(0, state, captures, /*pass_on=*/false);
  HloComputation* body = op.StateRegion(1, state, captures, /*pass_on=*/true);
  if (!op.ok()) return;
  for (const Value* capture : captures) state.push_back(op.lowering.Get(op.frame, capture));
  const Op loop = op.b.While(condition, body, Pack(op.b, state));
  if (!op.ok()) return;
  std::vector<Op> results;
  for (size_t i = 0; i < op.op.results.size(); ++i) {
    results.push_back(state.size() == 1 ? loop : op.b.GetTupleElement(loop, i));
  }
  op.BindEach(results);
}

// if and case: each branch gets the values that the regions use. Where the selector is known, its branch is all.
void LowerBranches(OpLowering& op) {
  for (const Region& region : op.op.regions) {
    if (!region.arguments.empty()) return op.Fail("its regions should have no arguments");
  }
  if (const KnownPtr selector = op.known(0); selector != nullptr && selector->dims.empty() && !op.op.regions.empty()) {
    const int64_t last = static_cast<int64_t>(op.op.regions.size()) - 1, value = selector->values[0];
    if (selector->type == ElementType::kPred) return op.InlineRegion(value != 0 ? 0 : last);
    return op.InlineRegion(value < 0 || value > last ? last : value);
  }
  const std::vector<const Value*> captures = op.Captures();
  std::vector<HloComputation*> branches;
  for (size_t i = 0; i < op.op.regions.size(); ++i) {
    branches.push_back(op.StateRegion(i, {}, captures, /*pass_on=*/false));
  }
  if (!op.ok()) return;
  std::vector<Op> state;
  for (const Value* capture : captures) state.push_back(op.lowering.Get(op.frame, capture));
  std::vector<Op> operands = {op.in(0)};
  operands.resize(1 + branches.size(), Pack(op.b, state));
  op.Emit(O::kConditional, operands, {}, branches);
}

void LowerGetTupleElement(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kIndex>(op.attrs.Int("index"));
  op.Emit(O::kGetTupleElement, op.Operands(), std::move(attributes));
}

void LowerBarrier(OpLowering& op) {
  if (op.op.operands.empty()) return;
  if (op.op.results.size() != op.op.operands.size()) return op.Fail("should have a result for each operand");
  op.Bind(op.b.OptBarrier(Pack(op.b, op.Operands())));
}

// The third operand is the result's shape, which its type may say too.
void LowerRng(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kDistribution>(op.attrs.Choice<RandomDistribution>(
      "rng_distribution", {{"UNIFORM", RandomDistribution::kUniform}, {"NORMAL", RandomDistribution::kNormal}}));
  if (!op.result().has_unknown_size()) return op.Emit(O::kRng, op.Operands(0, 2), std::move(attributes));
  const Shape shape(op.result().type(), ResultSizes(op, 2));
  if (op.ok()) op.Bind(op.b.Make(O::kRng, op.Operands(0, 2), std::move(attributes), {}, &shape));
}

RandomAlgorithm RngAlgorithm(OpLowering& op) {
  return op.attrs.Choice<RandomAlgorithm>("rng_algorithm", {{"DEFAULT", RandomAlgorithm::kDefault},
                                                            {"THREE_FRY", RandomAlgorithm::kThreeFry},
                                                            {"PHILOX", RandomAlgorithm::kPhilox}});
}

void LowerRngBitGenerator(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kRngAlgorithm>(RngAlgorithm(op));
  op.Emit(O::kRngBitGenerator, op.Operands(), std::move(attributes));
}

}  // namespace xc::stablehlo
