// Lowerings of stateless random ops with the bits of TensorFlow's CPU kernels: Philox 4x32-10 over a 128-bit counter,
// one block of four words per group of outputs.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/lowering/basic/variables.h"

namespace xc {
namespace {

constexpr ElementType kU32 = ElementType::kU32;
constexpr ElementType kU64 = ElementType::kU64;
using Words = std::vector<Val>;

// High and low half of a 32 x 32 bit product.
void MulHiLo(Emitter& b, uint32_t factor, Val x, Val* high, Val* low) {
  Val wide = b.Mul(b.Convert(x, kU64), b.Full(kU64, x->shape().dims(), factor));
  *high = b.Convert(b.Binary(HloOpcode::kShiftRightLogical, wide, b.Like(wide, 32)), kU32);
  *low = b.Convert(wide, kU32);
}

// Ten rounds on arrays of counters (4 words) under keys (2 words) of the same shape.
Words Philox(Emitter& b, Words counter, Words key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] = b.Add(key[0], b.Like(key[0], 0x9E3779B9u));
      key[1] = b.Add(key[1], b.Like(key[1], 0xBB67AE85u));
    }
    Val high0, low0, high1, low1;
    MulHiLo(b, 0xD2511F53u, counter[0], &high0, &low0);
    MulHiLo(b, 0xCD9E8D57u, counter[2], &high1, &low1);
    counter = {b.Xor(b.Xor(high1, counter[1]), key[0]), low1, b.Xor(b.Xor(high0, counter[3]), key[1]), low0};
  }
  return counter;
}

Val Element(Emitter& b, Val v, int64_t i) { return b.Reshape(b.SliceDim(v, 0, i, i + 1), {}); }
Val Low(Emitter& b, Val u64) { return b.Convert(u64, kU32); }
Val High(Emitter& b, Val u64) { return b.Convert(b.Binary(HloOpcode::kShiftRightLogical, u64, b.Like(u64, 32)), kU32); }
Val Join(Emitter& b, Val low, Val high) {
  Val wide = b.Convert(high, kU64);
  return b.Or(b.Convert(low, kU64), b.Binary(HloOpcode::kShiftLeft, wide, b.Like(wide, 32)));
}

struct Stream {
  Val key = nullptr;                                  // u64 scalar
  Val counter_low = nullptr, counter_high = nullptr;  // u64 scalars
};

// Key and counter from the two-element seed of the first version of the ops: the seed is scrambled by one block.
absl::StatusOr<Stream> FromSeed(OpContext& c, int operand) {
  if (c.dims(operand) != Dims{2}) return c.Error("seed must have two elements");
  Emitter& b = c.b;
  Val seed = b.Convert(c.in(operand), ElementType::kS64);
  seed = b.BitcastConvert(seed, kU64);
  Val s0 = Element(b, seed, 0), s1 = Element(b, seed, 1);
  Words mix = Philox(b, {Low(b, s0), High(b, s0), Low(b, s1), High(b, s1)},
                     {b.ScalarInt(kU32, 0x3ec8f720), b.ScalarInt(kU32, 0x02461e29)});
  Stream s;
  s.key = Join(b, mix[0], mix[1]);
  s.counter_low = b.ScalarInt(kU64, 0);
  s.counter_high = Join(b, mix[2], mix[3]);
  return s;
}

absl::StatusOr<Stream> FromKey(OpContext& c, int key, int counter) {
  XC_ASSIGN_OR_RETURN(int64_t alg, c.Int(counter + 1));
  if (alg != 1 && alg != 3) return c.Unimplemented(absl::StrCat("random algorithm ", alg, ": only Philox"));
  if (c.dims(counter) != Dims{2}) return c.Unimplemented("a counter that has not two elements");
  Emitter& b = c.b;
  Stream s;
  s.key = b.Reshape(c.in(key), {});
  s.counter_low = Element(b, c.in(counter), 0);
  s.counter_high = Element(b, c.in(counter), 1);
  return s;
}

