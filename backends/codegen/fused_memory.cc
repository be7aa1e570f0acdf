// Loads and stores of the fused emitter: uniform, contiguous, strided and gathered, with and without masks.
#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/types/span.h"
#include "backends/codegen/fused_emitter.h"
#include "hlo/base/choices.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Elements at most this far apart are picked out of whole vectors; farther ones where one instruction takes elements of
// two vectors in any order, which machines with masks have: a gather takes longer than so many of those.
constexpr int64_t kMaxLoadedStride = 4, kMaxPermutedStride = 11;

// Whether a position is a multiple of `n` as it is computed.
bool IsMultiple(V position, int64_t n) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(position)) return constant->getSExtValue() % n == 0;
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(position);
  if (operation == nullptr) return false;
  V x = operation->getOperand(0), y = operation->getOperand(1);
  if (operation->getOpcode() == llvm::Instruction::Add) return IsMultiple(x, n) && IsMultiple(y, n);
  return operation->getOpcode() == llvm::Instruction::Mul && (IsMultiple(x, n) || IsMultiple(y, n));
}

// Where the real and the imaginary parts of `lanes` complex numbers stand.
std::pair<std::vector<int>, std::vector<int>> EvenAndOdd(int lanes) {
  std::vector<int> even, odd;
  for (int i = 0; i < lanes; ++i) even.push_back(2 * i), odd.push_back(2 * i + 1);
  return {even, odd};
}

// The mask with every lane doubled, for complex numbers.
V DoubleLanes(llvm::IRBuilderBase& b, V mask, int lanes) {
  if (mask == nullptr) return nullptr;
  std::vector<int> pick;
  for (int i = 0; i < 2 * lanes; ++i) pick.push_back(i / 2);
  return b.CreateShuffleVector(mask, pick);
}

}  // namespace

V FusedEmitter::And(V x, V y) {
  if (x == nullptr) return y;
  if (y == nullptr) return x;
  auto& b = e_.builder();
  if (x->getType() != y->getType()) {
    x = e_.Splat(x, lanes_);
    y = e_.Splat(y, lanes_);
  }
  return b.CreateAnd(x, y);
}

Term FusedEmitter::Offset(const Shape& shape, const Index& position) {
  if (position.linear.has_value() && position.order == shape.layout_or_default().minor_to_major &&
      ChooseSafe(position.sizes == shape.dims())) {
    return *position.linear;
  }
  return index_.Linearize(Coordinates(position, shape), ElementStrides(shape));
}

V FusedEmitter::LoadStrided(llvm::Type* scalar, V base, const Term& offset, V mask) {
  auto& b = e_.builder();
  const llvm::Align align(scalar->getScalarSizeInBits() / 8);
  // A place in rows of as many elements as the lanes are apart: vectors are read from the rows' beginning on, which are
  // the same for the other places.
  V rows = offset.base;
  int64_t place_in_row = 0;
  if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(offset.base);
      offset.stride > 1 && !ForAllSizes() && sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    auto* added = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
    if (added != nullptr && added->getSExtValue() >= 0 && added->getSExtValue() < offset.stride &&
        IsMultiple(sum->getOperand(0), offset.stride)) {
      rows = sum->getOperand(0);
      place_in_row = added->getSExtValue();
    }
  }
  const int64_t last = place_in_row + offset.stride * (lanes_ - 1);  // where the last element lies
  const int64_t width = offset.stride == 1 ? lanes_ : StridedWidth(scalar, last + 1, mask);
  llvm::Type* type = llvm::FixedVectorType::get(scalar, width);
  V result = nullptr;
  int64_t taken = 0;  // lanes
  for (int64_t part = 0; taken < lanes_; ++part) {
    const int64_t end = (part + 1) * width - place_in_row;
    const int64_t next = end <= 0 ? 0 : std::min<int64_t>(lanes_, (end - 1) / offset.stride + 1);
    if (next <= taken) continue;
    const int64_t first = std::min<int64_t>(part * width, last + 1 - width);
    V place = b.CreateGEP(scalar, base, b.CreateAdd(rows, index_.Const(first)));
    V loaded;
    if (mask == nullptr) {
      loaded = b.CreateAlignedLoad(type, place, align);
    } else {
      // What belongs to a lane that is wanted.
      std::vector<int> lane_of;
      for (int64_t i = first - place_in_row; i < first - place_in_row + width; ++i) {
        lane_of.push_back(i >= 0 && i % offset.stride == 0 ? static_cast<int>(i / offset.stride) : lanes_);
      }
      V none = llvm::Constant::getNullValue(mask->getType());
      V wanted = offset.stride == 1 ? mask : b.CreateShuffleVector(mask, none, lane_of);
      loaded = b.CreateMaskedLoad(type, place, align, wanted, llvm::Constant::getNullValue(type));
    }
    if (offset.stride == 1) return loaded;
    // Lanes that lie in this part come from it, those before from the result so far.
    std::vector<int> pick(width, llvm::PoisonMaskElem);
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const int64_t in_part = place_in_row + lane * offset.stride - first;
      pick[lane] = static_cast<int>(lane >= taken ? std::min<int64_t>(in_part, width - 1) + width : lane);
    }
    result = b.CreateShuffleVector(result == nullptr ? loaded : result, loaded, pick);
    taken = next;
  }
  std::vector<int> all(lanes_);
  std::iota(all.begin(), all.end(), 0);
  return width == lanes_ ? result : b.CreateShuffleVector(result, all);
}

