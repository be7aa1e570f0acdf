// The generator's frame: choices, leaves, the pool, outputs and layouts.
#include "tests/fuzz/module_generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/evaluator.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

using E = ElementType;

struct Family {
  int weight;
  void (ModuleGenerator::*make)();
};

}  // namespace

ModuleGenerator::ModuleGenerator(uint64_t seed, const RandomModuleOptions& options)
    : random_(seed * 0x9E3779B97F4A7C15 + 1), options_(options), b_(absl::StrCat("random_", seed)) {}

E ModuleGenerator::AnyType() {
  if (Chance(50)) return OneOf({E::kF32, E::kS32, E::kBF16, E::kPred, E::kF64, E::kF16, E::kU8, E::kS64, E::kC64});
  return OneOf({E::kS2,        E::kS4,       E::kS8,         E::kS16,      E::kU2,         E::kU4,
                E::kU16,       E::kU32,      E::kU64,        E::kC128,     E::kF8E5M2,     E::kF8E4M3FN,
                E::kF8E4M3,    E::kF8E3M4,   E::kF8E5M2FNUZ, E::kF6E2M3FN, E::kF8E4M3FNUZ, E::kF8E4M3B11FNUZ,
                E::kF8E8M0FNU, E::kF4E2M1FN, E::kF6E3M2FN,   E::kS1,       E::kU1});
}

E ModuleGenerator::IntType() {
  if (Chance(40)) return E::kS32;
  return OneOf({E::kS2, E::kS4, E::kS8, E::kS16, E::kS64, E::kU2, E::kU4, E::kU8, E::kU16, E::kU32, E::kU64});
}

E ModuleGenerator::FloatType() {
  if (Chance(70)) return OneOf({E::kF32, E::kF32, E::kBF16, E::kF16, E::kF64});
  return OneOf({E::kF8E5M2, E::kF8E4M3FN, E::kF8E4M3, E::kF8E3M4, E::kF8E5M2FNUZ, E::kF6E2M3FN, E::kF8E4M3FNUZ,
                E::kF8E4M3B11FNUZ, E::kF4E2M1FN, E::kF6E3M2FN});
}

E ModuleGenerator::ArithmeticType() { return Chance(50) ? IntType() : FloatType(); }

E ModuleGenerator::IndexType() { return OneOf({E::kS32, E::kS32, E::kS64, E::kU32, E::kS8, E::kU8, E::kU64}); }

Dims ModuleGenerator::SomeDims(int64_t least_rank) {
  const int64_t rank = std::max<int64_t>(least_rank, Chance(5) ? Below(9) : Below(4));
  Dims dims;
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = OneOf<int64_t>({1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33, 70});
    if (Chance(1)) size = 0;
    if (elements * size > options_.max_elements) size = elements * 2 <= options_.max_elements ? 2 : 1;
    elements *= std::max<int64_t>(size, 1);
    dims.push_back(size);
  }
  if (rank > 1 && Chance(50)) std::swap(dims[0], dims[Below(rank)]);
  return dims;
}

Dims ModuleGenerator::Permutation(int64_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = rank - 1; i > 0; --i) std::swap(order[i], order[Below(i + 1)]);
  return order;
}

RandomValue ModuleGenerator::LeafOf(Literal literal) {
  const int64_t kind = Below(10);
  Op op;
  auto shared = std::make_shared<const Literal>(std::move(literal));
  if (kind < 7) {
    const int64_t number = static_cast<int64_t>(inputs_.size());
    op = b_.Parameter(number, shared->shape(), absl::StrCat("p", number));
    inputs_.push_back(shared->Clone());
  } else {
    op = b_.Constant(shared);
  }
  RandomValue value{op, shared, {}, FactsOf(*shared)};
  if (op) known_[op.instruction()] = shared;
  pool_.push_back(value);
  return value;
}

RandomValue ModuleGenerator::Leaf(E type, const Dims& dims, LiteralStyle style) {
  if (!dims.empty() && Chance(12)) {
    RandomValue scalar = LeafOf(RandomLiteral(Shape::Scalar(type), style, random_));
    if (auto full = Keep(b_.Broadcast(scalar.op, dims, {}))) return *full;
  }
  return LeafOf(RandomLiteral(Shape(type, dims), style, random_));
}

