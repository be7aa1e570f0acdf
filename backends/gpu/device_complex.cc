// Functions of complex numbers that emitted code calls for rare arguments and rare functions, where the CPU has the C++
// library: void name(const double* x, const double* y, double* result), numbers as pairs. Infinities and NaN as in C's
// Annex G where that is more than what the formulas give.
#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/codegen/math_builder.h"
#include "backends/gpu/emitter_impl.h"

namespace xc::gpu {
namespace {

using codegen::MathBuilder;
using codegen::MathOp;
using V = llvm::Value*;

struct Complex {
  V re, im;
};

class ComplexWriter {
 public:
  explicit ComplexWriter(MathBuilder& m) : m(m), b(m.b) {}
  using C = Complex;

  C Number(double re, double im = 0) { return {m.F(re), m.F(im)}; }
  C Add(C x, C y) { return {m.Add(x.re, y.re), m.Add(x.im, y.im)}; }
  C Sub(C x, C y) { return {m.Sub(x.re, y.re), m.Sub(x.im, y.im)}; }
  C Neg(C x) { return {m.Neg(x.re), m.Neg(x.im)}; }
  C TimesI(C x) { return {m.Neg(x.im), x.re}; }
  C OverI(C x) { return {x.im, m.Neg(x.re)}; }
  C Times(C x, V factor) { return {m.Mul(x.re, factor), m.Mul(x.im, factor)}; }
  C Mul(C x, C y) { return {m.Fma(x.re, y.re, m.Neg(m.Mul(x.im, y.im))), m.Fma(x.re, y.im, m.Mul(x.im, y.re))}; }
  C Select(V condition, C x, C y) { return {m.Select(condition, x.re, y.re), m.Select(condition, x.im, y.im)}; }
  V IsInf(V x) { return m.Eq(m.Abs(x), m.F(m.inf())); }
  V IsFinite(V x) { return m.Lt(m.Abs(x), m.F(m.inf())); }
  V And(V x, V y) { return b.CreateAnd(x, y); }
  V Or(V x, V y) { return b.CreateOr(x, y); }
  V AnyInf(C x) { return Or(IsInf(x.re), IsInf(x.im)); }
  V AllFinite(C x) { return And(IsFinite(x.re), IsFinite(x.im)); }
  V Real(MathOp op, V x, V y = nullptr) { return codegen::EmitMath(b, op, /*fma=*/true, x, y); }

  // A power of two near the larger part, by which parts are divided before they are squared.
  V ScaleOf(C x) {
    V larger = Larger(m.Abs(x.re), m.Abs(x.im));
    V exponent = b.CreateAnd(b.CreateLShr(m.Bits(larger), m.I(52)), m.I(0x7ff));
    V low = b.CreateICmpULT(exponent, m.I(2)), high = b.CreateICmpUGT(exponent, m.I(2044));
    exponent = b.CreateSelect(low, m.I(2), b.CreateSelect(high, m.I(2044), exponent));
    return m.Float(b.CreateShl(exponent, m.I(52)));
  }
  V Larger(V x, V y) { return m.Select(m.Gt(x, y), x, y); }
  V Inverse(V power) { return m.Float(b.CreateSub(m.I(int64_t{2046} << 52), m.Bits(power))); }
  V Abs(C x) {
    V scale = ScaleOf(x);
    const C s = Times(x, Inverse(scale));
    V size = m.Mul(m.Sqrt(m.Fma(s.re, s.re, m.Mul(s.im, s.im))), scale);
    return m.Select(AnyInf(x), m.F(m.inf()), size);
  }

