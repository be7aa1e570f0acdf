// Products of bf16 and f16 on tensor cores: eight warps compute a tile of the result by mma.sync. While they multiply
// what lies in one half of shared memory, what comes next in k is on its way to registers, and goes to the other half.
#include <algorithm>

#include "backends/gpu/dots.h"
#include "hlo/base/status.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace xc::gpu {
namespace {

using codegen::Loop;
using V = llvm::Value*;

class TensorMatmul {
 public:
  // An epilogue stands in the code once for each element of a thread: with one, tiles are small.
  TensorMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result, bool aligned)
      : f_(f),
        b_(f.b()),
        at_(f),
        desc_(desc),
        result_(result),
        sum_(f, desc.a_type, desc.b_type, desc.c_type),
        each_(BlocksOf(desc, 128) >= kEnoughBlocks && result.then == nullptr ? 4 : 2),
        tile_(32 * each_),
        a_(OperandOf(aligned, true)),
        b_operand_(OperandOf(aligned, false)) {}

  absl::Status Write() {
    return f_.ForEachBlock(BlocksOf(desc_, tile_), kThreads, [&](V block) { return WriteBlock(block); });
  }

 private:
  // Of k, what is in shared memory at a time, and what one instruction takes.
  static constexpr int64_t kDepth = 32, kStep = 16;
  static constexpr int64_t kWarpsDown = 2, kWarpsAcross = 4;
  static constexpr int64_t kThreads = kWarpsDown * kWarpsAcross * 32;
  static constexpr int64_t kChunk = 8;  // elements of 16 bytes
  // Blocks that give every multiprocessor one.
  static constexpr int64_t kEnoughBlocks = 128;

  // One of the factors. A tile of it lies in shared memory as it does in memory: rows of kDepth elements along k, or
  // rows of tile_ elements, one for each k; each row has one chunk more, so that the rows of a matrix that a warp loads
  // lie in different banks.
  struct Operand {
    int argument;
    int64_t size, stride, k_stride;  // of the dimension that is not k
    bool along_k;                    // rows in shared memory
    bool whole_chunks;               // 16 bytes may be read at once
    V memory = nullptr;              // both halves
    V base = nullptr, first = nullptr;
    int64_t pitch = 0, half = 0;  // elements
  };

  Operand OperandOf(bool aligned, bool is_a) const {
    Operand o{is_a ? 0 : 1,
              is_a ? desc_.m : desc_.n,
              is_a ? desc_.a_m : desc_.b_n,
              is_a ? desc_.a_k : desc_.b_k,
              /*along_k=*/true,
              /*whole_chunks=*/aligned};
    o.along_k = o.k_stride == 1 || o.stride != 1;
    const int64_t unit_stride = o.along_k ? o.k_stride : o.stride, far = o.along_k ? o.stride : o.k_stride;
    o.whole_chunks &= unit_stride == 1 && far % kChunk == 0 && (o.along_k ? desc_.k : o.size) % kChunk == 0;
    const int64_t* batch = is_a ? desc_.a_batch : desc_.b_batch;
    for (int i = 0; i < desc_.num_batch_dims; ++i) o.whole_chunks &= batch[i] % kChunk == 0;
    o.pitch = (o.along_k ? kDepth : tile_) + kChunk;
    o.half = (o.along_k ? tile_ : kDepth) * o.pitch;
    return o;
  }