// The four words of the blocks with the numbers `index` (u64), each of its shape.
Words BlocksAt(Emitter& b, const Stream& s, Val index) {
  const Dims dims = index->shape().dims();
  Val low = b.Add(b.BroadcastScalar(s.counter_low, dims), index);
  Val carry = b.Convert(b.Lt(low, index), kU64);
  Val high = b.Add(b.BroadcastScalar(s.counter_high, dims), carry);
  Val key = b.BroadcastScalar(s.key, dims);
  return Philox(b, {Low(b, low), High(b, low), Low(b, high), High(b, high)}, {Low(b, key), High(b, key)});
}

// The same of blocks 0..groups-1.
Words Blocks(Emitter& b, const Stream& s, int64_t groups) { return BlocksAt(b, s, b.Iota(kU64, {groups}, 0)); }

// [groups] arrays as consecutive elements, cut to `dims`.
Val Interleave(Emitter& b, const std::vector<Val>& words, const Dims& dims, int64_t count) {
  std::vector<Val> columns;
  int64_t groups = words[0]->shape().dim(0), width = static_cast<int64_t>(words.size());
  for (Val w : words) columns.push_back(b.Reshape(w, {groups, 1}));
  Val flat = b.Reshape(b.Concat(columns, 1), {groups * width});
  return b.Reshape(b.SliceDim(flat, 0, 0, count), dims);
}

Val UnitFloat(Emitter& b, Val word) {
  Val mantissa = b.And(word, b.Like(word, 0x7fffff));
  Val bits = b.Or(mantissa, b.Like(word, 0x3f800000));
  Val f = b.BitcastConvert(bits, ElementType::kF32);
  return b.Sub(f, b.Like(f, 1));
}

Val UnitDouble(Emitter& b, Val first, Val second) {
  Val high = b.And(first, b.Like(first, 0xfffff));
  Val bits = b.Or(Join(b, second, high), b.Full(kU64, first->shape().dims(), 1023.0 * 4503599627370496.0));
  Val d = b.BitcastConvert(bits, ElementType::kF64);
  return b.Sub(d, b.Like(d, 1));
}

// [0, 1) in a type of 16 bits: the mantissa's bits of the word under the exponent of 1, less 1.
Val UnitNarrow(Emitter& b, Val word, ElementType type) {
  bool half = type == ElementType::kF16;
  Val mantissa = b.And(word, b.Like(word, half ? 0x3ff : 0x7f));
  Val bits = b.Or(mantissa, b.Like(word, half ? 15 << 10 : 127 << 7));
  Val f = b.BitcastConvert(b.Convert(bits, ElementType::kU16), type);
  return b.Sub(f, b.Like(f, 1));
}

// [0, 1) of a float type from each block: two doubles, or four of another type.
std::vector<Val> UnitValues(Emitter& b, const Words& w, ElementType type) {
  if (type == ElementType::kF64) return {UnitDouble(b, w[0], w[1]), UnitDouble(b, w[2], w[3])};
  std::vector<Val> out;
  for (Val word : w) out.push_back(type == ElementType::kF32 ? UnitFloat(b, word) : UnitNarrow(b, word, type));
  return out;
}

// Sums of the elements up to each one along the last dimension, by doubling: after step k an element covers 2^(k+1).
Val RunningSum(Emitter& b, Val x) {
  const int64_t axis = x->shape().rank() - 1, n = x->shape().dim(axis);
  for (int64_t step = 1; step < n; step *= 2) {
    std::vector<PaddingDim> padding(axis + 1);
    padding[axis].low = step;
    x = b.Add(x, b.SliceDim(b.Pad(x, b.Scalar(x->type(), 0), padding), axis, 0, n));
  }
  return x;
}

// Two normal values from two uniform ones, by Box and Muller.
void BoxMuller(Emitter& b, Val u, Val angle, Val* f0, Val* f1) {
  Val radius = b.Sqrt(b.MulC(b.Log(b.Max(u, b.Like(u, 1.0e-7))), -2.0));
  Val v = b.MulC(angle, 6.283185307179586);
  *f0 = b.Mul(b.Unary(HloOpcode::kSine, v), radius);
  *f1 = b.Mul(b.Unary(HloOpcode::kCosine, v), radius);
}

enum class Kind { kUniform, kNormal, kTruncated, kFullInt, kInt };

