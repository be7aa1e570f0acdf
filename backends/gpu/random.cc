// rng-bit-generator, bit for bit as the CPU's runtime has it (backends/runtime/rng.h): a thread for each count.
#include <algorithm>

#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::gpu {
namespace {

using V = llvm::Value*;

bool IsThreeFry(const RngDesc& desc) { return desc.algorithm == static_cast<int>(RngAlgorithm::kThreeFry); }

int64_t Elements(const RngDesc& desc) {
  int64_t n = 1;
  for (int i = 0; i < desc.rank; ++i) n *= desc.dims[i];
  return n;
}

// The array seen as [outer][size][inner]: a count gives an element in each half of `size`, next to each other.
struct Split {
  int64_t outer = 1, size = 1, half = 1, inner = 1;
};

Split SplitOf(const RngDesc& desc) {
  const int64_t* const end = desc.dims + desc.rank;
  const int64_t* along = std::find_if(desc.dims, end, [](int64_t d) { return d % 2 == 0; });
  if (along == end && desc.rank > 0) along = std::max_element(desc.dims, end);
  Split split;
  for (const int64_t* d = desc.dims; d < end; ++d) {
    (d < along ? split.outer : d == along ? split.size : split.inner) *= *d;
  }
  split.half = (split.size + 1) / 2;
  return split;
}

int64_t Counts(const RngDesc& desc) {
  const int64_t n = Elements(desc);
  if (!IsThreeFry(desc)) return desc.element_bytes == 8 ? (n + 1) / 2 : (n + 3) / 4;
  const Split split = SplitOf(desc);
  return desc.element_bytes == 8 ? n : split.outer * split.half * split.inner;
}

class RandomWriter {
 public:
  explicit RandomWriter(KernelFunction& f) : f_(f), b_(f.b()) {}

  V Word(int i) { return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_32(b_.getInt64Ty(), f_.argument(0), i)); }
  V Low(V wide) { return b_.CreateTrunc(wide, b_.getInt32Ty()); }
  V High(V wide) { return b_.CreateTrunc(b_.CreateLShr(wide, b_.getInt64(32)), b_.getInt32Ty()); }
  V Wide(V x) { return b_.CreateZExt(x, b_.getInt64Ty()); }
  V Joined(V low, V high) { return b_.CreateOr(Wide(low), b_.CreateShl(Wide(high), b_.getInt64(32))); }

  // Two words of a count.
  std::pair<V, V> ThreeFry(V key, V count) {
    V keys[3] = {Low(key), High(key), nullptr};
    keys[2] = b_.CreateXor(b_.CreateXor(keys[0], keys[1]), b_.getInt32(0x1BD11BDA));
    V x = b_.CreateAdd(Low(count), keys[0]), y = b_.CreateAdd(High(count), keys[1]);
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    for (int group = 0; group < 5; ++group) {
      for (int by : kRotations[group % 2]) {
        x = b_.CreateAdd(x, y);
        V rotated = b_.CreateIntrinsic(llvm::Intrinsic::fshl, {b_.getInt32Ty()}, {y, y, b_.getInt32(by)});
        y = b_.CreateXor(rotated, x);
      }
      x = b_.CreateAdd(x, keys[(group + 1) % 3]);
      y = b_.CreateAdd(b_.CreateAdd(y, keys[(group + 2) % 3]), b_.getInt32(group + 1));
    }
    return {x, y};
  }

  // Four words of a count of 128 bits.
  std::vector<V> Philox(V key, V low, V high) {
    V c[4] = {Low(low), High(low), Low(high), High(high)};
    V k[2] = {Low(key), High(key)};
    for (int round = 0; round < 10; ++round) {
      V p = b_.CreateMul(Wide(c[0]), b_.getInt64(0xD2511F53)), q = b_.CreateMul(Wide(c[2]), b_.getInt64(0xCD9E8D57));
      V first = b_.CreateXor(b_.CreateXor(High(q), c[1]), k[0]);
      V third = b_.CreateXor(b_.CreateXor(High(p), c[3]), k[1]);
      c[0] = first, c[1] = Low(q), c[2] = third, c[3] = Low(p);
      k[0] = b_.CreateAdd(k[0], b_.getInt32(0x9E3779B9));
      k[1] = b_.CreateAdd(k[1], b_.getInt32(0xBB67AE85));
    }
    return {c[0], c[1], c[2], c[3]};
  }

