// The fused emitter's dispatch and the index maps of data-movement ops.
#include "backends/codegen/fused_emitter.h"

#include "absl/strings/str_cat.h"
#include "backends/codegen/elementwise.h"
#include "backends/codegen/fused_internal.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Expressions nest no deeper than this in emission; deeper ones are refused.
constexpr int kMaxDepth = 2000;

std::vector<int64_t> OrderOf(const Shape& shape) { return shape.layout_or_default().minor_to_major; }

bool IsDescending(const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(order.size() - 1 - i)) return false;
  }
  return true;
}

// Whether functions are called for operands such as zero.
bool HasRareOperands(const HloInstruction& instruction) {
  const HloOpcode op = instruction.opcode();
  if (op == HloOpcode::kRemainder) return IsFloating(instruction.type());
  return IsComplex(instruction.type()) && (op == HloOpcode::kDivide || op == HloOpcode::kSign || IsTranscendental(op) ||
                                           op == HloOpcode::kSqrt || op == HloOpcode::kRsqrt);
}

}  // namespace

FusedEmitter::Key FusedEmitter::KeyOf(const HloInstruction* instruction, const Index& position) const {
  Key key = {instruction, uniform_condition_, lane_condition_};
  auto add = [&](const Term& t) {
    key.push_back(t.base);
    key.push_back(reinterpret_cast<const void*>(t.stride));
    key.push_back(t.vec);
  };
  if (position.linear.has_value()) add(*position.linear);
  for (const Term& t : position.dims) add(t);
  return key;
}

std::vector<Term> FusedEmitter::Coordinates(const Index& position, const Shape& shape) {
  if (!position.dims.empty() || shape.rank() == 0) return position.dims;
  return index_.Delinearize(*position.linear, position.sizes, position.order);
}

bool FusedEmitter::InMemory(const HloInstruction* instruction) const {
  for (auto it = alias_.find(instruction); it != alias_.end(); it = alias_.find(instruction)) instruction = it->second;
  return !values_.contains(instruction) && memory_.contains(instruction);
}

absl::StatusOr<Element> FusedEmitter::Get(const HloInstruction* instruction, const Index& position) {
  for (auto it = alias_.find(instruction); it != alias_.end(); it = alias_.find(instruction)) instruction = it->second;
  if (auto it = values_.find(instruction); it != values_.end()) return it->second;
  if (instruction->opcode() == HloOpcode::kConstant && !memory_.contains(instruction))
    return BroadcastScalarConstant(instruction);
  Key key = KeyOf(instruction, position);
  if (auto it = cache_.find(key); it != cache_.end()) return it->second[0];
  if (++depth_ > kMaxDepth) {
    return absl::ResourceExhaustedError(absl::StrCat("expression of ", instruction->name(), " nests too deeply"));
  }
  absl::StatusOr<Element> value = Compute(instruction, position);
  --depth_;
  if (value.ok()) cache_[std::move(key)] = {*value};
  return value;
}

V FusedEmitter::PlaceInRow(const Index& position) {
  if (position.dims.empty()) return nullptr;
  const Term& at = position.dims.back();
  if (at.vec != nullptr || (lanes_ > 1 && at.stride != 1)) return nullptr;
  return e_.builder().CreateGEP(e_.RegisterType(kept_row_->made->type()), kept_row_->memory, at.base);
}

std::optional<Reciprocals> FusedEmitter::ReciprocalsOf(const HloInstruction* divide, const Index& position) {
  if (lanes_ == 1 || position.dims.empty()) return std::nullopt;
  const Term& at = position.dims.back();
  if (at.vec != nullptr || at.stride != 1) return std::nullopt;
  auto& b = e_.builder();
  for (const KeptReciprocals* kept : reciprocals_) {
    if (kept->divide != divide) continue;
    const auto load = [&](V from) -> V {
      if (from == nullptr) return nullptr;
      V place = b.CreateGEP(e_.RegisterType(divide->type()), from, at.base);
      return b.CreateAlignedLoad(e_.RegisterType(divide->type(), lanes_), place, llvm::Align(4));
    };
    return Reciprocals{load(kept->values), load(kept->rests), kept->safe};
  }
  return std::nullopt;
}

