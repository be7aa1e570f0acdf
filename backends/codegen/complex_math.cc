// What most complex functions share is in the private part: |z|^2, exponentials, logarithms, sine and cosine of either
// kind.
#include "backends/codegen/complex_math.h"

#include "backends/codegen/math_sums.h"
#include "backends/codegen/roots.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Parts of c128 numbers between these neither overflow nor vanish when they are squared and multiplied.
constexpr double kSmallest = 0x1p-400, kLargest = 0x1p400;

class ComplexMath {
 public:
  ComplexMath(MathBuilder& m, bool narrow) : m_(m), b_(m.b), narrow_(narrow) {
    llvm::Type* flag = b_.getInt1Ty();
    rare_ = llvm::Constant::getNullValue(m.lanes == 0 ? flag : llvm::FixedVectorType::get(flag, m.lanes));
  }

  std::optional<ComplexResult> Emit(HloOpcode op, Element x, Element y) {
    std::optional<Element> z = narrow_ ? Narrow(op, x, y) : Wide(op, x, y);
    if (!z.has_value()) return std::nullopt;
    // What is not finite is looked at again, unless it must be so.
    const auto finite = [&](V v) { return m_.Lt(m_.Abs(v), m_.F(m_.inf())); };
    V good = b_.CreateAnd(finite(z->re), finite(z->im));
    Rare(b_.CreateNot(known_ == nullptr ? good : b_.CreateOr(good, known_)));
    return ComplexResult{z->re, z->im, rare_};
  }

