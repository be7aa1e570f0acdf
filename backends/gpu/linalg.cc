// triangular-solve and cholesky in their plainest form: a thread for each right-hand side, or for each matrix.
#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::Loop;
using V = llvm::Value*;

// Arithmetic on numbers of one type, real or complex, and their places in batches of matrices.
class Numbers {
 public:
  Numbers(KernelFunction& f, int32_t type) : f_(f), b_(f.b()), type_(static_cast<ElementType>(type)) {}

  V I(int64_t value) { return f_.Index(value); }
  V At(const int64_t strides[3], V batch, V row, V column) {
    V at = b_.CreateMul(batch, I(strides[0]));
    at = b_.CreateAdd(at, b_.CreateMul(row, I(strides[1])));
    return b_.CreateAdd(at, b_.CreateMul(column, I(strides[2])));
  }
  Element Load(int argument, V at) {
    llvm::Type* scalar = f_.element().MemoryType(type_);
    const auto part = [&](V place) {
      return b_.CreateLoad(scalar, b_.CreateGEP(scalar, f_.argument(argument), place));
    };
    if (!IsComplex(type_)) return {part(at)};
    V twice = b_.CreateMul(at, I(2));
    return {part(twice), part(b_.CreateAdd(twice, I(1)))};
  }
  void Store(int argument, V at, Element x) {
    llvm::Type* scalar = f_.element().MemoryType(type_);
    const auto part = [&](V place, V value) {
      b_.CreateStore(value, b_.CreateGEP(scalar, f_.argument(argument), place));
    };
    if (!IsComplex(type_)) return part(at, x.re);
    V twice = b_.CreateMul(at, I(2));
    part(twice, x.re);
    part(b_.CreateAdd(twice, I(1)), x.im);
  }
  Element Zero() { return f_.element().ZeroOf(type_); }
  Element Nan() {
    V nan = llvm::ConstantFP::getNaN(Zero().re->getType());
    return {nan, IsComplex(type_) ? nan : nullptr};
  }
  Element Conjugate(Element x) { return {x.re, x.im == nullptr ? nullptr : b_.CreateFNeg(x.im)}; }
  // z - x * y
  Element Subtract(Element z, Element x, Element y) {
    V minus = b_.CreateFNeg(x.re);
    if (x.im == nullptr) return {Fma(minus, y.re, z.re)};
    return {Fma(x.im, y.im, Fma(minus, y.re, z.re)), Fma(b_.CreateFNeg(x.im), y.re, Fma(minus, y.im, z.im))};
  }
  Element Divide(Element x, Element y) {
    if (x.im == nullptr) return {b_.CreateFDiv(x.re, y.re)};
    V size = Fma(y.re, y.re, b_.CreateFMul(y.im, y.im));
    V re = Fma(x.re, y.re, b_.CreateFMul(x.im, y.im)), im = Fma(x.im, y.re, b_.CreateFNeg(b_.CreateFMul(x.re, y.im)));
    return {b_.CreateFDiv(re, size), b_.CreateFDiv(im, size)};
  }
  Element Select(V condition, Element x, Element y) {
    return {b_.CreateSelect(condition, x.re, y.re), x.im == nullptr ? nullptr : b_.CreateSelect(condition, x.im, y.im)};
  }
  V Fma(V x, V y, V z) { return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z}); }

 private:
  KernelFunction& f_;
  llvm::IRBuilder<>& b_;
  const ElementType type_;
};

}  // namespace