absl::StatusOr<Element> FusedEmitter::Compute(const HloInstruction* instruction, const Index& position) {
  using State = KeptRow::State;
  if (kept_row_ == nullptr) return Emit(instruction, position);
  if (instruction == kept_row_->taken && kept_row_->state == State::kWritten) {
    llvm::Type* type = e_.RegisterType(instruction->type(), lanes_);
    if (V place = PlaceInRow(position)) return Element{e_.builder().CreateAlignedLoad(type, place, llvm::Align(4))};
  }
  XC_ASSIGN_OR_RETURN(Element value, Emit(instruction, position));
  if (instruction == kept_row_->made) {
    V place = PlaceInRow(position);
    if (place != nullptr) e_.builder().CreateAlignedStore(e_.Splat(value, lanes_).re, place, llvm::Align(4));
    if (place == nullptr || kept_row_->state == State::kUnknown) {
      kept_row_->state = place == nullptr ? State::kUnusable : State::kWritten;
    }
  }
  return value;
}

Element FusedEmitter::BroadcastScalarConstant(const HloInstruction* constant) {
  const ElementType type = constant->type();
  const Literal& literal = constant->literal();
  if (literal.size() == 0) return e_.ZeroOf(type);
  if (IsComplex(type)) {
    Element value = e_.Constant(type, literal.GetComplex(0).real());
    value.im = llvm::ConstantFP::get(e_.RegisterType(type), literal.GetComplex(0).imag());
    return value;
  }
  if (IsFloating(type)) return e_.Constant(type, literal.GetDouble(0));
  if (type == ElementType::kPred) return e_.Constant(type, literal.GetInt(0) != 0);
  return {llvm::ConstantInt::get(e_.RegisterType(type), static_cast<uint64_t>(literal.GetInt(0)))};
}

absl::StatusOr<Element> FusedEmitter::Emit(const HloInstruction* instruction, const Index& position) {
  if (auto it = memory_.find(instruction); it != memory_.end()) return Load(instruction, it->second, position);
  const Shape& shape = instruction->shape();
  if (instruction->opcode() == HloOpcode::kSelect && kept_row_ == nullptr) return EmitSelect(instruction, position);
  // Not where operands are scalars, whose values have no position.
  if (instruction->opcode() == HloOpcode::kAnd && instruction->type() == ElementType::kPred && lanes_ > 1 &&
      !shape.IsScalar() && SameDims(instruction->operand(0)->shape(), shape) &&
      SameDims(instruction->operand(1)->shape(), shape)) {
    return EmitAnd(instruction, position);
  }
  if (IsElementwise(instruction->opcode())) {
    std::vector<Element> operands;
    for (const HloInstruction* operand : instruction->operands()) {
      const bool scalar = operand->shape().IsScalar() && !shape.IsScalar();
      XC_ASSIGN_OR_RETURN(Element value, Get(operand, scalar ? Index{} : position));
      operands.push_back(value);
    }
    if (V wanted = And(tail_, lane_condition_); wanted != nullptr && HasRareOperands(*instruction)) {
      // What stands in other lanes is zero mostly, which takes a call in each of them.
      for (Element& value : operands) value = e_.Select(wanted, value, e_.Constant(instruction->type(), 1));
    }
    if (const std::optional<Reciprocals> reciprocals = ReciprocalsOf(instruction, position)) {
      e_.Broadcast(absl::MakeSpan(operands));
      return Element{EmitQuotient(e_, instruction->type(), operands[0].re, operands[1].re, *reciprocals)};
    }
    return EmitElementwise(e_, *instruction, operands);
  }
  switch (instruction->opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kOptBarrier:
      return Get(instruction->operand(0), position);
    case HloOpcode::kFusion:
    case HloOpcode::kCall: {
      const HloComputation* called = instruction->called(0);
      for (int64_t i = 0; i < instruction->operand_count(); ++i) {
        BindAlias(called->parameter(i), instruction->operand(i));
      }
      return Get(called->root(), position);
    }
    case HloOpcode::kBitcast:
    case HloOpcode::kReshape: {
      const HloInstruction* operand = instruction->operand(0);
      const Shape& from = operand->shape();
      const bool bitcast = instruction->opcode() == HloOpcode::kBitcast;
      Index at;
      at.sizes = from.dims();
      if (bitcast && (!shape.IsRowMajor() || !from.IsRowMajor())) {
        // The same bytes: the place in memory order stays.
        at.order = OrderOf(from);
        at.linear = Offset(shape, position);
      } else {
        at.order = Layout::Descending(from.rank()).minor_to_major;
        if (position.linear.has_value() && IsDescending(position.order)) at.linear = position.linear;
        // Of an array in memory only the place in it matters.
        if (!at.linear.has_value() && InMemory(operand) && shape.IsRowMajor() && from.IsRowMajor()) {
          at.linear = Offset(shape, position);
        } else if (!at.linear.has_value() || !position.dims.empty()) {
          at.dims = index_.Reshape(Coordinates(position, shape), shape.dims(), from.dims());
        }
      }
      XC_ASSIGN_OR_RETURN(Element value, Get(operand, at));
      return e_.BitcastConvert(from.type(), shape.type(), value);
    }
    default:
      return EmitIndexed(instruction, Coordinates(position, shape));
  }
}

