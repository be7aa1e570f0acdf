#include "jit/launch/batch/served_code.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace xc {

void LowerTo(std::atomic<int64_t>& best, int64_t value) {
  int64_t seen = best.load(std::memory_order_relaxed);
  while (value < seen && !best.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void ServedCode::Set(ClusterCode code) {
  shared_.code = std::move(code);
  current_.store(&shared_, std::memory_order_release);
}

bool ServedCode::Ran(Choice& choice, int64_t ns) {
  LowerTo(choice.best_ns, ns);
  const int64_t runs = choice.runs.fetch_add(1, std::memory_order_relaxed) + 1;
  if (&choice == &exact_) {
    if (runs == kTrialRuns && exact_.best_ns > shared_.best_ns) current_.store(&shared_, std::memory_order_release);
    return false;
  }
  const CompiledCluster& code = *choice.code;
  const double part = code.general ? kGeneralLoss : code.padding_part;
  if (part < kMinPadding || runs < kSharedRuns || asked_.load(std::memory_order_relaxed)) return false;
  // The best time is used: what a busy machine adds is not lost to padding.
  const double lost = static_cast<double>(runs) * static_cast<double>(choice.best_ns) * part;
  return lost * 1e-9 > (code.general ? code.general_seconds : code.padded_seconds) && AskForExact();
}

void ServedCode::SetExact(ClusterCode code) {
  exact_.code = std::move(code);
  current_.store(&exact_, std::memory_order_release);
}

std::string ServedCode::Note() const {
  const Choice* choice = Get();
  if (choice == nullptr) return "";
  const std::string tried = exact_.runs >= kTrialRuns ? ", as quick as by itself" : "";
  if (shared_.code->general) {
    return choice == &exact_ ? absl::StrCat(" by itself after ", shared_.runs.load(), " runs with code for all sizes")
                             : absl::StrCat(" by code for all sizes", tried);
  }
  if (choice == &exact_) {
    return absl::StrCat(" by itself after ", shared_.runs.load(), " runs with a batch of ", shared_.code->padded_batch);
  }
  if (shared_.code->padded_batch == 0) return "";
  return absl::StrCat(" for a batch of ", shared_.code->padded_batch, tried);
}

}  // namespace xc