 private:
  // In doubles, squares of c64's parts are exact, and sums of them lose nothing that shows.
  std::optional<Element> Narrow(HloOpcode op, Element x, Element y) {
    V one = m_.F(1);
    switch (op) {
      case HloOpcode::kDivide: {
        V inverse = m_.Div(one, Size2(y));
        return Times(Product(x, {y.re, m_.Neg(y.im)}), inverse);
      }
      case HloOpcode::kExponential:
        return Exp(x);
      case HloOpcode::kExponentialMinusOne: {
        V half = SinCosOf(m_.Mul(x.im, m_.F(0.5))).sin;
        const SinCos angle = SinCosOf(x.im);
        V e = EmitExpm1OfDouble(m_, x.re);
        V re = m_.Fma(e, angle.cos, m_.Mul(m_.Mul(half, half), m_.F(-2)));
        return Element{re, m_.Mul(m_.Add(e, one), angle.sin)};
      }
      case HloOpcode::kLog:
        return LogOrZeros(x, Zero(x), false);
      case HloOpcode::kLogPlusOne: {
        // |1 + z|^2 - 1 = a (2 + a) + b^2
        V d = m_.Fma(x.im, x.im, m_.Mul(x.re, m_.Add(x.re, m_.F(2))));
        V a = m_.Add(x.re, one);
        return Element{HalfLog(d, {Size2({a, x.im}), m_.F(0)}), EmitAtan2ForFloat(m_, x.im, a)};
      }
      case HloOpcode::kSqrt:
        return Sqrt(x);
      case HloOpcode::kRsqrt: {
        const Element root = Sqrt(x);
        return RsqrtOrZeros(Zero(x), Times({root.re, m_.Neg(root.im)}, EmitInverseRootForFloats(m_, Size2(x))));
      }
      case HloOpcode::kSine:
      case HloOpcode::kCosine:
      case HloOpcode::kSinh:
      case HloOpcode::kCosh:
        return SineOrCosine(op, x);
      case HloOpcode::kTanh:
        return Tanh(x);
      case HloOpcode::kTan:
        return Tan(x);
      case HloOpcode::kAtan2:
        return Atan2(x, y);
      case HloOpcode::kPower: {
        Rare(m_.Eq(Size2(x), m_.F(0)));
        return Exp(Product(y, Log(x, /*to_last_place=*/true)));  // its error grows with the exponent
      }
      case HloOpcode::kCbrt:
        Rare(m_.Eq(Size2(x), m_.F(0)));
        return Exp(Times(Log(x, false), m_.F(1.0 / 3)));
      case HloOpcode::kLogistic: {
        const Element e = Exp({m_.Neg(x.re), m_.Neg(x.im)});
        const Element sum{m_.Add(e.re, one), e.im};
        return Times({sum.re, m_.Neg(sum.im)}, m_.Div(one, Size2(sum)));
      }
      case HloOpcode::kSign: {
        V size2 = Size2(x), zero = m_.Eq(size2, m_.F(0));
        const Element sign = Times(x, EmitInverseRootForFloats(m_, m_.Select(zero, one, size2)));
        return Element{m_.Select(zero, m_.F(0), sign.re), m_.Select(zero, m_.F(0), sign.im)};
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<Element> Wide(HloOpcode op, Element x, Element y) {
    switch (op) {
      case HloOpcode::kDivide: {
        if (!m_.fma) return std::nullopt;
        V zero = BoundedOrZero(x);
        Bounded(y);
        const Sum size = SumOfProducts(y.re, y.re, y.im, y.im);
        V inverse = m_.Div(m_.F(1), size.high);
        // Zeros keep the signs that their products have.
        const Element products = Product(x, {y.re, m_.Neg(y.im)});
        V re = Quotient(SumOfProducts(x.re, y.re, x.im, y.im), size, inverse);
        V im = Quotient(SumOfProducts(x.im, y.re, m_.Neg(x.re), y.im), size, inverse);
        return Element{m_.Select(zero, products.re, re), m_.Select(zero, products.im, im)};
      }
      case HloOpcode::kSqrt:
        BoundedOrZero(x);
        return Sqrt(x);
      case HloOpcode::kRsqrt: {
        if (!m_.fma) return std::nullopt;
        V zero = BoundedOrZero(x);
        return RsqrtOrZeros(zero, WideRsqrt(x));
      }
      case HloOpcode::kAtan2: {
        if (!m_.fma) return std::nullopt;
        Bounded(x);
        Bounded(y);
        // Beyond, the result is small beside the angle's terms.
        Rare(m_.Lt(Size2(x), m_.Mul(Size2(y), m_.F(0x1p-6))));
        return Atan2(x, y);
      }
      case HloOpcode::kExponential:
        return Exp(x);
      case HloOpcode::kSine:
      case HloOpcode::kCosine:
      case HloOpcode::kSinh:
      case HloOpcode::kCosh:
        return SineOrCosine(op, x);
      case HloOpcode::kLog: {
        if (!m_.fma) return std::nullopt;
        return LogOrZeros(x, BoundedOrZero(x), true);
      }
      case HloOpcode::kExponentialMinusOne: {
        // e^a cos b - 1 = (e^a - 1) cos b - 2 sin^2(b / 2)
        if (!m_.fma) return std::nullopt;
        V half = SinCosOf(m_.Mul(x.im, m_.F(0.5))).sin;
        const SinCos angle = SinCosOf(x.im);
        const Sum re = SumOfProducts(EmitExpm1OfDouble(m_, x.re), angle.cos, m_.Mul(half, m_.F(-2)), half);
        // Where e^a is small, 1 is the larger part.
        V e = EmitExp(m_, x.re), direct = m_.Fma(e, angle.cos, m_.F(-1));
        return Element{m_.Select(m_.Lt(x.re, m_.F(-1)), direct, m_.Add(re.high, re.low)), m_.Mul(e, angle.sin)};
      }
      case HloOpcode::kLogPlusOne: {
        // |1 + z|^2 - 1 = 2 a + a^2 + b^2
        if (!m_.fma) return std::nullopt;
        Rare(m_.Gt(m_.Abs(x.re), m_.F(kLargest)));
        Rare(m_.Gt(m_.Abs(x.im), m_.F(kLargest)));
        V one = m_.F(1);
        const Sum squares = SumOfProducts(x.re, x.re, x.im, x.im);
        const Sum d = TwoSum(m_, m_.Add(x.re, x.re), squares.high);
        const Sum sum = TwoSum(m_, one, d.high);
        Rare(m_.Lt(sum.high, m_.F(0x1p-40)));
        V lost = m_.Add(sum.low, m_.Add(d.low, squares.low));
        V re = m_.Mul(m_.Add(EmitLog(m_, sum.high), m_.Div(lost, sum.high)), m_.F(0.5));
        return Element{re, EmitAtan2OfDouble(m_, x.im, m_.Add(x.re, one))};
      }
      case HloOpcode::kTanh:
        return m_.fma ? std::optional<Element>(Tanh(x)) : std::nullopt;
      case HloOpcode::kTan:
        return m_.fma ? std::optional<Element>(Tan(x)) : std::nullopt;
      case HloOpcode::kLogistic:
        return m_.fma ? std::optional<Element>(WideLogistic(x)) : std::nullopt;
      case HloOpcode::kPower: {
        if (!m_.fma) return std::nullopt;
        Bounded(x);
        return WidePower(x, y);
      }
      case HloOpcode::kSign: {
        V zero = BoundedOrZero(x), size = m_.Select(zero, m_.F(1), m_.Sqrt(Size2(x)));
        return Element{m_.Select(zero, m_.F(0), m_.Div(x.re, size)), m_.Select(zero, m_.F(0), m_.Div(x.im, size))};
      }
      default:
        return std::nullopt;
    }
  }

  void Rare(V condition) { rare_ = b_.CreateOr(rare_, condition); }
  // The larger part is of ordinary size. A zero is rare, too.
  void Bounded(Element x) {
    V size = LargerPart(x);
    Rare(b_.CreateNot(b_.CreateAnd(m_.Gt(size, m_.F(kSmallest)), m_.Lt(size, m_.F(kLargest)))));
  }
  // The same for functions whose value at zero is at hand: masked arrays have many. Returns where `x` is zero.
  V BoundedOrZero(Element x) {
    V size = LargerPart(x), zero = Zero(x);
    V ordinary = b_.CreateAnd(m_.Gt(size, m_.F(kSmallest)), m_.Lt(size, m_.F(kLargest)));
    Rare(b_.CreateNot(b_.CreateOr(ordinary, zero)));
    return zero;
  }
  V Zero(Element x) { return b_.CreateAnd(m_.Eq(x.re, m_.F(0)), m_.Eq(x.im, m_.F(0))); }
  V LargerPart(Element x) {
    V a = m_.Abs(x.re), b = m_.Abs(x.im);
    return m_.Select(m_.Gt(a, b), a, b);
  }

  V Size2(Element x) { return m_.Fma(x.re, x.re, m_.Mul(x.im, x.im)); }
  Element Times(Element x, V factor) { return {m_.Mul(x.re, factor), m_.Mul(x.im, factor)}; }
  Element Product(Element x, Element y) {
    return {m_.Fma(x.re, y.re, m_.Neg(m_.Mul(x.im, y.im))), m_.Fma(x.re, y.im, m_.Mul(x.im, y.re))};
  }
  // a b + c d, with what it loses by rounding.
  Sum SumOfProducts(V a, V b, V c, V d) {
    V first = m_.Mul(a, b), second = m_.Mul(c, d);
    V lost = m_.Add(m_.Fma(a, b, m_.Neg(first)), m_.Fma(c, d, m_.Neg(second)));
    const Sum sum = TwoSum(m_, first, second);
    return {sum.high, m_.Add(sum.low, lost)};
  }
  // a / b by an inverse of b, once corrected.
  V Quotient(const Sum& a, const Sum& b, V inverse) {
    V q = m_.Mul(a.high, inverse);
    V rest = m_.Add(m_.Fma(m_.Neg(q), b.high, a.high), m_.Fma(m_.Neg(q), b.low, a.low));
    return m_.Fma(rest, inverse, q);
  }

  // With `rest`, which c128 has: what they lose by rounding.
  SinCos SinCosOf(V x, SinCos* rest = nullptr) {
    Rare(b_.CreateFCmpUGE(m_.Abs(x), m_.F(narrow_ ? kMostReducedFloat : kMostReduced)));
    return narrow_ ? EmitSinCosForFloat(m_, x) : EmitSinCosOfDouble(m_, x, rest);
  }

  // Sine and cosine of either kind: sums of products of the circular functions of one part and the hyperbolic ones of
  // the other.
  Element SineOrCosine(HloOpcode op, Element x) {
    const bool hyperbolic = op == HloOpcode::kSinh || op == HloOpcode::kCosh;
    const SinCos angle = SinCosOf(hyperbolic ? x.im : x.re);
    const SinCos h = Hyperbolic(hyperbolic ? x.re : x.im);
    if (op == HloOpcode::kSine) return {m_.Mul(angle.sin, h.cos), m_.Mul(angle.cos, h.sin)};
    if (op == HloOpcode::kCosine) return {m_.Mul(angle.cos, h.cos), m_.Neg(m_.Mul(angle.sin, h.sin))};
    if (op == HloOpcode::kSinh) return {m_.Mul(h.sin, angle.cos), m_.Mul(h.cos, angle.sin)};
    return {m_.Mul(h.cos, angle.cos), m_.Mul(h.sin, angle.sin)};
  }

  SinCos Hyperbolic(V x, SinCos* rest = nullptr) {
    Rare(m_.Gt(m_.Abs(x), m_.F(kMostHyperbolic)));
    SinCos unused;
    return EmitHyperbolicOfDouble(m_, x, rest != nullptr ? rest : narrow_ ? nullptr : &unused);
  }

  Element Exp(Element x) {
    const SinCos angle = SinCosOf(x.im);
    return Times({angle.cos, angle.sin}, EmitExp(m_, x.re));
  }

  // The root's larger part from |z| and the real part's size, the other by division.
  Element Sqrt(Element x) {
    V size = m_.Sqrt(Size2(x));
    V large = m_.Sqrt(m_.Mul(m_.Add(size, m_.Abs(x.re)), m_.F(0.5)));
    V by = m_.Select(m_.Eq(large, m_.F(0)), m_.F(1), large);
    V small = m_.Div(m_.Mul(m_.Abs(x.im), m_.F(0.5)), by);
    V left = m_.SignBit(x.re);
    return {m_.Select(left, small, large), m_.CopySign(m_.Select(left, large, small), x.im)};
  }

  // The root of a sum, with what it loses by rounding, and the inverse of it.
  Sum RootOf(const Sum& x, V* inverse) {
    V root = m_.Sqrt(x.high);
    *inverse = m_.Div(m_.F(1), root);
    return {root, m_.Mul(m_.Add(m_.Fma(m_.Neg(root), root, x.high), x.low), m_.Mul(*inverse, m_.F(0.5)))};
  }

  // The conjugate of the root (Sqrt) over |z|.
  Element WideRsqrt(Element x) {
    V by_size, unused;
    const Sum size = RootOf(SumOfProducts(x.re, x.re, x.im, x.im), &by_size);
    const Sum sum = TwoSum(m_, size.high, m_.Abs(x.re));
    const Sum root = RootOf({m_.Mul(sum.high, m_.F(0.5)), m_.Mul(m_.Add(sum.low, size.low), m_.F(0.5))}, &unused);
    V large = Quotient(root, size, by_size);
    V product = m_.Mul(root.high, size.high);
    V lost =
        m_.Add(m_.Fma(root.high, size.high, m_.Neg(product)), m_.Fma(root.high, size.low, m_.Mul(root.low, size.high)));
    V small = Quotient({m_.Mul(m_.Abs(x.im), m_.F(0.5)), m_.F(0)}, {product, lost}, m_.Div(m_.F(1), product));
    V left = m_.SignBit(x.re);
    return {m_.Select(left, small, large), m_.CopySign(m_.Select(left, large, small), m_.Neg(x.im))};
  }

  // 1 / 0, where `zero` says so.
  Element RsqrtOrZeros(V zero, Element root) {
    known_ = zero;
    return {m_.Select(zero, m_.F(m_.inf()), root.re), m_.Select(zero, m_.F(m_.nan()), root.im)};
  }

  // e^(y log x), where what the logarithm loses by rounding counts as often as it is multiplied by.
  Element WidePower(Element x, Element y) {
    constexpr double kMost = 128, kPi = 3.14159265358979323846;  // of y log x
    Sum log = EmitLogOfSum(m_, SumOfProducts(x.re, x.re, x.im, x.im));
    log = {m_.Mul(log.high, m_.F(0.5)), m_.Mul(log.low, m_.F(0.5))};
    const Sum angle = EmitAtan2WithRest(m_, x.im, x.re);
    V a = m_.Abs(y.re), b = m_.Abs(y.im), size = m_.Select(m_.Gt(a, b), a, b);
    Rare(m_.Gt(size, m_.F(kMost / kPi)));
    Rare(m_.Gt(m_.Mul(size, m_.Abs(log.high)), m_.F(kMost)));
    const auto combine = [&](V u, const Sum& of_u, V v, const Sum& of_v) {
      Sum sum = SumOfProducts(u, of_u.high, v, of_v.high);
      sum.low = m_.Add(sum.low, m_.Fma(u, of_u.low, m_.Mul(v, of_v.low)));
      return sum;
    };
    V e = EmitExpOfSum(m_, combine(y.re, log, m_.Neg(y.im), angle));
    const Sum turn = combine(y.re, angle, y.im, log);
    const SinCos of_turn = SinCosOf(turn.high);
    return Times({m_.Fma(m_.Neg(turn.low), of_turn.sin, of_turn.cos), m_.Fma(turn.low, of_turn.cos, of_turn.sin)}, e);
  }

  // log(1 + d) / 2, where 1 + d is `sum`, which is as good unless it is near 1.
  V HalfLog(V d, const Sum& sum) {
    V near_one = m_.Lt(m_.Abs(d), m_.F(0.5));
    V u = m_.Select(near_one, m_.Add(d, m_.F(1)), sum.high);
    V lost = m_.Select(near_one, m_.Sub(d, m_.Sub(u, m_.F(1))), sum.low);
    return m_.Mul(m_.Add(EmitLog(m_, u), m_.Div(lost, u)), m_.F(0.5));
  }

  Element Log(Element x, bool to_last_place) {
    V a = m_.Abs(x.re), b = m_.Abs(x.im);
    V swap = m_.Lt(a, b);
    V large = m_.Select(swap, b, a), small = m_.Select(swap, a, b);
    V large2 = m_.Mul(large, large), small2 = m_.Mul(small, small);
    V d = m_.Sub(large2, m_.F(1));
    Sum sum{m_.Add(large2, small2), m_.F(0)};
    if (narrow_) {
      d = m_.Add(d, small2);
    } else {
      // large^2 - 1 is exact where it matters; what the squares and the sums lost comes after.
      V squares = m_.Add(m_.Fma(large, large, m_.Neg(large2)), m_.Fma(small, small, m_.Neg(small2)));
      const Sum less_one = TwoSum(m_, d, small2);
      d = m_.Add(less_one.high, m_.Add(less_one.low, squares));
      sum = TwoSum(m_, large2, small2);
      sum.low = m_.Add(sum.low, squares);
    }
    V angle = to_last_place ? EmitAtan2OfDouble(m_, x.im, x.re) : EmitAtan2ForFloat(m_, x.im, x.re);
    return {HalfLog(d, sum), angle};
  }

  // The logarithm; of zeros it is infinite, with the angle of their signs.
  Element LogOrZeros(Element x, V zero, bool to_last_place) {
    const Element log = Log(x, to_last_place);
    known_ = zero;
    return {m_.Select(zero, m_.F(-m_.inf()), log.re), log.im};
  }

  // x^2 + y^2; for doubles also where most of it cancels.
  Element SumOfSquares(Element x, Element y) {
    if (narrow_) {
      const Element xx = Product(x, x), yy = Product(y, y);
      return {m_.Add(xx.re, yy.re), m_.Add(xx.im, yy.im)};
    }
    const Sum of_x = SumOfProducts(x.re, x.re, m_.Neg(x.im), x.im);
    const Sum of_y = SumOfProducts(y.re, y.re, m_.Neg(y.im), y.im);
    const Sum re = TwoSum(m_, of_x.high, of_y.high);
    const Sum half = SumOfProducts(x.re, x.im, y.re, y.im);
    V im = m_.Add(half.high, half.low);
    return {m_.Add(re.high, m_.Add(re.low, m_.Add(of_x.low, of_y.low))), m_.Add(im, im)};
  }

  // -i log((y + i x) / sqrt(x^2 + y^2))
  Element Atan2(Element x, Element y) {
    const Element root = Sqrt(SumOfSquares(x, y));
    const Element sum{m_.Sub(y.re, x.im), m_.Add(y.im, x.re)};
    const Element turned = Product(sum, {root.re, m_.Neg(root.im)});
    const Element log = Log(Times(turned, m_.Div(m_.F(1), Size2(root))), true);
    return {log.im, m_.Neg(log.re)};
  }

  // (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b)
  Element Tanh(Element x) {
    SinCos rest, angle_rest;
    const SinCos angle = SinCosOf(x.im, narrow_ ? nullptr : &angle_rest);
    const SinCos h = Hyperbolic(x.re, narrow_ ? nullptr : &rest);
    if (!narrow_) {
      Sum size = SumOfProducts(h.sin, h.sin, angle.cos, angle.cos);
      size.low = m_.Fma(m_.Add(h.sin, h.sin), rest.sin, size.low);
      size.low = m_.Fma(m_.Add(angle.cos, angle.cos), angle_rest.cos, size.low);
      V inverse = m_.Div(m_.F(1), size.high);
      const auto product = [&](V a, V b) {
        V high = m_.Mul(a, b);
        return Sum{high, m_.Fma(a, b, m_.Neg(high))};
      };
      Sum re = product(h.sin, h.cos);
      re.low = m_.Add(re.low, m_.Fma(rest.sin, h.cos, m_.Mul(h.sin, rest.cos)));
      Sum im = product(angle.sin, angle.cos);
      im.low = m_.Add(im.low, m_.Fma(angle_rest.sin, angle.cos, m_.Mul(angle.sin, angle_rest.cos)));
      return {Quotient(re, size, inverse), Quotient(im, size, inverse)};
    }
    V inverse = m_.Div(m_.F(1), m_.Fma(h.sin, h.sin, m_.Mul(angle.cos, angle.cos)));
    return Times({m_.Mul(h.sin, h.cos), m_.Mul(angle.sin, angle.cos)}, inverse);
  }

  // -i tanh(i z)
  Element Tan(Element x) {
    const Element t = Tanh({m_.Neg(x.im), x.re});
    return {t.im, m_.Neg(t.re)};
  }

  // With z = 2 a + 2 i b: (e^a (cosh a cos^2 b + sinh a sin^2 b) + i sin b cos b) / 2 (sinh^2 a + cos^2 b). No sum
  // loses digits that the result has, near the poles neither.
  Element WideLogistic(Element x) {
    V half = m_.F(0.5);
    SinCos angle_rest;
    const SinCos angle = SinCosOf(m_.Mul(x.im, half), &angle_rest);
    V a = m_.Mul(x.re, half), sin = angle.sin, cos = angle.cos;
    SinCos rest;
    const SinCos h = Hyperbolic(a, &rest);
    Sum cos2 = TwoProduct(m_, cos, cos), sin2 = TwoProduct(m_, sin, sin);
    cos2.low = m_.Fma(m_.Add(cos, cos), angle_rest.cos, cos2.low);
    sin2.low = m_.Fma(m_.Add(sin, sin), angle_rest.sin, sin2.low);
    Sum im = TwoProduct(m_, sin, cos);
    im.low = m_.Fma(sin, angle_rest.cos, m_.Fma(angle_rest.sin, cos, im.low));
    Sum size = SumOfProducts(h.sin, h.sin, cos, cos);
    size.low = m_.Fma(m_.Add(h.sin, h.sin), rest.sin, m_.Fma(m_.Add(cos, cos), angle_rest.cos, size.low));
    V inverse = m_.Div(m_.F(1), size.high);
    Sum sum = SumOfProducts(h.cos, cos2.high, h.sin, sin2.high);
    sum.low = m_.Add(sum.low, m_.Fma(h.cos, cos2.low, m_.Mul(h.sin, sin2.low)));
    sum.low = m_.Add(sum.low, m_.Fma(rest.cos, cos2.high, m_.Mul(rest.sin, sin2.high)));
    // e^|a| or its inverse
    Sum e = TwoSum(m_, h.cos, m_.Abs(h.sin));
    e.low = m_.Add(e.low, m_.Fma(rest.sin, m_.CopySign(m_.F(1), a), rest.cos));
    V by_e = m_.Div(m_.F(1), e.high);
    V by_e_rest = m_.Mul(by_e, m_.Fma(m_.Neg(by_e), e.low, m_.Fma(m_.Neg(by_e), e.high, m_.F(1))));
    V left = m_.SignBit(a);
    e = {m_.Select(left, by_e, e.high), m_.Select(left, by_e_rest, e.low)};
    Sum re = TwoProduct(m_, e.high, sum.high);
    re.low = m_.Add(re.low, m_.Fma(e.high, sum.low, m_.Mul(e.low, sum.high)));
    return Times({Quotient(re, size, inverse), Quotient(im, size, inverse)}, half);
  }

  MathBuilder& m_;
  llvm::IRBuilderBase& b_;
  const bool narrow_;
  V rare_;
  V known_ = nullptr;  // lanes whose result needs no second look though it is not finite
};

}  // namespace

std::optional<ComplexResult> EmitComplexMath(MathBuilder& m, HloOpcode op, bool narrow, Element x, Element y) {
  return ComplexMath(m, narrow).Emit(op, x, y);
}

}  // namespace xc::codegen