absl::StatusOr<Element> FusedEmitter::EmitIndexed(const HloInstruction* instruction, const std::vector<Term>& at) {
  const HloInstruction* operand = instruction->operand_count() > 0 ? instruction->operand(0) : nullptr;
  std::vector<Term> to;
  switch (instruction->opcode()) {
    case HloOpcode::kBroadcast:
      for (int64_t d : instruction->dimensions()) to.push_back(at[d]);
      return Get(operand, Index{to});
    case HloOpcode::kTranspose:
      to.resize(at.size());
      for (size_t i = 0; i < at.size(); ++i) to[instruction->dimensions()[i]] = at[i];
      return Get(operand, Index{to});
    case HloOpcode::kSlice: {
      const SliceAttr& slice = instruction->slice();
      for (size_t i = 0; i < at.size(); ++i) {
        const int64_t stride = slice.strides.empty() ? 1 : slice.strides[i];
        to.push_back(index_.AddConst(index_.Scale(at[i], stride), slice.starts[i]));
      }
      return Get(operand, Index{to});
    }
    case HloOpcode::kReverse: {
      to = at;
      for (int64_t d : instruction->dimensions()) {
        to[d] = index_.AddConst(index_.Negate(at[d]), instruction->shape().dim(d) - 1);
      }
      return Get(operand, Index{to});
    }
    case HloOpcode::kDynamicSlice: {
      XC_ASSIGN_OR_RETURN(std::vector<Term> starts, Starts(instruction, 1, instruction->shape().dims()));
      for (size_t i = 0; i < at.size(); ++i) to.push_back(index_.Add(starts[i], at[i]));
      return Get(operand, Index{to});
    }
    case HloOpcode::kPad:
      return EmitPad(instruction, at);
    case HloOpcode::kConcatenate:
      return EmitConcatenate(instruction, at);
    case HloOpcode::kGather:
      return EmitGather(instruction, at);
    case HloOpcode::kDynamicUpdateSlice:
      return EmitDynamicUpdateSlice(instruction, at);
    case HloOpcode::kIota:
      return EmitIota(instruction, at);
    case HloOpcode::kReduceWindow:
    case HloOpcode::kReduce: {
      XC_ASSIGN_OR_RETURN(std::vector<Element> values, GetReduce(instruction, Index{at}));
      return values[0];
    }
    case HloOpcode::kGetTupleElement: {
      const HloInstruction* source = operand;
      for (auto it = alias_.find(source); it != alias_.end(); it = alias_.find(source)) source = it->second;
      if (source->opcode() == HloOpcode::kTuple) return Get(source->operand(instruction->tuple_index()), Index{at});
      XC_ASSIGN_OR_RETURN(std::vector<Element> values, GetReduce(source, Index{at}));
      return values[instruction->tuple_index()];
    }
    case HloOpcode::kMap: {
      std::vector<Element> operands;
      for (const HloInstruction* o : instruction->operands()) {
        XC_ASSIGN_OR_RETURN(Element value, Get(o, Index{at}));
        operands.push_back(value);
      }
      XC_ASSIGN_OR_RETURN(std::vector<Element> values,
                          EmitApply(e_, instruction->to_apply(), operands, true, Active()));
      return values[0];
    }
    default:
      return absl::UnimplementedError(
          absl::StrCat("no fused code for ", OpcodeName(instruction->opcode()), " ", instruction->name()));
  }
}