int64_t FusedEmitter::StridedWidth(llvm::Type* scalar, int64_t elements, V mask) const {
  const int64_t bits = scalar->getScalarSizeInBits();
  int64_t width = lanes_;
  const bool picks = bits >= 16 ? e_.target().masked_memory : e_.target().gathers;
  if (!picks || ForAllSizes() || (mask != nullptr && !llvm::isa<llvm::Constant>(mask))) return width;
  while (2 * width * bits <= 8 * e_.target().vector_bytes && 2 * width <= elements) width *= 2;
  return width;
}

V FusedEmitter::LoadStridedWhere(llvm::Type* scalar, V base, const Term& offset, V first, V mask) {
  auto& b = e_.builder();
  llvm::Type* type = llvm::FixedVectorType::get(scalar, lanes_);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  llvm::BasicBlock *all = block("all"), *not_all = block("not_all"), *some = block("some"), *after = block("after");
  std::vector<std::pair<V, llvm::BasicBlock*>> values;
  auto leave = [&](V value) {
    values.push_back({value, b.GetInsertBlock()});
    b.CreateBr(after);
  };
  b.CreateCondBr(b.CreateAndReduce(mask), all, not_all);
  b.SetInsertPoint(all);
  leave(LoadStrided(scalar, base, {first, offset.stride}, nullptr));
  b.SetInsertPoint(not_all);
  V none = llvm::Constant::getNullValue(type);
  values.push_back({none, not_all});
  b.CreateCondBr(b.CreateOrReduce(mask), some, after);
  b.SetInsertPoint(some);
  leave(LoadStrided(scalar, base, offset, mask));
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(type, values.size());
  for (const auto& [value, from] : values) result->addIncoming(value, from);
  return result;
}

V FusedEmitter::LoadHalves(V base, const Term& offset) {
  auto& b = e_.builder();
  V place = b.CreateGEP(b.getInt16Ty(), base, b.CreateSub(offset.base, index_.Const(pair_)));
  llvm::Type* words = e_.RegisterType(ElementType::kS32, lanes_);
  V pairs = b.CreateAlignedLoad(words, place, llvm::Align(2));
  V bits = pair_ == 0 ? b.CreateShl(pairs, llvm::ConstantInt::get(words, 16))
                      : b.CreateAnd(pairs, llvm::ConstantInt::get(words, 0xffff0000));
  return b.CreateBitCast(bits, e_.RegisterType(ElementType::kF32, lanes_));
}

V FusedEmitter::MaskedStart(V position) {
  auto& b = e_.builder();
  V wanted = uniform_condition_;
  if (lanes_far_) wanted = And(wanted, b.CreateOrReduce(And(tail_, lane_condition_)));
  return wanted == nullptr ? position : b.CreateSelect(wanted, position, index_.Const(0));
}