  C Div(C x, C y) {
    V scale = Inverse(ScaleOf(y));
    const C s = Times(y, scale);
    V size = m.Fma(s.re, s.re, m.Mul(s.im, s.im));
    const auto part = [&](V a, V c, V d, V e) { return m.Mul(m.Div(m.Fma(a, c, m.Mul(d, e)), size), scale); };
    const C z{part(x.re, s.re, x.im, s.im), part(x.im, s.re, m.Neg(x.re), s.im)};
    // A number by zero, an infinity by a number, a number by an infinity.
    V zero = And(m.Eq(y.re, m.F(0)), m.Eq(y.im, m.F(0)));
    V some = Or(b.CreateFCmpORD(x.re, x.re), b.CreateFCmpORD(x.im, x.im));
    V inf = m.CopySign(m.F(m.inf()), y.re);
    C result = Select(And(zero, some), {m.Mul(inf, x.re), m.Mul(inf, x.im)}, z);
    const auto unit = [&](V v) { return m.CopySign(m.Select(IsInf(v), m.F(1), m.F(0)), v); };
    {
      const C u{unit(x.re), unit(x.im)};
      const C infinite =
          Times({m.Fma(u.re, y.re, m.Mul(u.im, y.im)), m.Fma(u.im, y.re, m.Neg(m.Mul(u.re, y.im)))}, m.F(m.inf()));
      result = Select(And(AnyInf(x), AllFinite(y)), infinite, result);
    }
    const C u{unit(y.re), unit(y.im)};
    const C vanishing =
        Times({m.Fma(x.re, u.re, m.Mul(x.im, u.im)), m.Fma(x.im, u.re, m.Neg(m.Mul(x.re, u.im)))}, m.F(0));
    return Select(And(AllFinite(x), AnyInf(y)), vanishing, result);
  }

  C Exp(C x) {
    V e = Real(MathOp::kExp, x.re);
    V cos = Real(MathOp::kCos, x.im), sin = Real(MathOp::kSin, x.im);
    // Beyond the range of e^x, products may be inside of it.
    V big = m.Gt(x.re, m.F(709));
    V part = Real(MathOp::kExp, m.Sub(x.re, m.F(600)));
    V rest = m.F(3.7730203009299397e+260);  // e^600
    C z{m.Select(big, m.Mul(m.Mul(part, cos), rest), m.Mul(e, cos)),
        m.Select(big, m.Mul(m.Mul(part, sin), rest), m.Mul(e, sin))};
    z = Select(m.Eq(x.im, m.F(0)), {e, x.im}, z);
    const C vanishing{m.CopySign(m.F(0), m.Select(IsFinite(x.im), cos, m.F(1))),
                      m.CopySign(m.F(0), m.Select(IsFinite(x.im), sin, x.im))};
    z = Select(m.Eq(x.re, m.F(-m.inf())), vanishing, z);
    return Select(And(m.Eq(x.re, m.F(m.inf())), b.CreateNot(IsFinite(x.im))), {x.re, m.F(m.nan())}, z);
  }

  C Log(C x) {
    V scale = ScaleOf(x);
    const C s = Times(x, Inverse(scale));
    V size2 = m.Fma(s.re, s.re, m.Mul(s.im, s.im));
    V far = m.Fma(m.F(0.5), Real(MathOp::kLog, size2), Real(MathOp::kLog, scale));
    // |x|^2 - 1 without cancellation where |x| is near 1.
    V ar = m.Abs(x.re), ai = m.Abs(x.im);
    V large = Larger(ar, ai), small = m.Select(m.Gt(ar, ai), ai, ar);
    V d = m.Fma(m.Sub(large, m.F(1)), m.Add(large, m.F(1)), m.Mul(small, small));
    V near = m.Mul(m.F(0.5), Real(MathOp::kLog1p, d));
    V is_near = And(m.Gt(large, m.F(0.5)), m.Lt(large, m.F(2)));
    is_near = And(is_near, m.Lt(m.Abs(d), m.F(0.5)));
    V re = m.Select(is_near, near, far);
    re = m.Select(And(m.Eq(x.re, m.F(0)), m.Eq(x.im, m.F(0))), m.F(-m.inf()), re);
    re = m.Select(AnyInf(x), m.F(m.inf()), re);
    return {re, Real(MathOp::kAtan2, x.im, x.re)};
  }