absl::StatusOr<Term> FusedEmitter::AsTerm(const HloInstruction* instruction, const Index& position) {
  XC_ASSIGN_OR_RETURN(Element value, Get(instruction, position));
  auto& b = e_.builder();
  const ElementType index = index_.bits() == 32 ? ElementType::kS32 : ElementType::kS64;
  llvm::Type* wide = e_.RegisterType(index, ElementEmitter::Lanes(value.re));
  V v = value.re;
  if (index == ElementType::kS32 && v->getType()->getScalarSizeInBits() >= 32) {
    // What a 32-bit index cannot hold is far outside any array, and stays so as the nearest that it can.
    auto limit = [&](int64_t value) { return llvm::ConstantInt::get(v->getType(), value, true); };
    if (!IsSignedInt(instruction->type())) {
      v = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v, limit(INT32_MAX));
    } else if (v->getType() != wide) {
      v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, limit(INT32_MIN));
      v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, limit(INT32_MAX));
    }
    v = b.CreateTrunc(v, wide);
    return v->getType()->isVectorTy() ? Term{nullptr, 0, v, false} : index_.Uniform(v);
  }
  // u64 beyond the signed range is far outside any array, and stays so as a large positive number.
  if (IsSignedInt(instruction->type())) {
    v = b.CreateSExt(v, wide);
  } else if (instruction->type() == ElementType::kU64) {
    v = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v, llvm::ConstantInt::get(wide, INT64_MAX));
  } else {
    v = b.CreateZExt(v, wide);
  }
  if (v->getType()->isVectorTy()) return Term{nullptr, 0, v, false};
  return index_.Uniform(v);
}

absl::StatusOr<std::vector<Term>> FusedEmitter::Starts(const HloInstruction* instruction, int64_t first,
                                                       const std::vector<int64_t>& sizes) {
  const Shape& operand = instruction->operand(0)->shape();
  std::vector<Term> starts;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    XC_ASSIGN_OR_RETURN(Term start, AsTerm(instruction->operand(first + i), Index{}));
    starts.push_back(index_.Clamp(start, operand.dim(i) - sizes[i]));
  }
  return starts;
}

V FusedEmitter::InRange(const Term& term, int64_t size) {
  auto& b = e_.builder();
  V x = term.uniform() ? term.base : index_.Lanes(term);
  return b.CreateICmpULT(x, llvm::ConstantInt::get(x->getType(), size));
}