  absl::Status WriteBlock(V block) {
    V rest = block;
    b_operand_.first = at_.Times(at_.Take(&rest, Tiles(desc_.n, tile_)), tile_);
    a_.first = at_.Times(at_.Take(&rest, Tiles(desc_.m, tile_)), tile_);
    V c = at_.Const(0);
    a_.base = b_operand_.base = at_.Const(0);
    for (int i = desc_.num_batch_dims; i-- > 0;) {
      V batch = at_.Take(&rest, desc_.batch[i]);
      a_.base = at_.Add(a_.base, at_.Times(batch, desc_.a_batch[i]));
      b_operand_.base = at_.Add(b_operand_.base, at_.Times(batch, desc_.b_batch[i]));
      c = at_.Add(c, at_.Times(batch, desc_.c_batch[i]));
    }
    a_.memory = f_.SharedMemory(b_.getInt16Ty(), 2 * a_.half);
    b_operand_.memory = f_.SharedMemory(b_.getInt16Ty(), 2 * b_operand_.half);
    thread_ = f_.Thread();
    lane_ = b_.CreateAnd(thread_, at_.Const(31));
    V warp = b_.CreateUDiv(thread_, at_.Const(32));
    V down = at_.Times(b_.CreateURem(warp, at_.Const(kWarpsDown)), 16 * each_);
    V across = at_.Times(b_.CreateUDiv(warp, at_.Const(kWarpsDown)), 8 * each_);
    // What is multiplied next, in registers; sums, four of each 16 x 8 tile.
    std::vector<V> next = Fetch(a_, at_.Const(0));
    const size_t of_a = next.size();
    for (V chunk : Fetch(b_operand_, at_.Const(0))) next.push_back(chunk);
    Loop loop(b_, at_.Const(0), at_.Const(Tiles(desc_.k, kDepth) * kDepth), kDepth, "k");
    for (V& chunk : next) chunk = loop.Carry(chunk);
    std::vector<V> sums;
    for (int64_t i = 0; i < 4 * each_ * each_; ++i) {
      sums.push_back(loop.Carry(llvm::ConstantFP::get(b_.getFloatTy(), 0)));
    }
    V odd = b_.CreateAnd(b_.CreateUDiv(loop.index(), at_.Const(kDepth)), at_.Const(1));
    Keep(a_, odd, next.data());
    Keep(b_operand_, odd, next.data() + of_a);
    // Threads may be one turn apart: then they are at different halves.
    f_.Barrier();
    V k = at_.Add(loop.index(), at_.Const(kDepth));
    std::vector<V> after = Fetch(a_, k);
    for (V chunk : Fetch(b_operand_, k)) after.push_back(chunk);
    V a_address = LaneAddress(a_, odd, down, /*k_first=*/false);
    V b_address = LaneAddress(b_operand_, odd, across, /*k_first=*/true);
    for (int64_t step = 0; step < kDepth; step += kStep) Multiply(step, a_address, b_address, &sums);
    int carried = 0;
    for (V chunk : after) loop.SetNext(carried++, chunk);
    for (V sum : sums) loop.SetNext(carried++, sum);
    loop.End();
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = loop.Result(static_cast<int>(next.size() + i));
    return Store(at_.Add(a_.first, down), at_.Add(b_operand_.first, across), c, sums);
  }

  // Chunks of a row of a tile. A thread's chunks are RowStep rows apart.
  int64_t ChunksOfRow(const Operand& o) const { return (o.along_k ? kDepth : tile_) / kChunk; }
  int64_t RowStep(const Operand& o) const { return kThreads / ChunksOfRow(o); }
  int64_t ChunksOfThread() const { return tile_ * kDepth / kChunk / kThreads; }
  V RowOf(const Operand& o) { return b_.CreateUDiv(thread_, at_.Const(ChunksOfRow(o))); }
  V ColumnOf(const Operand& o) { return at_.Times(b_.CreateURem(thread_, at_.Const(ChunksOfRow(o))), kChunk); }

  // A thread's chunks of the tile whose k begins at `k0`. Beyond the end of k there are zeros; beyond the other edge
  // the last elements again: what comes of them is in no result.
  std::vector<V> Fetch(const Operand& o, V k0) {
    std::vector<V> chunks;
    V row = RowOf(o), column = ColumnOf(o);
    for (int64_t i = 0; i < ChunksOfThread(); ++i) {
      V own = at_.Add(row, at_.Const(i * RowStep(o)));
      chunks.push_back(o.whole_chunks ? FetchWhole(o, k0, own, column) : FetchEach(o, k0, own, column));
    }
    return chunks;
  }

