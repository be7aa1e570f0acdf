// Copies and fills as parts of a kernel.
#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using V = llvm::Value*;

// What one access reads or writes.
llvm::Type* UnitType(KernelFunction& f, int64_t bytes) {
  auto& b = f.b();
  if (bytes <= 8) return b.getIntNTy(static_cast<unsigned>(8 * bytes));
  return llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(bytes / 4));
}

V Load(KernelFunction& f, int64_t unit, int argument, V number) {
  auto& b = f.b();
  llvm::Type* const type = UnitType(f, unit);
  return b.CreateAlignedLoad(type, b.CreateGEP(type, f.argument(argument), number), llvm::Align(unit));
}

void Store(KernelFunction& f, int64_t unit, V value, int argument, V number) {
  auto& b = f.b();
  b.CreateAlignedStore(value, b.CreateGEP(value->getType(), f.argument(argument), number), llvm::Align(unit));
}

// Of a copy at once: what a thread does with its number, number + threads, ….
struct Rounds {
  int64_t unit = 1, units = 0, rounds = 0;

  explicit Rounds(const plan::Copy& copy) : unit(CopyUnit(copy)), units(copy.bytes.constant() / unit) {
    rounds = (units + KernelFunction::kThreads - 1) / KernelFunction::kThreads;
  }
};

}  // namespace

KernelFunction::Region CopyAtOnce(KernelFunction& f, int first, const std::vector<plan::Copy>& copies) {
  const auto body = [&f, first, copies](V number) -> absl::Status {
    auto& b = f.b();
    std::vector<V> values;
    const auto place = [&](int64_t round) { return b.CreateAdd(number, f.Index(round * KernelFunction::kThreads)); };
    for (size_t c = 0; c < copies.size(); ++c) {
      const Rounds of(copies[c]);
      for (int64_t r = 0; r < of.rounds; ++r) {
        // Behind the end, the first unit is read and not written.
        V at = place(r);
        at = b.CreateSelect(b.CreateICmpULT(at, f.Index(of.units)), at, f.Index(0));
        values.push_back(Load(f, of.unit, first + 2 * static_cast<int>(c) + 1, at));
      }
    }
    f.Barrier();
    size_t next = 0;
    for (size_t c = 0; c < copies.size(); ++c) {
      const Rounds of(copies[c]);
      for (int64_t r = 0; r < of.rounds; ++r) {
        V at = place(r), value = values[next++];
        XC_RETURN_IF_ERROR(f.If(b.CreateICmpULT(at, f.Index(of.units)), [&] {
          Store(f, of.unit, value, first + 2 * static_cast<int>(c), at);
          return absl::OkStatus();
        }));
      }
    }
    return absl::OkStatus();
  };
  return {KernelFunction::kThreads, body, KernelFunction::kThreads};
}

KernelFunction::Region CopyRegion(KernelFunction& f, int first, const plan::Copy& copy) {
  const int64_t unit = CopyUnit(copy);
  return {copy.bytes.constant() / unit, [&f, first, unit](V number) {
            Store(f, unit, Load(f, unit, first + 1, number), first, number);
            return absl::OkStatus();
          }};
}

KernelFunction::Region FillRegion(KernelFunction& f, int first, const plan::Clear& clear) {
  const int64_t unit = FillUnit(clear);
  return {clear.bytes.constant() / unit, [&f, first, unit](V number) {
            Store(f, unit, llvm::Constant::getNullValue(UnitType(f, unit)), first, number);
            return absl::OkStatus();
          }};
}

}  // namespace xc::gpu