  C Sqrt(C x) {
    V scale = ScaleOf(x);
    // An even power, so that its root is one.
    scale = m.Float(b.CreateAnd(m.Bits(scale), m.I(~(int64_t{1} << 52))));
    scale = m.Select(m.Lt(scale, m.F(0x1p-1020)), m.F(0x1p-1020), scale);
    V root_of_scale = m.Sqrt(scale);
    const C s = Times(x, Inverse(scale));
    V size = m.Sqrt(m.Fma(s.re, s.re, m.Mul(s.im, s.im)));
    V large = m.Sqrt(m.Mul(m.Add(size, m.Abs(s.re)), m.F(0.5)));
    V little = m.Div(m.Mul(m.Abs(s.im), m.F(0.5)), large);
    large = m.Mul(large, root_of_scale);
    little = m.Mul(little, root_of_scale);
    V left = m.SignBit(x.re);
    C z{m.Select(left, little, large), m.CopySign(m.Select(left, large, little), x.im)};
    z = Select(And(m.Eq(x.re, m.F(0)), m.Eq(x.im, m.F(0))), {m.F(0), x.im}, z);
    V right_inf = And(IsInf(x.re), b.CreateNot(left)), left_inf = And(IsInf(x.re), left);
    V of_nan = m.Select(m.IsNan(x.im), x.im, m.CopySign(m.F(0), x.im));
    z = Select(right_inf, {m.F(m.inf()), of_nan}, z);
    z = Select(left_inf, {m.Select(m.IsNan(x.im), x.im, m.F(0)), m.CopySign(m.F(m.inf()), x.im)}, z);
    return Select(IsInf(x.im), {m.F(m.inf()), x.im}, z);
  }

