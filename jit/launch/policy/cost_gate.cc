#include "jit/launch/policy/cost_gate.h"

namespace xc {

bool CostGate::LikeQuickerOnes(const ServedCode::Choice& choice) const {
  return family_ != nullptr && family_->Quicker(choice.code->padding_part);
}

bool CostGate::WantsHostTiming(const ServedCode::Choice& choice, const LaunchPolicy& policy) const {
  if (!policy.cost_gate || !policy.time_host || judged_) return false;
  const int64_t runs = choice.runs.load(std::memory_order_relaxed), host_runs = host_runs_;
  // Between runs of the code, so that both see the same machine.
  return runs >= policy.gate_warm_runs && (runs + host_runs) % 2 == 0 && choice.best_ns >= policy.gate_min_ns &&
         host_runs < policy.gate_host_runs && !LikeQuickerOnes(choice);
}

void CostGate::HostRan(int64_t ns, const ServedCode::Choice* choice, const LaunchPolicy& policy) {
  LowerTo(host_best_ns_, ns);
  host_runs_.fetch_add(1);
  if (family_ == nullptr || choice == nullptr || choice->runs < policy.gate_warm_runs) return;
  family_->Add(ns, choice->best_ns, choice->code->padding_part);
}

CostGate::Verdict CostGate::Judge(const ServedCode::Choice& choice, const LaunchPolicy& policy) {
  if (!policy.cost_gate || choice.runs < policy.gate_runs || judged_) return Verdict::kGoesOn;
  const int64_t best = choice.best_ns, host = host_best_ns_;
  const bool timed = host_runs_ >= policy.gate_host_runs;
  if (best >= policy.gate_min_ns && !timed && !LikeQuickerOnes(choice)) return Verdict::kGoesOn;  // undecided
  if (judged_.exchange(true) || !timed || best < policy.gate_min_ns) return Verdict::kGoesOn;
  const double limit = policy.gate_ratio * static_cast<double>(host), padding = choice.code->padding_part;
  if (static_cast<double>(best) <= limit) return Verdict::kGoesOn;
  const bool exact_may_do = padding >= ServedCode::kMinPadding && static_cast<double>(best) * (1 - padding) <= limit;
  return exact_may_do ? Verdict::kTryExact : Verdict::kGiveUp;
}

}  // namespace xc