  V FetchWhole(const Operand& o, V k0, V row, V column) {
    auto* vector = llvm::FixedVectorType::get(b_.getInt32Ty(), 4);
    V k = at_.Add(k0, o.along_k ? column : row);
    V place = at_.Add(o.first, o.along_k ? row : column);
    if (o.size % tile_ != 0) place = Clamp(place, o.along_k ? o.size - 1 : o.size - kChunk);
    V inside = b_.CreateICmpULT(k, at_.Const(desc_.k));
    V value = b_.CreateAlignedLoad(vector, AddressOf(o, place, b_.CreateSelect(inside, k, at_.Const(0))),
                                   llvm::Align(kVectorBytes));
    // Of what lies behind the last whole tile nothing is multiplied.
    if (desc_.k % kDepth == 0) return value;
    return b_.CreateSelect(inside, value, llvm::Constant::getNullValue(vector));
  }

  V FetchEach(const Operand& o, V k0, V row, V column) {
    V all = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt16Ty(), kChunk));
    for (int64_t e = 0; e < kChunk; ++e) {
      V along = at_.Add(column, at_.Const(e));
      V k = at_.Add(k0, o.along_k ? along : row);
      V place = Clamp(at_.Add(o.first, o.along_k ? row : along), o.size - 1);
      V inside = b_.CreateICmpULT(k, at_.Const(desc_.k));
      V value = b_.CreateAlignedLoad(b_.getInt16Ty(), AddressOf(o, place, b_.CreateSelect(inside, k, at_.Const(0))),
                                     llvm::Align(2));
      all = b_.CreateInsertElement(all, b_.CreateSelect(inside, value, b_.getInt16(0)), static_cast<uint64_t>(e));
    }
    return b_.CreateBitCast(all, llvm::FixedVectorType::get(b_.getInt32Ty(), 4));
  }

  V Clamp(V place, int64_t last) {
    return b_.CreateSelect(b_.CreateICmpULT(place, at_.Const(last)), place, at_.Const(last));
  }
  V AddressOf(const Operand& o, V place, V k) {
    V from = at_.Add(o.base, at_.Add(at_.Times(place, o.stride), at_.Times(k, o.k_stride)));
    return b_.CreateGEP(b_.getInt16Ty(), f_.argument(o.argument), from);
  }

  // The place in a half of shared memory, and one that is a fixed way behind: instructions add that by themselves.
  V SharedAddress(const Operand& o, V odd, V row, V column) {
    V at = at_.Add(at_.Times(odd, o.half), at_.Add(at_.Times(row, o.pitch), column));
    return b_.CreateGEP(b_.getInt16Ty(), o.memory, at);
  }
  V Behind(V address, int64_t elements) { return b_.CreateConstGEP1_64(b_.getInt16Ty(), address, elements); }

  void Keep(const Operand& o, V odd, const V* chunks) {
    V address = SharedAddress(o, odd, RowOf(o), ColumnOf(o));
    for (int64_t i = 0; i < ChunksOfThread(); ++i) {
      b_.CreateAlignedStore(chunks[i], Behind(address, i * RowStep(o) * o.pitch), llvm::Align(kVectorBytes));
    }
  }

  // Where a lane reads its row of a matrix, from `place` on. Eight lanes have the rows of each of four matrices: number
  // q lies q & 1 matrices behind `place` and q >> 1 along k, of b the other way round.
  V LaneAddress(const Operand& o, V odd, V place, bool k_first) {
    V within = b_.CreateAnd(lane_, at_.Const(7)), matrix = b_.CreateUDiv(lane_, at_.Const(8));
    V low = at_.Times(b_.CreateAnd(matrix, at_.Const(1)), 8), high = at_.Times(b_.CreateUDiv(matrix, at_.Const(2)), 8);
    V to_place = at_.Add(place, k_first ? high : low), to_k = k_first ? low : high;
    return o.along_k ? SharedAddress(o, odd, at_.Add(to_place, within), to_k)
                     : SharedAddress(o, odd, at_.Add(to_k, within), to_place);
  }

  // Four matrices of 8 x 8 behind LaneAddress, as four registers of a thread.
  std::vector<V> LoadMatrices(const Operand& o, V address, int64_t place, int64_t k) {
    address = Behind(address, o.along_k ? place * o.pitch + k : k * o.pitch + place);
    const auto load = o.along_k ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                                : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16;
    V all = b_.CreateIntrinsic(load, {address->getType()}, {address});
    std::vector<V> registers;
    for (unsigned i = 0; i < 4; ++i) registers.push_back(b_.CreateExtractValue(all, i));
    return registers;
  }

  // Adds kStep products to each sum, from `step` of the tiles on.
  void Multiply(int64_t step, V a_address, V b_address, std::vector<V>* sums) {
    const bool half = static_cast<ElementType>(desc_.a_type) == ElementType::kF16;
    const auto mma =
        half ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32 : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    auto* pair = llvm::FixedVectorType::get(b_.getHalfTy(), 2);
    const auto factor = [&](V word) { return half ? b_.CreateBitCast(word, pair) : word; };
    std::vector<std::vector<V>> a;
    std::vector<V> two;  // neighbouring tiles of b
    for (int64_t i = 0; i < each_; ++i) {
      a.push_back(LoadMatrices(a_, a_address, 16 * i, step));
    }
    for (int64_t j = 0; j < each_; ++j) {
      if (j % 2 == 0) {
        two = LoadMatrices(b_operand_, b_address, 8 * j, step);
      }
      for (int64_t i = 0; i < each_; ++i) {
        std::vector<V> operands;
        for (V word : a[i]) operands.push_back(factor(word));
        for (int w = 0; w < 2; ++w) operands.push_back(factor(two[2 * (j % 2) + w]));
        V* four = sums->data() + 4 * (i * each_ + j);
        operands.insert(operands.end(), four, four + 4);
        V result = b_.CreateIntrinsic(mma, {}, operands);
        for (unsigned s = 0; s < 4; ++s) four[s] = b_.CreateExtractValue(result, s);
      }
    }
  }

  // Of a 16 x 8 tile a thread has two neighbours in row lane / 4, and two eight rows below.
  absl::Status Store(V m, V n, V c, const std::vector<V>& sums) {
    m = at_.Add(m, b_.CreateUDiv(lane_, at_.Const(4)));
    n = at_.Add(n, at_.Times(b_.CreateAnd(lane_, at_.Const(3)), 2));
    for (int64_t i = 0; i < each_; ++i) {
      for (int64_t j = 0; j < each_; ++j) {
        for (int64_t s = 0; s < 4; ++s) {
          V row = at_.Add(m, at_.Const(16 * i + 8 * (s / 2))), column = at_.Add(n, at_.Const(8 * j + s % 2));
          V to = at_.Add(c, at_.Add(at_.Times(row, desc_.c_m), at_.Times(column, desc_.c_n)));
          const auto store = [&] { return sum_.Store(result_, f_.argument(2), to, {sums[4 * (i * each_ + j) + s]}); };
          if (desc_.m % tile_ == 0 && desc_.n % tile_ == 0) {
            XC_RETURN_IF_ERROR(store());
            continue;
          }
          XC_RETURN_IF_ERROR(f_.If(
              b_.CreateAnd(b_.CreateICmpULT(row, at_.Const(desc_.m)), b_.CreateICmpULT(column, at_.Const(desc_.n))),
              store));
        }
      }
    }
    return absl::OkStatus();
  }

  KernelFunction& f_;
  llvm::IRBuilder<>& b_;
  Places at_;
  const MatmulDesc& desc_;
  const ProductResult& result_;
  Accumulator sum_;
  const int64_t each_;  // tiles of 16 x 8 of a warp in both dimensions
  const int64_t tile_;  // elements of a block in both dimensions
  Operand a_, b_operand_;
  V thread_ = nullptr, lane_ = nullptr;
};

}  // namespace

bool IsForTensorCores(const MatmulDesc& desc) {
  const auto a = static_cast<ElementType>(desc.a_type), c = static_cast<ElementType>(desc.c_type);
  if (desc.a_type != desc.b_type || (a != ElementType::kBF16 && a != ElementType::kF16)) return false;
  return (c == a || c == ElementType::kF32) && desc.m >= 16 && desc.n >= 16 && desc.k >= 16;
}

absl::Status EmitTensorMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result, bool aligned) {
  return TensorMatmul(f, desc, result, aligned).Write();
}

}  // namespace xc::gpu
