// Calls, loops, branches, tuples, tokens and random bits.
#include "hlo/stablehlo/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

// The computation that a symbol names.
HloComputation* FunctionOf(OpLowering& op, const Attr* symbol) {
  if (symbol == nullptr) return nullptr;
  if (symbol->kind != Attr::Kind::kSymbol) return op.Fail("expected the name of a function, as in @f"), nullptr;
  HloComputation* computation = op.lowering.FindFunction(symbol->text);
  if (computation == nullptr) op.Fail(absl::StrCat("the function @", symbol->text, " is not defined"));
  return computation;
}

void LowerCall(OpLowering& op) {
  HloComputation* computation = FunctionOf(op, op.attrs.Require("callee"));
  op.attrs.Find("no_inline");
  op.Emit(O::kCall, op.Operands(), {}, {computation});
}

// A call that says in attributes which operation its function stands for.
void LowerComposite(OpLowering& op) {
  HloComputation* computation = FunctionOf(op, op.attrs.Require("decomposition"));
  FrontendAttributes frontend;
  if (const Attr* attributes = op.attrs.Find("composite_attributes"); attributes != nullptr) {
    frontend.emplace_back("composite.attributes", std::string(attributes->source));
  }
  frontend.emplace_back("composite.name", op.attrs.Word("name"));
  frontend.emplace_back("composite.version", absl::StrCat(op.attrs.Int("version", 0)));
  Attributes attributes;
  attributes.Set<A::kIsComposite>(true);
  attributes.Set<A::kFrontendAttributes>(std::move(frontend));
  op.Emit(O::kCall, op.Operands(), std::move(attributes), {computation});
}

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
  HloComputation* condition = op.StateRegion(0, captures, /*pass_on=*/false);
  HloComputation* body = op.StateRegion(1, captures, /*pass_on=*/true);
  if (!op.ok()) return;
  std::vector<Op> state = op.Operands();
  for (const Value* capture : captures) state.push_back(op.lowering.Get(op.frame, capture));
  const Op loop = op.b.While(condition, body, Pack(op.b, state));
  if (!op.ok()) return;
  std::vector<Op> results;
  for (size_t i = 0; i < op.op.results.size(); ++i) {
    results.push_back(state.size() == 1 ? loop : op.b.GetTupleElement(loop, i));
  }
  op.BindEach(results);
}

// if and case: each branch gets the values that the regions use.
void LowerBranches(OpLowering& op) {
  const std::vector<const Value*> captures = op.Captures();
  std::vector<HloComputation*> branches;
  for (size_t i = 0; i < op.op.regions.size(); ++i) {
    if (!op.op.regions[i].arguments.empty()) return op.Fail("its regions should have no arguments");
    branches.push_back(op.StateRegion(i, captures, /*pass_on=*/false));
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

// Where an array lies makes no difference on one device.
void LowerSharding(OpLowering& op) {
  for (const auto& [name, attr] : op.op.attributes) op.attrs.Find(name);
  if (op.op.results.size() > 1) return op.Fail("should have one result at most");
  op.BindEach(op.Operands());
}

// The third operand is the result's shape, which its type says too.
void LowerRng(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kDistribution>(op.attrs.Choice<RandomDistribution>(
      "rng_distribution", {{"UNIFORM", RandomDistribution::kUniform}, {"NORMAL", RandomDistribution::kNormal}}));
  op.Emit(O::kRng, op.Operands(0, 2), std::move(attributes));
}

void LowerRngBitGenerator(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kRngAlgorithm>(
      op.attrs.Choice<RandomAlgorithm>("rng_algorithm", {{"DEFAULT", RandomAlgorithm::kDefault},
                                                         {"THREE_FRY", RandomAlgorithm::kThreeFry},
                                                         {"PHILOX", RandomAlgorithm::kPhilox}}));
  op.Emit(O::kRngBitGenerator, op.Operands(), std::move(attributes));
}

}  // namespace xc::stablehlo
