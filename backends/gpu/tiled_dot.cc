// Matrix products by tiles: a block of threads computes a tile of the result, each thread a few neighbours in both
// dimensions, from tiles of both operands that the block has brought into shared memory.
#include <algorithm>

#include "backends/gpu/dots.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::Loop;
using V = llvm::Value*;

// A block has kSide * kSide threads, and takes kDepth steps of k at a time.
constexpr int64_t kSide = 16, kDepth = 16;
// Blocks for which each thread gets more to do: the large tiles then still give every multiprocessor some.
constexpr int64_t kManyBlocks = 256;

class TiledMatmul {
 public:
  TiledMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result)
      : f_(f),
        result_(result),
        b_(f.b()),
        at_(f),
        desc_(desc),
        sum_(f, desc.a_type, desc.b_type, desc.c_type),
        each_(BlocksOf(desc, 4 * kSide) >= kManyBlocks ? 4 : 2),
        tile_(each_ * kSide) {}

  absl::Status Write() {
    return f_.ForEachBlock(BlocksOf(desc_, tile_), kSide * kSide, [&](V block) { return WriteBlock(block); });
  }

 private:
  // A tile of an operand in shared memory: kDepth rows of `tile_` elements of the sum's type, of one more vector each,
  // so that threads that write one column do not all meet in one bank.
  struct Tile {
    V memory, base;  // the operand's first element of this batch
    V first;         // the tile's first row or column
    int64_t size;    // of the operand
    int64_t stride, k_stride;
    bool of_a;
  };

  absl::Status WriteBlock(V block) {
    V rest = block;
    V n0 = at_.Times(at_.Take(&rest, Tiles(desc_.n, tile_)), tile_);
    V m0 = at_.Times(at_.Take(&rest, Tiles(desc_.m, tile_)), tile_);
    V a = at_.Const(0), b = at_.Const(0), c = at_.Const(0);
    for (int i = desc_.num_batch_dims; i-- > 0;) {
      V batch = at_.Take(&rest, desc_.batch[i]);
      a = at_.Add(a, at_.Times(batch, desc_.a_batch[i]));
      b = at_.Add(b, at_.Times(batch, desc_.b_batch[i]));
      c = at_.Add(c, at_.Times(batch, desc_.c_batch[i]));
    }
    scalar_ = f_.element().RegisterType(sum_.type());
    const Tile tile_a{f_.SharedMemory(scalar_, kDepth * Pitch()), a, m0, desc_.m, desc_.a_m, desc_.a_k, true};
    const Tile tile_b{f_.SharedMemory(scalar_, kDepth * Pitch()), b, n0, desc_.n, desc_.b_n, desc_.b_k, false};
    thread_ = f_.Thread();
    V column = b_.CreateAnd(thread_, at_.Const(kSide - 1)), row = b_.CreateUDiv(thread_, at_.Const(kSide));
    std::vector<V> sums(each_ * each_, sum_.Zero().re);
    const int64_t whole = desc_.k / kDepth * kDepth;
    if (whole > 0) {
      Loop loop(b_, at_.Const(0), at_.Const(whole), kDepth, "k");
      for (V& sum : sums) sum = loop.Carry(sum);
      std::vector<V> next = sums;
      WriteSteps(tile_a, tile_b, loop.index(), kDepth, row, column, &next);
      for (size_t i = 0; i < next.size(); ++i) loop.SetNext(static_cast<int>(i), next[i]);
      loop.End();
      for (size_t i = 0; i < sums.size(); ++i) sums[i] = loop.Result(static_cast<int>(i));
    }
    if (desc_.k > whole) WriteSteps(tile_a, tile_b, at_.Const(whole), desc_.k - whole, row, column, &sums);
    return Store(at_.Add(m0, at_.Times(row, each_)), at_.Add(n0, at_.Times(column, each_)), c, sums);
  }

  // `steps` of k from `k0` on: both tiles are loaded by all threads, then each adds its products.
  void WriteSteps(const Tile& a, const Tile& b, V k0, int64_t steps, V row, V column, std::vector<V>* sums) {
    Load(a, k0);
    Load(b, k0);
    f_.Barrier();
    for (int64_t k = 0; k < steps; ++k) {
      const std::vector<V> x = Read(a, k, row), y = Read(b, k, column);
      for (int64_t i = 0; i < each_; ++i) {
        for (int64_t j = 0; j < each_; ++j) {
          V& sum = (*sums)[i * each_ + j];
          sum = sum_.Add({sum}, {x[i]}, {y[j]}).re;
        }
      }
    }
    f_.Barrier();
  }

  // Brings kDepth x tile_ elements into the tile. Neighbouring threads read neighbours in memory. Beyond the operand's
  // edges the last element is read again: what comes of it is in no result.
  void Load(const Tile& tile, V k0) {
    const bool along_k = tile.k_stride == 1;
    const int64_t minor = along_k ? kDepth : tile_;
    for (int64_t i = 0; i < kDepth * tile_; i += kSide * kSide) {
      V number = at_.Add(thread_, at_.Const(i));
      V inner = b_.CreateURem(number, at_.Const(minor)), outer = b_.CreateUDiv(number, at_.Const(minor));
      V k = along_k ? inner : outer, place = along_k ? outer : inner;
      V from = at_.Add(at_.Times(Clamp(at_.Add(tile.first, place), tile.size), tile.stride),
                       at_.Times(Clamp(at_.Add(k0, k), desc_.k), tile.k_stride));
      from = at_.Add(from, tile.base);
      const Element value = tile.of_a ? sum_.LoadA(f_.argument(0), from) : sum_.LoadB(f_.argument(1), from);
      b_.CreateStore(value.re, b_.CreateGEP(scalar_, tile.memory, at_.Add(at_.Times(k, Pitch()), place)));
    }
  }

  V Clamp(V place, int64_t size) {
    V last = at_.Const(size - 1);
    return b_.CreateSelect(b_.CreateICmpULT(place, last), place, last);
  }

  // The elements of step `k` that the thread of this row or column multiplies.
  std::vector<V> Read(const Tile& tile, int64_t k, V thread) {
    auto* vector = llvm::FixedVectorType::get(scalar_, each_);
    V from = b_.CreateGEP(scalar_, tile.memory, at_.Add(at_.Times(thread, each_), at_.Const(k * Pitch())));
    const uint64_t bytes = std::min<uint64_t>(kVectorBytes, each_ * scalar_->getScalarSizeInBits() / 8);
    V all = b_.CreateAlignedLoad(vector, from, llvm::Align(bytes));
    std::vector<V> elements;
    for (int64_t i = 0; i < each_; ++i) elements.push_back(b_.CreateExtractElement(all, i));
    return elements;
  }

  absl::Status Store(V m, V n, V c, const std::vector<V>& sums) {
    const bool whole = desc_.m % each_ == 0 && desc_.n % each_ == 0;
    const auto store = [&](int64_t i, int64_t j) -> absl::Status {
      V to = at_.Add(at_.Add(c, at_.Times(at_.Add(m, at_.Const(i)), desc_.c_m)),
                     at_.Times(at_.Add(n, at_.Const(j)), desc_.c_n));
      return sum_.Store(result_, f_.argument(2), to, {sums[i * each_ + j]});
    };
    const auto inside = [&](int64_t i, int64_t j) {
      return b_.CreateAnd(b_.CreateICmpULT(at_.Add(m, at_.Const(i)), at_.Const(desc_.m)),
                          b_.CreateICmpULT(at_.Add(n, at_.Const(j)), at_.Const(desc_.n)));
    };
    const auto each = [&](bool check) -> absl::Status {
      for (int64_t i = 0; i < each_; ++i) {
        for (int64_t j = 0; j < each_; ++j) {
          XC_RETURN_IF_ERROR(check ? f_.If(inside(i, j), [&] { return store(i, j); }) : store(i, j));
        }
      }
      return absl::OkStatus();
    };
    // A thread's elements are all inside or all outside.
    return whole ? f_.If(inside(0, 0), [&] { return each(false); }) : each(true);
  }

  int64_t Pitch() const { return tile_ + 16 / (scalar_->getScalarSizeInBits() / 8); }

  KernelFunction& f_;
  const ProductResult& result_;
  llvm::IRBuilder<>& b_;
  Places at_;
  const MatmulDesc& desc_;
  Accumulator sum_;
  const int64_t each_;  // elements of a thread in both dimensions
  const int64_t tile_;  // of a block
  llvm::Type* scalar_ = nullptr;
  V thread_ = nullptr;
};

}  // namespace

bool IsForTiles(const MatmulDesc& desc) {
  const auto type = static_cast<ElementType>(desc.c_type);
  const bool words = type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kF16 ||
                     type == ElementType::kBF16 || type == ElementType::kS32 || type == ElementType::kU32;
  return words && desc.m >= kSide && desc.n >= kSide && desc.k >= kDepth / 2;
}

absl::Status EmitTiledMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result) {
  return TiledMatmul(f, desc, result).Write();
}

}  // namespace xc::gpu