V FusedEmitter::GatherNarrow(llvm::Type* type, V base, V positions, V mask, int64_t elements) {
  auto& b = e_.builder();
  const int bits = type->getScalarSizeInBits();
  llvm::Type *words = e_.RegisterType(ElementType::kU32, lanes_), *narrow = type->getWithNewType(b.getIntNTy(bits));
  // The last elements are read at the end of words that begin before them, so that none ends behind the array.
  llvm::Type* index = positions->getType();
  V last = llvm::ConstantInt::get(index, elements - 32 / bits);
  V from = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, positions, last);
  V shift = b.CreateTrunc(b.CreateMul(b.CreateSub(positions, from), llvm::ConstantInt::get(index, bits)), words);
  V places = b.CreateGEP(b.getIntNTy(bits), base, from);
  V loaded = b.CreateMaskedGather(words, places, llvm::Align(bits / 8), mask, llvm::Constant::getNullValue(words));
  V result = b.CreateTrunc(b.CreateLShr(loaded, shift), narrow);
  return b.CreateBitCast(result, type);
}

V FusedEmitter::LoadComponent(ElementType type, V base, const Term& offset, int64_t elements) {
  auto& b = e_.builder();
  llvm::Type* scalar = e_.MemoryType(type);
  const llvm::Align align(scalar->getScalarSizeInBits() / 8);
  auto at = [&](V position) { return b.CreateGEP(scalar, base, position); };
  if (lanes_ == 1 || offset.uniform()) {
    V position = lanes_ == 1 && offset.vec != nullptr ? offset.vec : offset.base;
    V condition = lanes_ == 1 ? And(uniform_condition_, lane_condition_) : uniform_condition_;
    // The one position of all lanes is inside the array if it is so for any lane that is wanted.
    if (lanes_ > 1 && lane_condition_ != nullptr) {
      condition = And(condition, b.CreateOrReduce(And(tail_, lane_condition_)));
    }
    if (condition != nullptr) position = b.CreateSelect(condition, position, index_.Const(0));
    return b.CreateAlignedLoad(scalar, at(position), align);
  }
  llvm::Type* type_of_lanes = llvm::FixedVectorType::get(scalar, lanes_);
  V mask = And(tail_, And(lane_condition_, uniform_condition_));
  if (mask != nullptr) mask = e_.Splat(mask, lanes_);
  V zeros = llvm::Constant::getNullValue(type_of_lanes);
  const int64_t stride = std::abs(offset.stride);
  // All lanes are wanted or none: then any elements do.
  const bool whole =
      tail_ == nullptr && lane_condition_ == nullptr && !ForAllSizes() && elements > stride * (lanes_ - 1);
  const int64_t most = e_.target().masked_memory ? kMaxPermutedStride : kMaxLoadedStride;
  const bool near = offset.vec == nullptr && ChooseSafe(stride <= most ? stride : 0) != 0;
  if (near && (mask == nullptr || whole || e_.target().masked_memory)) {
    // Backwards: from the last lane on, and turned around.
    const bool backwards = offset.stride < 0;
    Term from = offset;
    if (backwards) from = {b.CreateAdd(offset.base, index_.Const(offset.stride * (lanes_ - 1))), stride};
    V first = from.base;
    if (mask != nullptr) from.base = MaskedStart(from.base);
    if (whole) mask = nullptr;
    if (backwards && mask != nullptr) mask = b.CreateVectorReverse(mask);
    V loaded = mask != nullptr && stride > 1 && lane_condition_ != nullptr && tail_ == nullptr
                   ? LoadStridedWhere(scalar, base, from, first, mask)
                   : LoadStrided(scalar, base, from, mask);
    return backwards ? b.CreateVectorReverse(loaded) : loaded;
  }
  V positions = index_.Lanes(offset);
  // Loads one by one from places that are constants apart need no positions.
  const bool placed = offset.vec == nullptr && mask == nullptr;
  if (e_.target().masked_memory && scalar->getScalarSizeInBits() >= 32 && !(placed && lanes_ == 2)) {
    return b.CreateMaskedGather(type_of_lanes, at(positions), align, mask, zeros);
  }
  const int bits = scalar->getScalarSizeInBits();
  if (e_.target().gathers && bits < 32 && elements * bits >= 32 && lanes_ >= 8 && !placed && !ForAllSizes()) {
    return GatherNarrow(type_of_lanes, base, positions, mask, elements);
  }
  V safe =
      mask == nullptr ? positions : b.CreateSelect(mask, positions, llvm::Constant::getNullValue(positions->getType()));
  V result = llvm::PoisonValue::get(type_of_lanes);
  for (int i = 0; i < lanes_; ++i) {
    V value = b.CreateAlignedLoad(scalar, at(b.CreateExtractElement(safe, i)), align);
    result = b.CreateInsertElement(result, value, i);
  }
  return result;
}