RandomValue ModuleGenerator::Like(E type, const Dims& dims, const Filter& ok, LiteralStyle style) {
  const int64_t size = static_cast<int64_t>(pool_.size());
  for (int tries = 0; size > 0 && tries < 12; ++tries) {
    const RandomValue& value = pool_[Chance(50) ? size - 1 - Below(std::min<int64_t>(size, 4)) : Below(size)];
    if (value.type() == type && value.dims() == dims && (!ok || ok(value))) return value;
  }
  return Leaf(type, dims, style);
}

RandomValue ModuleGenerator::Pick(const Filter& ok, E type, LiteralStyle style, int64_t least_rank) {
  const int64_t size = static_cast<int64_t>(pool_.size());
  if (Chance(85)) {
    for (int tries = 0; size > 0 && tries < 8; ++tries) {
      const RandomValue& value = pool_[Chance(60) ? size - 1 - Below(std::min<int64_t>(size, 4)) : Below(size)];
      if (value.rank() >= least_rank && (!ok || ok(value))) return value;
    }
  }
  return Leaf(type, SomeDims(least_rank), style);
}

RandomValue ModuleGenerator::Indices(const Dims& dims, int64_t bound) {
  Literal literal(Shape(IndexType(), dims));
  for (int64_t i = 0; i < literal.size(); ++i) literal.SetInt(i, Between(-1, bound));
  return LeafOf(std::move(literal));
}

ErrorBound ModuleGenerator::Rounded(E type, double magnitude, double error) {
  return {error + UlpAt(type, magnitude + error), 0};
}

ErrorBound ModuleGenerator::Worst(const ErrorBound& a, const ErrorBound& b) {
  return {std::max(a.absolute, b.absolute), std::max(a.relative, b.relative)};
}

bool ModuleGenerator::Evaluate(Op op) {
  if (!op || !b_.ok() || !status_.ok()) return false;
  std::vector<const Literal*> operands;
  if (known_.contains(op.instruction())) return true;
  if (op.instruction()->IsConstant()) {
    known_[op.instruction()] = op.instruction()->shared_literal();
    return true;
  }
  for (HloInstruction* operand : op.instruction()->operands()) {
    if (!Evaluate(operand)) return false;
    operands.push_back(known_[operand].get());
  }
  absl::StatusOr<Literal> literal = Evaluator().EvaluateInstruction(*op.instruction(), operands);
  if (!literal.ok()) {
    status_ = absl::Status(literal.status().code(),
                           absl::StrCat("evaluating ", op.instruction()->ToString(), ": ", literal.status().message()));
    return false;
  }
  known_[op.instruction()] = std::make_shared<const Literal>(*std::move(literal));
  return true;
}

std::optional<RandomValue> ModuleGenerator::Keep(Op op, ErrorBound error) {
  if (!Evaluate(op)) return {};
  const auto& literal = known_[op.instruction()];
  RandomValue value{op, literal, error, FactsOf(*literal)};
  if (!error.exact()) {
    // Near the ends of its range one right result may be finite and another infinite.
    if (value.facts.max_abs + value.Error() > FactsOf(op.type()).max_finite / 4) return {};
    if (value.Error() > 0.05 * value.facts.max_abs) {
      outputs_.push_back(value);
      return value;
    }
  }
  pool_.push_back(value);
  return value;
}

std::optional<RandomValue> ModuleGenerator::Element(Op tuple, int64_t index, ErrorBound error) {
  return Keep(b_.GetTupleElement(tuple, index), error);
}