// Normal values of magnitude below 2: every group of outputs takes the first that fit from its own stretch of the
// stream, 256 samples long per output. `wide`: doubles, two to a block; else floats, four to a block.
std::vector<Val> Truncated(Emitter& b, const Stream& s, int64_t groups, bool wide) {
  const size_t width = wide ? 2 : 4;
  const Dims dims = {groups};
  ElementType type = wide ? ElementType::kF64 : ElementType::kF32;
  Val offset = b.Mul(b.Iota(kU64, dims, 0), b.Full(kU64, dims, wide ? 128 : 256));
  Val low = b.Add(b.BroadcastScalar(s.counter_low, dims), offset);
  Val high = b.Add(b.BroadcastScalar(s.counter_high, dims), b.Convert(b.Lt(low, offset), kU64));
  // State: active, number found, counter, key, values found.
  std::vector<Val> state = {b.Full(ElementType::kPred, dims, 1), b.Full(ElementType::kS32, dims, 0), low, high,
                            b.BroadcastScalar(s.key, dims)};
  for (size_t i = 0; i < width; ++i) state.push_back(b.Full(type, dims, 0));
  auto next = [&](Emitter& e, Val, const std::vector<Val>& now) -> std::vector<Val> {
    Words w = Philox(e, {Low(e, now[2]), High(e, now[2]), Low(e, now[3]), High(e, now[3])},
                     {Low(e, now[4]), High(e, now[4])});
    std::vector<Val> samples;
    if (wide) {
      samples = {UnitDouble(e, w[0], w[1]), UnitDouble(e, w[2], w[3])};
    } else {
      for (Val word : w) samples.push_back(UnitFloat(e, word));
      BoxMuller(e, samples[2], samples[3], &samples[2], &samples[3]);
    }
    BoxMuller(e, samples[0], samples[1], &samples[0], &samples[1]);
    std::vector<Val> after = now;
    for (Val sample : samples) {
      Val fits = e.Lt(e.Abs(sample), e.Like(sample, 2));
      for (size_t i = 0; i < width; ++i) {
        Val here = e.And(fits, e.Eq(after[1], e.Like(after[1], static_cast<double>(i))));
        after[5 + i] = e.Select(here, sample, after[5 + i]);
      }
      after[1] = e.Add(after[1], e.Convert(fits, ElementType::kS32));
    }
    after[0] = e.Lt(after[1], e.Like(after[1], static_cast<double>(width)));
    after[2] = e.Add(now[2], e.Like(now[2], 1));
    after[3] = e.Add(now[3], e.Convert(e.Eq(after[2], e.Like(after[2], 0)), kU64));
    return after;
  };
  state = b.LoopWhileAny(256, state, next);
  return std::vector<Val>(state.begin() + 5, state.end());
}

absl::Status Fill(OpContext& c, const Stream& s, Kind kind, const Dims& dims, int first_limit) {
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  if (count > (int64_t{1} << 32)) return c.Error("the shape is too large");
  Emitter& b = c.b;
  ElementType type = c.out_etype(0);
  if (count == 0) {
    c.set(0, b.Full(type, dims, 0));
    return absl::OkStatus();
  }
  bool wide = ElementBits(type) == 64;
  bool narrow = ElementBits(type) < 32;
  if (narrow && !IsFloating(type)) return c.Unimplemented("narrow types");
  int64_t per_block = wide ? 2 : 4;
  if (kind == Kind::kTruncated) {
    std::vector<Val> values = Truncated(b, s, (count + per_block - 1) / per_block, wide);
    c.set(0, b.Convert(Interleave(b, values, dims, count), type));
    return absl::OkStatus();
  }
  Words w = Blocks(b, s, (count + per_block - 1) / per_block);
  std::vector<Val> out;
  if (kind == Kind::kUniform || kind == Kind::kNormal) {
    out = UnitValues(b, w, narrow && kind == Kind::kNormal ? ElementType::kF32 : type);
    for (size_t i = 0; kind == Kind::kNormal && i < out.size(); i += 2) {
      BoxMuller(b, out[i], out[i + 1], &out[i], &out[i + 1]);
    }
    c.set(0, b.Convert(Interleave(b, out, dims, count), type));
    return absl::OkStatus();
  }
  if (wide) {
    out = {Join(b, w[0], w[1]), Join(b, w[2], w[3])};
  } else {
    out = w;
  }
  Val bits = Interleave(b, out, dims, count);
  if (kind == Kind::kInt) {
    XC_RETURN_IF_ERROR(c.RequireRank(first_limit, 0));
    XC_RETURN_IF_ERROR(c.RequireRank(first_limit + 1, 0));
    Val low = c.in(first_limit), high = c.in(first_limit + 1);
    c.FailIf(b.Ge(low, high));
    ElementType unsigned_type = bits->type();
    Val range = b.Sub(b.BitcastConvert(high, unsigned_type), b.BitcastConvert(low, unsigned_type));
    bits = b.Add(b.Rem(bits, b.BroadcastScalar(range, dims)),
                 b.BroadcastScalar(b.BitcastConvert(low, unsigned_type), dims));
  }
  c.set(0, b.BitcastConvert(bits, type));
  return absl::OkStatus();
}