Element FusedEmitter::Load(const HloInstruction* instruction, V base, const Index& position) {
  auto& b = e_.builder();
  const ElementType type = instruction->type();
  Term offset = Offset(instruction->shape(), position);
  const int64_t elements = instruction->shape().ElementCount();
  if (pair_ >= 0 && type == ElementType::kBF16 && offset.vec == nullptr && ChooseSafe(offset.stride == 2)) {
    return {LoadHalves(base, offset)};
  }
  if (!IsComplex(type)) return {e_.FromMemory(type, LoadComponent(type, base, offset, elements))};
  llvm::Type* scalar = e_.MemoryType(type);
  const bool contiguous = lanes_ > 1 && offset.vec == nullptr && ChooseSafe(offset.stride == 1);
  V mask = And(tail_, And(lane_condition_, uniform_condition_));
  if (contiguous && (mask == nullptr || e_.target().masked_memory)) {
    llvm::Type* wide = llvm::FixedVectorType::get(scalar, 2 * lanes_);
    const llvm::Align align(scalar->getScalarSizeInBits() / 8);
    V at = b.CreateGEP(scalar, base, index_.Mul(MaskedStart(offset.base), index_.Const(2)));
    V both;
    if (mask == nullptr) {
      both = b.CreateAlignedLoad(wide, at, align);
    } else {
      mask = DoubleLanes(b, e_.Splat(mask, lanes_), lanes_);
      both = b.CreateMaskedLoad(wide, at, align, mask, llvm::Constant::getNullValue(wide));
    }
    const auto [even, odd] = EvenAndOdd(lanes_);
    return {b.CreateShuffleVector(both, even), b.CreateShuffleVector(both, odd)};
  }
  if (lanes_ == 2 && offset.vec == nullptr && !offset.uniform() && mask == nullptr && !ForAllSizes()) {
    // One number after the other.
    llvm::Type* number = llvm::FixedVectorType::get(scalar, 2);
    V at[2];
    for (int lane = 0; lane < 2; ++lane) {
      V place = b.CreateAdd(offset.base, index_.Const(lane * offset.stride));
      V first = b.CreateGEP(scalar, base, index_.Mul(place, index_.Const(2)));
      at[lane] = b.CreateAlignedLoad(number, first, llvm::Align(scalar->getScalarSizeInBits() / 8));
    }
    return {b.CreateShuffleVector(at[0], at[1], {0, 2}), b.CreateShuffleVector(at[0], at[1], {1, 3})};
  }
  if (lanes_ > 1 && offset.vec != nullptr && e_.target().masked_memory && scalar->getScalarSizeInBits() == 32) {
    // Both parts at a time.
    llvm::Type* wide = llvm::FixedVectorType::get(b.getInt64Ty(), lanes_);
    V none = llvm::Constant::getNullValue(wide);
    if (mask != nullptr) mask = e_.Splat(mask, lanes_);
    V both = b.CreateMaskedGather(wide, b.CreateGEP(b.getInt64Ty(), base, offset.vec), llvm::Align(4), mask, none);
    both = b.CreateBitCast(both, llvm::FixedVectorType::get(scalar, 2 * lanes_));
    const auto [even, odd] = EvenAndOdd(lanes_);
    return {b.CreateShuffleVector(both, even), b.CreateShuffleVector(both, odd)};
  }
  Term re = index_.Scale(offset, 2);
  // The imaginary part is read through a shifted base, so that a false condition still reads inside the array.
  V re_value = LoadComponent(type, base, re, 2 * elements);
  V im_value = LoadComponent(type, b.CreateConstGEP1_64(scalar, base, 1), re, 2 * elements - 1);
  return {re_value, im_value};
}