absl::StatusOr<RandomModule> ModuleGenerator::Make() {
  using G = ModuleGenerator;
  static constexpr Family kFamilies[] = {
      {10, &G::Unary},           {6, &G::InexactUnary},      {14, &G::Binary},
      {3, &G::InexactBinary},    {2, &G::ComplexArithmetic}, {8, &G::CompareAndSelect},
      {2, &G::ClampValue},       {8, &G::Conversion},        {3, &G::BitcastConversion},
      {2, &G::Rounding},         {6, &G::Broadcasting},      {7, &G::Reshaping},
      {7, &G::Transposing},      {6, &G::Slicing},           {5, &G::Padding},
      {5, &G::Concatenating},    {2, &G::Counting},          {5, &G::DynamicSlicing},
      {4, &G::Gathering},        {4, &G::Scattering},        {8, &G::Reducing},
      {3, &G::VariadicReducing}, {4, &G::WindowReducing},    {2, &G::SelectScattering},
      {3, &G::Sorting},          {2, &G::TakingTop},         {2, &G::Scanning},
      {6, &G::Products},         {4, &G::Convolving},        {6, &G::Looping},
      {3, &G::Branching},        {2, &G::Calling},           {2, &G::Mapping},
      {3, &G::Fusing},           {2, &G::Pairing},           {3, &G::Passing},
      {2, &G::Communicating},    {2, &G::BoundedSizes},      {2, &G::Transforming},
      {2, &G::Solving},          {1, &G::Normalizing},       {1, &G::RandomBits},
  };
  static const int kTotal = std::accumulate(std::begin(kFamilies), std::end(kFamilies), 0,
                                            [](int sum, const Family& family) { return sum + family.weight; });
  const int64_t steps = Between(1, options_.max_steps);
  for (int64_t step = 0; step < steps && status_.ok() && b_.ok(); ++step) {
    int64_t at = Below(kTotal);
    for (const Family& family : kFamilies) {
      at -= family.weight;
      if (at < 0) {
        (this->*family.make)();
        break;
      }
    }
  }
  XC_RETURN_IF_ERROR(status_);
  XC_RETURN_IF_ERROR(b_.status());
  return Finish();
}

Layout ModuleGenerator::RandomLayout(int64_t rank) {
  Layout layout;
  layout.minor_to_major = Permutation(rank);
  return layout;
}

void ModuleGenerator::GiveLayouts(HloModule* module) {
  for (const auto& computation : module->computations()) {
    for (const auto& instruction : computation->instructions()) {
      const Shape& shape = instruction->shape();
      if (shape.IsArray() && shape.rank() > 1 && !row_major_.contains(instruction.get()) && Chance(30)) {
        instruction->mutable_shape()->set_layout(RandomLayout(shape.rank()));
      }
    }
  }
}

void ModuleGenerator::GiveEntryLayouts(HloModule* module, bool random) {
  const auto change = [&](Shape& shape) {
    // The text of a scalar has no layout.
    if (shape.rank() == 0) shape.clear_layout();
    if (random && shape.IsArray() && shape.rank() > 0 && Chance(30)) shape.set_layout(RandomLayout(shape.rank()));
  };
  ModuleConfig& config = module->config();
  config.has_entry_layout = true;
  for (const HloInstruction* parameter : module->entry()->parameters()) {
    config.entry_parameter_layouts.push_back(WithDefaultLayout(parameter->shape()));
    change(config.entry_parameter_layouts.back());
  }
  config.entry_result_layout = WithDefaultLayout(module->entry()->root()->shape());
  change(config.entry_result_layout);
  for (Shape& element : config.entry_result_layout.mutable_tuple_shapes()) change(element);
}

absl::StatusOr<RandomModule> ModuleGenerator::Finish() {
  // Outputs: values that nothing uses, from the last to the first, and at times one that something uses.
  std::vector<RandomValue> kept;
  const size_t wanted = Between(1, 4);
  for (auto it = outputs_.rbegin(); it != outputs_.rend() && kept.size() < 2; ++it) kept.push_back(*it);
  for (auto it = pool_.rbegin(); it != pool_.rend() && kept.size() < wanted; ++it) {
    const bool leaf = it->op.instruction()->operands().empty();
    if ((it->op.instruction()->user_count() == 0 && !leaf) || Chance(10)) kept.push_back(*it);
  }
  if (kept.empty()) kept.push_back(pool_.empty() ? Leaf(E::kF32, {3}) : pool_.back());
  RandomModule result;
  Op root = kept[0].op;
  if (kept.size() > 1 || Chance(20)) {
    std::vector<Op> ops;
    for (const RandomValue& value : kept) ops.push_back(value.op);
    root = b_.Tuple(ops);
  }
  for (const RandomValue& value : kept) result.bounds.push_back(value.error);
  XC_ASSIGN_OR_RETURN(result.module, b_.Build(root));
  const bool layouts = Chance(35);
  if (layouts) GiveLayouts(result.module.get());
  GiveEntryLayouts(result.module.get(), layouts && Chance(50));
  if (absl::Status status = VerifyModule(*result.module); !status.ok()) {
    return absl::InternalError(
        absl::StrCat("the verifier refuses it: ", status.message(), "\n", result.module->ToString()));
  }
  result.inputs = std::move(inputs_);
  return result;
}

absl::StatusOr<RandomModule> MakeRandomModule(uint64_t seed, const RandomModuleOptions& options) {
  return ModuleGenerator(seed, options).Make();
}

}  // namespace xc