template <Kind kKind>
absl::Status Seeded(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Stream s, FromSeed(c, 1));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  return Fill(c, s, kKind, dims, 2);
}

template <Kind kKind>
absl::Status Keyed(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Stream s, FromKey(c, 1, 2));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  return Fill(c, s, kKind, dims, 4);
}

absl::Status KeyCounter(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Stream s, FromSeed(c, 0));
  Emitter& b = c.b;
  c.set(0, b.Reshape(s.key, {1}));
  c.set(1, b.Concat({b.Reshape(s.counter_low, {1}), b.Reshape(s.counter_high, {1})}, 0));
  if (c.num_outputs() > 2) c.set_constant(2, Tensor::Scalar<int32_t>(DT_INT32, 1));
  return absl::OkStatus();
}

absl::Status GetAlg(OpContext& c) {
  c.set_constant(0, Tensor::Scalar<int32_t>(DT_INT32, 1));
  return absl::OkStatus();
}

// The state of a generator (operand 0, with the algorithm next), [counter low, counter high, key]. The variable goes
// on by `delta` outputs (a u64 scalar), 256 samples each.
absl::StatusOr<Val> TakeState(OpContext& c, Val delta) {
  XC_ASSIGN_OR_RETURN(Val state, VariableValue(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t alg, c.Int(1));
  if (alg != 1 && alg != 3) return c.Unimplemented(absl::StrCat("random algorithm ", alg, ": only Philox"));
  if (state->shape().dims() != Dims{3} || state->type() != ElementType::kS64) {
    return c.Error("the generator's state must be three int64");
  }
  Emitter& b = c.b;
  Val words = b.BitcastConvert(state, kU64), low = Element(b, words, 0), high = Element(b, words, 1);
  Val next = b.Add(low, b.Mul(delta, b.ScalarInt(kU64, 256)));
  Val carry =
      b.Add(b.Binary(HloOpcode::kShiftRightLogical, delta, b.ScalarInt(kU64, 56)), b.Convert(b.Lt(next, low), kU64));
  std::vector<Val> parts = {b.Reshape(next, {1}), b.Reshape(b.Add(high, carry), {1}), b.SliceDim(words, 0, 2, 3)};
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.BitcastConvert(b.Concat(parts, 0), ElementType::kS64)));
  return state;
}

absl::Status ReadAndSkip(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(2, 0));
  XC_ASSIGN_OR_RETURN(Val state, TakeState(c, c.b.Convert(c.in(2), kU64)));
  if (c.num_outputs() > 0) c.set(0, state);
  return absl::OkStatus();
}

// Numbers from a generator that is a variable: (resource, algorithm, shape, limits).
template <Kind kKind>
absl::Status FromGenerator(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(2));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  XC_ASSIGN_OR_RETURN(Val state, TakeState(c, c.b.ScalarInt(kU64, count)));
  Emitter& b = c.b;
  Val words = b.BitcastConvert(state, kU64);
  return Fill(c, {Element(b, words, 2), Element(b, words, 0), Element(b, words, 1)}, kKind, dims, 3);
}