void FusedEmitter::Store(const Shape& shape, V base, const Index& position, Element value) {
  auto& b = e_.builder();
  const ElementType type = shape.type();
  llvm::Type* scalar = e_.MemoryType(type);
  const llvm::Align align(scalar->getScalarSizeInBits() / 8);
  Term offset = Offset(shape, position);
  value = e_.Splat(value, lanes_);
  V re = e_.ToMemory(type, value.re), im = value.im == nullptr ? nullptr : e_.ToMemory(type, value.im);
  auto at = [&](V p) { return b.CreateGEP(scalar, base, p); };
  const int64_t width = im == nullptr ? 1 : 2;
  if (lanes_ == 1) {
    V p = index_.Mul(index_.Lanes(offset), index_.Const(width));
    b.CreateAlignedStore(re, at(p), align);
    if (im != nullptr) b.CreateAlignedStore(im, at(b.CreateAdd(p, index_.Const(1))), align);
    return;
  }
  if (offset.vec == nullptr && ChooseSafe(offset.stride == 1)) {
    V mask = tail_;
    if (im != nullptr) {
      std::vector<int> mix;
      for (int i = 0; i < lanes_; ++i) mix.push_back(i), mix.push_back(lanes_ + i);
      re = b.CreateShuffleVector(re, im, mix);
      mask = DoubleLanes(b, mask, lanes_);
    }
    V p = at(index_.Mul(offset.base, index_.Const(width)));
    if (mask == nullptr) {
      b.CreateAlignedStore(re, p, align);
    } else {
      b.CreateMaskedStore(re, p, align, mask);
    }
    return;
  }
  V positions = index_.Lanes(index_.Scale(offset, width));
  if (tail_ != nullptr) {
    b.CreateMaskedScatter(re, at(positions), align, tail_);
    if (im != nullptr)
      b.CreateMaskedScatter(im, at(b.CreateAdd(positions, index_.Lanes(index_.Constant(1)))), align, tail_);
    return;
  }
  for (int i = 0; i < lanes_; ++i) {
    V p = b.CreateExtractElement(positions, i);
    b.CreateAlignedStore(b.CreateExtractElement(re, i), at(p), align);
    if (im != nullptr) b.CreateAlignedStore(b.CreateExtractElement(im, i), at(b.CreateAdd(p, index_.Const(1))), align);
  }
}

llvm::Constant* FirstLanes(llvm::IRBuilderBase& b, int lanes, int64_t count) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(b.getInt1(i < count));
  return llvm::ConstantVector::get(bits);
}

// Element k of the result, over all its vectors, is lane k / n of vector k % n of `vectors`, a power of two n of them.
// Each step interleaves vectors half the number apart, as many steps as the number has bits. Of as many vectors as
// lanes, the result is the tile transposed.
static std::vector<llvm::Value*> Interleaved(llvm::IRBuilderBase& b, std::vector<llvm::Value*> vectors) {
  const int count = static_cast<int>(vectors.size()), lanes = ElementEmitter::Lanes(vectors[0]);
  std::vector<int> low, high;
  for (int i = 0; i < lanes / 2; ++i) {
    low.insert(low.end(), {i, lanes + i});
    high.insert(high.end(), {lanes / 2 + i, lanes + lanes / 2 + i});
  }
  for (int step = 1; step < count; step *= 2) {
    std::vector<llvm::Value*> next;
    for (int i = 0; i < count / 2; ++i) {
      next.push_back(b.CreateShuffleVector(vectors[i], vectors[i + count / 2], low));
      next.push_back(b.CreateShuffleVector(vectors[i], vectors[i + count / 2], high));
    }
    vectors = std::move(next);
  }
  return vectors;
}

std::vector<Element> FusedEmitter::TransposeTile(absl::Span<const Element> columns) {
  std::vector<V> tile;
  for (const Element& column : columns) tile.push_back(e_.Splat(column, lanes_).re);
  tile.resize(lanes_, llvm::PoisonValue::get(tile[0]->getType()));
  std::vector<Element> rows;
  for (V row : Interleaved(e_.builder(), std::move(tile))) rows.push_back({row, nullptr});
  return rows;
}