  // Stores the low bits of `value`, where `inside` (null: everywhere).
  void Put(int bytes, V place, V value, V inside) {
    llvm::Type* type = b_.getIntNTy(8 * bytes);
    const auto store = [&] {
      b_.CreateStore(b_.CreateTrunc(value, type), b_.CreateGEP(type, f_.argument(1), place));
      return absl::OkStatus();
    };
    if (inside == nullptr) {
      (void)store();
    } else {
      (void)f_.If(inside, store);
    }
  }

 private:
  KernelFunction& f_;
  llvm::IRBuilder<>& b_;
};

}  // namespace

absl::Status EmitRandomBits(KernelFunction& f, const RngDesc& desc) {
  const int64_t n = Elements(desc);
  return f.ForEach(Counts(desc), [&](V count) -> absl::Status {
    auto& b = f.b();
    RandomWriter random(f);
    V key = random.Word(0), from = random.Word(1);
    V low = b.CreateAdd(from, b.CreateZExtOrTrunc(count, b.getInt64Ty()));
    if (IsThreeFry(desc)) {
      const auto [x, y] = random.ThreeFry(key, low);
      if (desc.element_bytes == 8) {
        random.Put(8, count, random.Joined(x, y), nullptr);
        return absl::OkStatus();
      }
      const Split s = SplitOf(desc);
      V inner = b.CreateURem(count, f.Index(s.inner)), rest = b.CreateUDiv(count, f.Index(s.inner));
      V row = b.CreateMul(b.CreateURem(rest, f.Index(s.half)), f.Index(2));
      V outer = b.CreateUDiv(rest, f.Index(s.half));
      V at = b.CreateAdd(b.CreateMul(outer, f.Index(s.size)), row);
      at = b.CreateAdd(b.CreateMul(at, f.Index(s.inner)), inner);
      random.Put(desc.element_bytes, at, x, nullptr);
      V second = b.CreateICmpULT(b.CreateAdd(row, f.Index(1)), f.Index(s.size));
      random.Put(desc.element_bytes, b.CreateAdd(at, f.Index(s.inner)), y, s.size % 2 == 0 ? nullptr : second);
      return absl::OkStatus();
    }
    // With two words of state, the key stands for the counter's upper half as well.
    V high = desc.state_words == 3 ? random.Word(2) : key;
    high = b.CreateAdd(high, b.CreateZExt(b.CreateICmpULT(low, from), b.getInt64Ty()));
    const std::vector<V> words = random.Philox(key, low, high);
    const bool pairs = desc.element_bytes == 8;
    const int per_count = pairs ? 2 : 4;
    V first = b.CreateMul(count, f.Index(per_count));
    for (int i = 0; i < per_count; ++i) {
      V at = b.CreateAdd(first, f.Index(i));
      V value = pairs ? random.Joined(words[2 * i], words[2 * i + 1]) : words[i];
      random.Put(desc.element_bytes, at, value, n % per_count == 0 ? nullptr : b.CreateICmpULT(at, f.Index(n)));
    }
    return absl::OkStatus();
  });
}

absl::Status EmitNextRandomState(KernelFunction& f, const RngDesc& desc) {
  return f.ForEach(1, [&](V) -> absl::Status {
    auto& b = f.b();
    RandomWriter random(f);
    V key = random.Word(0), from = random.Word(1);
    V next = b.CreateAdd(from, b.getInt64(Counts(desc)));
    std::vector<V> words = {key, next};
    if (desc.state_words == 3) {
      V carry = b.CreateZExt(b.CreateICmpULT(next, from), b.getInt64Ty());
      words.push_back(b.CreateAdd(random.Word(2), carry));
    }
    for (size_t i = 0; i < words.size(); ++i) {
      b.CreateStore(words[i], b.CreateConstGEP1_32(b.getInt64Ty(), f.argument(1), i));
    }
    return absl::OkStatus();
  });
}

}  // namespace xc::gpu