// Classes drawn with the probabilities that rows of logits give: each sample is a double against the running sum of
// exp(logit).
absl::Status Multinomial(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t samples, c.Int(1));
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  int64_t rows = c.dims(0)[0], classes = c.dims(0)[1];
  if (samples < 0) return c.Error("num_samples must not be negative");
  if (classes == 0 && rows > 0) return c.Error("there must be a class");
  XC_RETURN_IF_ERROR(CheckedNumElements(Dims{rows, samples, classes}).status());
  XC_ASSIGN_OR_RETURN(Stream s, FromSeed(c, 2));
  Emitter& b = c.b;
  constexpr ElementType kF64 = ElementType::kF64;
  int64_t count = rows * samples;
  if (count == 0) {
    c.set(0, b.Full(c.out_etype(0), {rows, samples}, 0));
    return absl::OkStatus();
  }
  Val x = b.Convert(c.in(0), kF64), finite = b.Unary(HloOpcode::kIsFinite, x);
  Val lowest = b.Like(x, -std::numeric_limits<double>::max());
  Val top = b.Broadcast(b.ReduceMax(b.Select(finite, x, lowest), {1}), c.dims(0), {0});
  Val sum = b.Select(finite, b.Exp(b.Sub(x, top)), b.Like(x, 0));
  sum = RunningSum(b, sum);
  Words w = Blocks(b, s, (count + 1) / 2);
  Val draw = Interleave(b, UnitValues(b, w, kF64), {rows, samples}, count);
  Val total = b.Reshape(b.SliceDim(sum, 1, classes - 1, classes), {rows});
  Val found = b.Mul(draw, b.Broadcast(total, {rows, samples}, {0}));
  Dims all = {rows, samples, classes};
  Val passed = b.Le(b.Broadcast(sum, all, {0, 2}), b.Broadcast(found, all, {0, 1}));
  c.set(0, b.Convert(b.ReduceSum(b.Convert(passed, ElementType::kS32), {2}), c.out_etype(0)));
  return absl::OkStatus();
}

// x [count] with those in `drawing` (pred) rounded up or down by values of the stream. TensorFlow's kernel works on
// vectors where it casts to int32, eight results at a time: each 32 bytes of x take one block, over again until they
// are full. What is left, and every other type, takes the first value of a block for each element that draws.
Val RoundedAtRandom(Emitter& b, const Stream& s, ElementType to, Val x, Val drawing) {
  const ElementType type = x->type();
  const bool vectors = to == ElementType::kS32 && ElementBits(type) >= 32;
  const int64_t count = x->shape().dim(0), lanes = vectors ? 256 / ElementBits(type) : 1;
  const int64_t split = vectors ? count / 8 * 8 : 0, groups = split / lanes;
  auto round = [&](Val part, Val draws, Val upper) {
    return b.Floor(b.Select(b.Lt(part, b.Like(part, 0)), b.Add(part, draws), upper));
  };
  std::vector<Val> parts;
  if (split > 0) {
    std::vector<Val> values = UnitValues(b, Blocks(b, s, groups), type);
    const std::vector<Val> again = values;
    values.insert(values.end(), again.begin(), again.end());
    Val draws = Interleave(b, values, {split}, split), part = b.SliceDim(x, 0, 0, split);
    parts.push_back(round(part, draws, b.Add(part, b.Sub(b.Like(draws, 1), draws))));
  }
  if (split < count) {
    Val each = b.Convert(b.SliceDim(drawing, 0, split, count), kU64), before = b.Sub(RunningSum(b, each), each);
    Words w = BlocksAt(b, s, b.Add(before, b.Like(before, static_cast<double>(groups))));
    Val draws = UnitValues(b, w, type)[0], part = b.SliceDim(x, 0, split, count);
    parts.push_back(round(part, draws, b.Sub(b.AddC(part, 1), draws)));
  }
  return b.Select(drawing, b.Concat(parts, 0), x);
}