void FusedEmitter::StoreTile(const Shape& shape, V base, const Index& position, int64_t along, int64_t inner,
                             absl::Span<const Element> columns, int rows) {
  auto& b = e_.builder();
  llvm::Type* scalar = e_.MemoryType(shape.type());
  const llvm::Align align(scalar->getScalarSizeInBits() / 8);
  const bool is_complex = IsComplex(shape.type());
  V mask = nullptr;
  if (static_cast<int>(columns.size()) < lanes_) {
    mask = FirstLanes(b, lanes_, static_cast<int64_t>(columns.size()));
  }
  const auto turn = [&](V Element::*part) {
    std::vector<V> tile;
    for (const Element& column : columns) tile.push_back(e_.ToMemory(shape.type(), e_.Splat(column, lanes_).*part));
    tile.resize(lanes_, llvm::PoisonValue::get(tile[0]->getType()));
    return Interleaved(b, std::move(tile));
  };
  const std::vector<V> re = turn(&Element::re), im = is_complex ? turn(&Element::im) : std::vector<V>();
  std::vector<int> mix;
  for (int i = 0; i < lanes_; ++i) mix.push_back(i), mix.push_back(lanes_ + i);
  if (is_complex) mask = DoubleLanes(b, mask, lanes_);
  Index at{Coordinates(position, shape)};
  const Term first = index_.Uniform(at.dims[along].base);
  at.dims[inner] = {at.dims[inner].base, 1, nullptr, false};
  for (int r = 0; r < rows; ++r) {
    at.dims[along] = index_.AddConst(first, r);
    V start = Offset(shape, at).base;
    V place = b.CreateGEP(scalar, base, is_complex ? index_.Mul(start, index_.Const(2)) : start);
    V row = is_complex ? b.CreateShuffleVector(re[r], im[r], mix) : re[r];
    if (mask == nullptr) {
      b.CreateAlignedStore(row, place, align);
    } else {
      b.CreateMaskedStore(row, place, align, mask);
    }
  }
}

void FusedEmitter::StoreAlternately(const Shape& shape, V base, const Index& position, int64_t dimension,
                                    absl::Span<const Element> values) {
  auto& b = e_.builder();
  const int64_t count = values.size(), last = shape.rank() - 1, length = count / shape.dim(dimension);
  Index at{Coordinates(position, shape)};
  at.dims[dimension] = index_.Constant(0);
  if (length > 1) at.dims[last] = index_.Constant(0);
  const Term offset = Offset(shape, at);
  if (lanes_ == 1 || IsComplex(shape.type()) || offset.vec != nullptr || !ChooseSafe(offset.stride == count)) {
    for (int64_t i = 0; i < count; ++i) {
      at.dims[dimension] = index_.Constant(i / length);
      if (length > 1) at.dims[last] = index_.Constant(i % length);
      Store(shape, base, at, values[i]);
    }
    return;
  }
  std::vector<V> lanes;
  for (const Element& value : values) lanes.push_back(e_.ToMemory(shape.type(), e_.Splat(value, lanes_).re));
  llvm::Type* scalar = e_.MemoryType(shape.type());
  const llvm::Align align(scalar->getScalarSizeInBits() / 8);
  const bool by_halves = std::has_single_bit(static_cast<uint64_t>(count));
  if (by_halves) lanes = Interleaved(b, std::move(lanes));
  for (int64_t part = 0; part < count; ++part) {
    // Element k of the row is lane k / count of value k % count.
    V row = lanes[by_halves ? part : 0];
    for (int64_t i = 1; i < count && !by_halves; ++i) {
      std::vector<int> pick;
      for (int64_t k = part * lanes_; k < (part + 1) * lanes_; ++k) {
        const int lane = static_cast<int>(k / count), at_row = static_cast<int>(k - part * lanes_);
        const int before = i == 1 ? lane : at_row;
        pick.push_back(k % count == i ? lanes_ + lane : before);
      }
      row = b.CreateShuffleVector(row, lanes[i], pick);
    }
    V place = b.CreateGEP(scalar, base, b.CreateAdd(offset.base, index_.Const(part * lanes_)));
    if (tail_ == nullptr) {
      b.CreateAlignedStore(row, place, align);
      continue;
    }
    std::vector<int> pick;
    for (int64_t k = part * lanes_; k < (part + 1) * lanes_; ++k) pick.push_back(static_cast<int>(k / count));
    b.CreateMaskedStore(row, place, align, b.CreateShuffleVector(tail_, pick));
  }
}

}  // namespace xc::codegen