absl::StatusOr<Element> FusedEmitter::EmitGather(const HloInstruction* gather, const std::vector<Term>& at) {
  const GatherDims& dims = gather->gather_dims();
  const HloInstruction *operand = gather->operand(0), *indices = gather->operand(1);
  const Int64List& sizes = gather->attr<AttrKind::kSliceSizes>();
  auto has = [](const Int64List& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); };
  // Output dimensions that are not offsets walk over the indices array, in order.
  std::vector<Term> batch;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!has(dims.offset_dims, i)) batch.push_back(at[i]);
  }
  auto index_at = [&](int64_t component) {
    std::vector<Term> place;
    size_t next = 0;
    for (int64_t i = 0; i < indices->shape().rank(); ++i) {
      place.push_back(i == dims.index_vector_dim ? index_.Constant(component) : batch[next++]);
    }
    return place;
  };
  std::vector<Term> to(operand->shape().rank(), index_.Constant(0));
  for (size_t k = 0; k < dims.start_index_map.size(); ++k) {
    XC_ASSIGN_OR_RETURN(Term start, AsTerm(indices, Index{index_at(k)}));
    const int64_t d = dims.start_index_map[k];
    to[d] = index_.Clamp(start, operand->shape().dim(d) - sizes[d]);
  }
  for (size_t k = 0; k < dims.operand_batching_dims.size(); ++k) {
    // The place along a batching dimension of the indices, without the index vector's dimension.
    int64_t d = dims.start_indices_batching_dims[k];
    if (d > dims.index_vector_dim) --d;
    to[dims.operand_batching_dims[k]] = batch[d];
  }
  size_t offset = 0;
  for (int64_t d = 0; d < operand->shape().rank(); ++d) {
    if (has(dims.collapsed_slice_dims, d) || has(dims.operand_batching_dims, d)) continue;
    to[d] = index_.Add(to[d], at[dims.offset_dims[offset++]]);
  }
  return Get(operand, Index{to});
}

absl::StatusOr<Element> FusedEmitter::EmitIota(const HloInstruction* iota, const std::vector<Term>& at) {
  const int64_t d = iota->attr<AttrKind::kIotaDimension>();
  const Term& t = at[d];
  Element position{t.uniform() ? t.base : index_.Lanes(t)};
  return e_.Convert(index_.bits() == 32 ? ElementType::kS32 : ElementType::kS64, iota->type(), position);
}

absl::StatusOr<std::vector<Element>> EmitApply(ElementEmitter& element, const HloComputation* computation,
                                               absl::Span<const Element> arguments, bool round, V active) {
  int lanes = 1;
  for (const Element& a : arguments) lanes = std::max(lanes, ElementEmitter::Lanes(a.re));
  const HloInstruction* root = computation->root();
  if (!round && IsElementwise(root->opcode())) {
    // Only used for simple reducers: one op of the two parameters.
    XC_ASSIGN_OR_RETURN(Element value, EmitElementwise(element, *root, arguments, false));
    return std::vector<Element>{value};
  }
  if (HasControl(*computation)) return EmitControl(element, *computation, arguments, lanes, active);
  if (element.target().functions != nullptr && IsLong(*computation)) {
    return CallInPieces(element, *computation, arguments, lanes);
  }
  FusedEmitter body(element, lanes);
  for (int64_t i = 0; i < computation->parameter_count(); ++i) body.BindValue(computation->parameter(i), arguments[i]);
  // One after the other: long chains would nest as deeply as they are long.
  for (const HloInstruction* i : computation->PostOrder()) {
    if (i->opcode() == HloOpcode::kParameter || !i->shape().IsScalar()) continue;
    XC_ASSIGN_OR_RETURN(Element value, body.Get(i, Index{}));
    body.BindValue(i, value);
  }
  std::vector<Element> results;
  if (!root->shape().IsTuple()) {
    XC_ASSIGN_OR_RETURN(Element value, body.Get(root, Index{}));
    return std::vector<Element>{value};
  }
  for (const HloInstruction* operand : root->operands()) {
    XC_ASSIGN_OR_RETURN(Element value, body.Get(operand, Index{}));
    results.push_back(value);
  }
  return results;
}

}  // namespace xc::codegen