  C Sinh(C x) {
    V sin = Real(MathOp::kSin, x.im), cos = Real(MathOp::kCos, x.im);
    C z{m.Mul(Real(MathOp::kSinh, x.re), cos), m.Mul(Real(MathOp::kCosh, x.re), sin)};
    V real = m.Eq(x.im, m.F(0));
    z = Select(real, {Real(MathOp::kSinh, x.re), x.im}, z);
    return Select(And(m.Eq(x.re, m.F(0)), b.CreateNot(IsFinite(x.im))), {x.re, m.F(m.nan())}, z);
  }
  C Cosh(C x) {
    V sin = Real(MathOp::kSin, x.im), cos = Real(MathOp::kCos, x.im);
    C z{m.Mul(Real(MathOp::kCosh, x.re), cos), m.Mul(Real(MathOp::kSinh, x.re), sin)};
    V real = m.Eq(x.im, m.F(0));
    V zero = m.CopySign(m.Select(m.SignBit(x.re), m.Neg(x.im), x.im),
                        m.Mul(m.CopySign(m.F(1), x.re), m.CopySign(m.F(1), x.im)));
    z = Select(real, {Real(MathOp::kCosh, x.re), zero}, z);
    return Select(And(m.Eq(x.re, m.F(0)), b.CreateNot(IsFinite(x.im))), {m.F(m.nan()), m.F(0)}, z);
  }
  C Tanh(C x) {
    V sinh = Real(MathOp::kSinh, x.re), cosh = Real(MathOp::kCosh, x.re);
    V sin = Real(MathOp::kSin, x.im), cos = Real(MathOp::kCos, x.im);
    V size = m.Fma(sinh, sinh, m.Mul(cos, cos));
    C z{m.Div(m.Mul(sinh, cosh), size), m.Div(m.Mul(sin, cos), size)};
    V zero = m.CopySign(m.F(0), m.Select(IsFinite(x.im), m.Mul(sin, cos), x.im));
    z = Select(m.Gt(m.Abs(x.re), m.F(22)), {m.CopySign(m.F(1), x.re), zero}, z);
    return Select(And(m.Eq(x.im, m.F(0)), m.IsNan(x.re)), x, z);
  }
  C Expm1(C x) {
    V half = Real(MathOp::kSin, m.Mul(x.im, m.F(0.5)));
    V cos = Real(MathOp::kCos, x.im), sin = Real(MathOp::kSin, x.im);
    V re = m.Fma(Real(MathOp::kExpm1, x.re), cos, m.Mul(m.Mul(half, half), m.F(-2)));
    return {re, m.Mul(Real(MathOp::kExp, x.re), sin)};
  }
  C Log1p(C x) {
    const C sum{m.Add(x.re, m.F(1)), x.im};
    V near = m.Lt(Larger(m.Abs(x.re), m.Abs(x.im)), m.F(0.35));
    V d = m.Fma(x.im, x.im, m.Mul(x.re, m.Add(x.re, m.F(2))));
    const C small{m.Mul(m.F(0.5), Real(MathOp::kLog1p, d)), Real(MathOp::kAtan2, x.im, sum.re)};
    return Select(near, small, Log(sum));
  }
  C Power(C x, C y) {
    V x_zero = And(m.Eq(x.re, m.F(0)), m.Eq(x.im, m.F(0))), y_zero = And(m.Eq(y.re, m.F(0)), m.Eq(y.im, m.F(0)));
    const C z = Exp(Mul(y, Log(x)));
    // Special cases as in backends/runtime/complex_power.h.
    const V real = And(m.Eq(x.im, m.F(0)), m.Eq(y.im, m.F(0))), positive = m.Gt(y.re, m.F(0));
    V infinite = And(real, m.Eq(x.re, m.F(m.inf())));
    V ordinary = And(AllFinite(x), And(AllFinite(y), b.CreateNot(x_zero)));
    C special = Select(ordinary, z, {m.F(m.nan()), m.F(m.nan())});
    special = Select(And(And(x_zero, real), positive), Number(0), special);
    special = Select(And(infinite, positive), C{m.F(m.inf()), m.F(0)}, special);
    special = Select(And(infinite, m.Lt(y.re, m.F(0))), Number(0), special);
    V one = And(m.Eq(x.re, m.F(1)), m.Eq(x.im, m.F(0)));
    return Select(Or(y_zero, one), Number(1), special);
  }
  C Asinh(C x) {
    // log(x + sqrt(x^2 + 1)), on the side where nothing cancels.
    V left = m.SignBit(x.re);
    const C a = Select(left, Neg(x), x);
    const C z = Log(Add(a, Sqrt(Add(Mul(a, a), Number(1)))));
    return Select(left, Neg(z), z);
  }
  C Atanh(C x) { return Times(Sub(Log1p(x), Log1p(Neg(x))), m.F(0.5)); }
  // 2 log(sqrt((x + 1) / 2) + sqrt((x - 1) / 2))
  C Acosh(C x) {
    const C up = Sqrt(Times(Add(x, Number(1)), m.F(0.5))), down = Sqrt(Times(Sub(x, Number(1)), m.F(0.5)));
    return Times(Log(Add(up, down)), m.F(2));
  }
  // -i log((y + i x) / sqrt(x^2 + y^2))
  C Atan2(C x, C y) { return OverI(Log(Div(Add(y, TimesI(x)), Sqrt(Add(Mul(x, x), Mul(y, y)))))); }