absl::Status EmitTriangularSolve(KernelFunction& f, const TriangularSolveDesc& desc) {
  const int64_t n = desc.left_side ? desc.rows : desc.cols, vectors = desc.left_side ? desc.cols : desc.rows;
  return f.ForEach(desc.batch * vectors, [&](V number) -> absl::Status {
    auto& b = f.b();
    Numbers numbers(f, desc.type);
    V batch = b.CreateUDiv(number, f.Index(vectors)), vector = b.CreateURem(number, f.Index(vectors));
    // Row i of the matrix that multiplies the vector: of op(a), or from the right of its transpose.
    const bool transposed = (desc.transpose_a != 1) != (desc.left_side == 0);
    const bool lower = (desc.lower != 0) != transposed;
    const auto entry = [&](V i, V k) {
      const Element x = numbers.Load(0, transposed ? numbers.At(desc.a, batch, k, i) : numbers.At(desc.a, batch, i, k));
      return desc.transpose_a == 3 ? numbers.Conjugate(x) : x;
    };
    const auto place = [&](const int64_t strides[3], V i) {
      return desc.left_side ? numbers.At(strides, batch, i, vector) : numbers.At(strides, batch, vector, i);
    };
    const auto from_end = [&](V i) { return lower ? i : b.CreateSub(f.Index(n - 1), i); };
    Loop rows(b, f.Index(0), f.Index(n), 1, "row");
    V i = from_end(rows.index());
    const Element right = numbers.Load(1, place(desc.b, i));
    Loop known(b, f.Index(0), rows.index(), 1, "known");
    const Element rest = codegen::CarryInto(known, right);
    V k = from_end(known.index());
    const Element next = numbers.Subtract(rest, entry(i, k), numbers.Load(2, place(desc.out, k)));
    codegen::EndLoop(known, {&next, 1});
    numbers.Store(2, place(desc.out, i), desc.unit_diagonal ? rest : numbers.Divide(rest, entry(i, i)));
    rows.End();
    return absl::OkStatus();
  });
}

absl::Status EmitCholesky(KernelFunction& f, const CholeskyDesc& desc) {
  return f.ForEach(desc.batch, [&](V batch) -> absl::Status {
    auto& b = f.b();
    Numbers numbers(f, desc.type);
    // Entry (i, k) of the lower factor, or of the adjoint of the upper one.
    const auto place = [&](const int64_t strides[3], V i, V k) {
      return desc.lower ? numbers.At(strides, batch, i, k) : numbers.At(strides, batch, k, i);
    };
    const auto load = [&](int argument, const int64_t strides[3], V i, V k) {
      const Element x = numbers.Load(argument, place(strides, i, k));
      return desc.lower ? x : numbers.Conjugate(x);
    };
    const auto store = [&](V i, V k, Element x) {
      numbers.Store(1, place(desc.out, i, k), desc.lower ? x : numbers.Conjugate(x));
    };
    Loop columns(b, f.Index(0), f.Index(desc.n), 1, "column");
    V fine = columns.Carry(b.getTrue());
    V j = columns.index();
    Loop rows(b, f.Index(0), f.Index(desc.n), 1, "row");
    V i = rows.index();
    V below = b.CreateICmpSGE(i, j);
    // Above the diagonal the factor is 0, and nothing is read: the loop has no steps.
    const Element start = numbers.Select(below, load(0, desc.in, b.CreateSelect(below, i, j), j), numbers.Zero());
    Loop known(b, f.Index(0), b.CreateSelect(below, j, f.Index(0)), 1, "known");
    const Element rest = codegen::CarryInto(known, start);
    const Element next = numbers.Subtract(rest, load(1, desc.out, i, known.index()),
                                          numbers.Conjugate(load(1, desc.out, j, known.index())));
    codegen::EndLoop(known, {&next, 1});
    V diagonal = b.CreateICmpEQ(i, j);
    V root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, rest.re);
    V zero = llvm::Constant::getNullValue(root->getType());
    const Element on_diagonal{root, rest.im == nullptr ? nullptr : zero};
    // The diagonal's entry of this column is there when the rows below come; rows above are not divided.
    V divisor_row = b.CreateSelect(b.CreateICmpSGT(i, j), j, f.Index(0));
    const Element divisor = load(1, desc.out, divisor_row, divisor_row);
    const Element entry = numbers.Select(diagonal, on_diagonal, numbers.Divide(rest, divisor));
    store(i, j, numbers.Select(below, entry, numbers.Zero()));
    rows.End();
    // No positive number on the diagonal: not positive definite.
    V positive = b.CreateFCmpOGT(load(1, desc.out, j, j).re, zero);
    columns.SetNext(0, b.CreateAnd(fine, positive));
    columns.End();
    return f.If(b.CreateNot(columns.Result(0)), [&] {
      Loop all_rows(b, f.Index(0), f.Index(desc.n), 1, "row");
      Loop all(b, f.Index(0), f.Index(desc.n), 1, "column");
      store(all_rows.index(), all.index(), numbers.Nan());
      all.End();
      all_rows.End();
      return absl::OkStatus();
    });
  });
}

}  // namespace xc::gpu