// Rounds to one of the two integers beside a value, to either as often as the value is near it.
absl::Status StochasticCast(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t alg, c.Int(3));
  if (alg != 1) return c.Unimplemented(absl::StrCat("random algorithm ", alg, ": only Philox"));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  XC_RETURN_IF_ERROR(c.RequireRank(2, 1));
  if (c.dims(1)[0] < 1 || c.dims(2)[0] < 1) return c.Error("key and counter must have an element");
  Emitter& b = c.b;
  const ElementType type = c.etype(0), to = c.out_etype(0);
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(c.dims(0)));
  if (count == 0) {
    c.set(0, b.Full(to, c.dims(0), 0));
    return absl::OkStatus();
  }
  // As the kernel has it: the counter's first element is the key, and the key the high half of the counter.
  Stream s;
  s.key = Element(b, c.in(2), 0);
  s.counter_low = b.ScalarInt(kU64, 0);
  s.counter_high = Element(b, c.in(1), 0);

  const int bits = static_cast<int>(ElementBits(to));
  const double top = std::ldexp(1.0, bits - 1);
  Val x = b.Reshape(c.in(0), {count}), least = b.Like(x, -top);
  Val most = b.Convert(b.Full(ElementType::kF64, {count}, top - 1), type), above = b.Ge(x, most);
  Val inside = b.And(b.Gt(x, least), b.Lt(x, most));
  Val drawing = b.And(inside, b.Ne(b.Floor(x), x));
  Val whole = b.Convert(RoundedAtRandom(b, s, to, x, drawing), to);
  const int digits = type == ElementType::kF64   ? 53
                     : type == ElementType::kF32 ? 24
                     : type == ElementType::kF16 ? 11
                                                 : 8;
  // A type without the greatest integer has a power of two in its place, which the kernel's cast turns into the least.
  if (digits < bits - 1) whole = b.Select(above, b.Full(to, {count}, -top), whole);
  c.set(0, b.Reshape(whole, c.dims(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterRandom(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  r.Add({"StatelessRandomUniform"}, kAny, Seeded<Kind::kUniform>, {"shape"});
  r.Add({"StatelessRandomNormal"}, kAny, Seeded<Kind::kNormal>, {"shape"});
  r.Add({"StatelessRandomUniformFullInt"}, kAny, Seeded<Kind::kFullInt>, {"shape"});
  r.Add({"StatelessRandomUniformInt"}, kAny, Seeded<Kind::kInt>, {"shape"});
  r.Add({"StatelessRandomUniformV2"}, kAny, Keyed<Kind::kUniform>, {"shape"});
  r.Add({"StatelessRandomNormalV2"}, kAny, Keyed<Kind::kNormal>, {"shape"});
  r.Add({"StatelessRandomUniformFullIntV2"}, kAny, Keyed<Kind::kFullInt>, {"shape"});
  r.Add({"StatelessRandomUniformIntV2"}, kAny, Keyed<Kind::kInt>, {"shape"});
  r.Add({"StatelessTruncatedNormal"}, kAny, Seeded<Kind::kTruncated>, {"shape"});
  r.Add({"StatelessTruncatedNormalV2"}, kAny, Keyed<Kind::kTruncated>, {"shape"});
  const std::vector<std::string> generator = {"algorithm", "shape"};
  r.Add({"StatefulUniform"}, kAny, FromGenerator<Kind::kUniform>, generator, kUsesVariables);
  r.Add({"StatefulStandardNormalV2"}, kAny, FromGenerator<Kind::kNormal>, generator, kUsesVariables);
  r.Add({"StatefulTruncatedNormal"}, kAny, FromGenerator<Kind::kTruncated>, generator, kUsesVariables);
  r.Add({"StatefulUniformInt"}, kAny, FromGenerator<Kind::kInt>, generator, kUsesVariables);
  r.Add({"StatefulUniformFullInt"}, kAny, FromGenerator<Kind::kFullInt>, generator, kUsesVariables);
  r.Add({"StatelessMultinomial"}, kRealTypes, Multinomial, {"num_samples"});
  r.Add({"StochasticCastToInt"}, TypeBit(DT_INT8) | TypeBit(DT_INT16) | TypeBit(DT_INT32), StochasticCast, {"alg"});
  r.Add({"RngReadAndSkip"}, kAny, ReadAndSkip, {"alg"}, kUsesVariables);
  r.Add({"RngSkip"}, kAny, ReadAndSkip, {"algorithm"}, kUsesVariables);
  r.Add({"StatelessRandomGetKeyCounter"}, kAny, KeyCounter);
  r.Add({"StatelessRandomGetKeyCounterAlg"}, kAny, KeyCounter, {}, 0);
  r.Add({"StatelessRandomGetAlg"}, kAny, GetAlg, {}, kShapeOnly);
}

}  // namespace xc
