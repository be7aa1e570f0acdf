#include "backends/gpu/step_accesses.h"

#include <variant>

#include "backends/plan/overlap.h"

namespace xc::gpu {
namespace {

using Slices = std::vector<BufferSlice>;

void Append(Slices& to, const Slices& slices) { to.insert(to.end(), slices.begin(), slices.end()); }

bool AnyOverlap(const Slices& x, const Slices& y) {
  for (const BufferSlice& a : x) {
    for (const BufferSlice& b : y) {
      if (plan::Overlap(a, b)) return true;
    }
  }
  return false;
}

}  // namespace

void Accesses::Add(const Accesses& other) {
  Append(read, other.read);
  Append(written, other.written);
  everywhere |= other.everywhere;
}

bool Conflict(const Accesses& x, const Accesses& y) {
  if (x.everywhere || y.everywhere) return true;
  return AnyOverlap(x.written, y.written) || AnyOverlap(x.written, y.read) || AnyOverlap(x.read, y.written);
}

BufferSlice Part(BufferSlice slice, const plan::Size& bytes) {
  slice.size = bytes.constant();
  return slice;
}

Accesses AccessesOf(const plan::Step& step, const std::vector<Accesses>& callees) {
  Accesses accesses;
  const auto also = [&](int callee) { accesses.Add(callees[callee]); };
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    accesses = {{Part(copy->from, copy->bytes)}, {Part(copy->to, copy->bytes)}};
  } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
    accesses.written = {Part(clear->to, clear->bytes)};
  } else if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
    for (const plan::Argument& a : kernel->arguments) (a.written ? accesses.written : accesses.read).push_back(a.slice);
  } else if (const auto* call = std::get_if<plan::LibraryCall>(&step.action)) {
    // Which of them are results, functions know.
    for (const plan::CallArgument& a : call->arguments) {
      if (const auto* slice = std::get_if<BufferSlice>(&a)) accesses.written.push_back(*slice);
      if (const auto* slices = std::get_if<Slices>(&a)) Append(accesses.written, *slices);
    }
    accesses.written.push_back(call->result);
    accesses.everywhere = call->then != nullptr;
  } else if (const auto* call = std::get_if<plan::CustomCall>(&step.action)) {
    accesses = {call->inputs, call->outputs};
  } else if (const auto* evaluate = std::get_if<plan::Evaluate>(&step.action)) {
    accesses = {evaluate->inputs, evaluate->outputs};
  } else if (const auto* loop = std::get_if<plan::Loop>(&step.action)) {
    also(loop->condition);
    also(loop->body);
    accesses.read.push_back(loop->more);
  } else if (const auto* branch = std::get_if<plan::Branch>(&step.action)) {
    for (int callee : branch->branches) also(callee);
    accesses.read.push_back(branch->selector);
  } else if (const auto* call = std::get_if<plan::Call>(&step.action)) {
    also(call->callee);
  }
  return accesses;
}

namespace {

Accesses AccessesOf(const plan::Computation& computation, const std::vector<Accesses>& callees) {
  constexpr size_t kMany = 256;
  Accesses all;
  for (const plan::Step& step : computation.steps) {
    all.Add(AccessesOf(step, callees));
    all.everywhere |= all.read.size() + all.written.size() > kMany;
    if (all.everywhere) break;
  }
  return all;
}

}  // namespace

std::vector<Accesses> AccessesOf(const plan::Plan& plan) {
  std::vector<Accesses> all;
  for (const plan::Computation& computation : plan.computations) all.push_back(AccessesOf(computation, all));
  return all;
}

}  // namespace xc::gpu