  MathBuilder& m;
  llvm::IRBuilderBase& b;
};

struct ComplexBody {
  std::function<Complex(ComplexWriter&, Complex, Complex)> write;
  bool binary = false;
};

const absl::flat_hash_map<std::string, ComplexBody>& ComplexBodies() {
  using W = ComplexWriter;
  using C = Complex;
  static const auto* const kBodies = new absl::flat_hash_map<std::string, ComplexBody>{
      {"div", {[](W& w, C x, C y) { return w.Div(x, y); }, true}},
      {"pow", {[](W& w, C x, C y) { return w.Power(x, y); }, true}},
      {"atan2", {[](W& w, C x, C y) { return w.Atan2(x, y); }, true}},
      {"abs", {[](W& w, C x, C) {
         return C{w.Abs(x), w.m.F(0)};
       }}},
      {"exp", {[](W& w, C x, C) { return w.Exp(x); }}},
      {"expm1", {[](W& w, C x, C) { return w.Expm1(x); }}},
      {"log", {[](W& w, C x, C) { return w.Log(x); }}},
      {"log1p", {[](W& w, C x, C) { return w.Log1p(x); }}},
      {"sqrt", {[](W& w, C x, C) { return w.Sqrt(x); }}},
      {"rsqrt", {[](W& w, C x, C) { return w.Div(w.Number(1), w.Sqrt(x)); }}},
      {"cbrt", {[](W& w, C x, C) { return w.Power(x, w.Number(1.0 / 3)); }}},
      {"tanh", {[](W& w, C x, C) { return w.Tanh(x); }}},
      {"tan", {[](W& w, C x, C) { return w.OverI(w.Tanh(w.TimesI(x))); }}},
      {"sin", {[](W& w, C x, C) { return w.OverI(w.Sinh(w.TimesI(x))); }}},
      {"cos", {[](W& w, C x, C) { return w.Cosh(w.TimesI(x)); }}},
      {"sinh", {[](W& w, C x, C) { return w.Sinh(x); }}},
      {"cosh", {[](W& w, C x, C) { return w.Cosh(x); }}},
      {"asinh", {[](W& w, C x, C) { return w.Asinh(x); }}},
      {"acosh", {[](W& w, C x, C) { return w.Acosh(x); }}},
      {"atanh", {[](W& w, C x, C) { return w.Atanh(x); }}},
      {"asin", {[](W& w, C x, C) { return w.OverI(w.Asinh(w.TimesI(x))); }}},
      {"acos", {[](W& w, C x, C) {
         const C asin = w.OverI(w.Asinh(w.TimesI(x)));
         return C{w.m.Sub(w.m.F(1.57079632679489661923), asin.re), w.m.Neg(asin.im)};
       }}},
      {"logistic", {[](W& w, C x, C) { return w.Div(w.Number(1), w.Add(w.Number(1), w.Exp(w.Neg(x)))); }}},
      {"sign", {[](W& w, C x, C) {
         V size = w.Abs(x);
         const C z{w.m.Div(x.re, size), w.m.Div(x.im, size)};
         return w.Select(w.m.Eq(size, w.m.F(0)), w.Number(0), z);
       }}},
  };
  return *kBodies;
}

}  // namespace

void DefineDeviceComplexMath(llvm::Module& module) {
  std::vector<std::pair<llvm::Function*, const ComplexBody*>> declared;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) continue;
    for (const auto& [name, body] : ComplexBodies()) {
      const std::string own = function.getName().str();
      if (own == "xc_cmath_" + name || own == "xc_cmath_wide_" + name) declared.push_back({&function, &body});
    }
  }
  for (const auto& [function, body] : declared) {
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", function));
    MathBuilder m(b, b.getDoubleTy(), /*fma=*/true);
    ComplexWriter writer(m);
    const auto place = [&](int argument, int part) {
      return b.CreateConstGEP1_32(m.type, function->getArg(argument), part);
    };
    const auto load = [&](int argument) {
      return Complex{b.CreateLoad(m.type, place(argument, 0)), b.CreateLoad(m.type, place(argument, 1))};
    };
    // Functions of one number are given no second one.
    const Complex z = body->write(writer, load(0), body->binary ? load(1) : writer.Number(0));
    b.CreateStore(z.re, place(2, 0));
    b.CreateStore(z.im, place(2, 1));
    b.CreateRetVoid();
  }
}

}  // namespace xc::gpu
