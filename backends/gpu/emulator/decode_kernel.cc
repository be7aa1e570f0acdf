// A kernel with all that it calls: its parameters, where its shared variables are, and the code of each function.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/decoder.h"

namespace xc::emulator {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> DecodeKernel(const ParsedModule& module, const Function& entry,
                                                     const Symbols& symbols) {
  auto kernel = std::make_unique<Kernel>();
  kernel->name = entry.name;
  if (entry.max_threads > 0) kernel->max_threads = std::min(1024, entry.max_threads);
  if (entry.exact_threads) std::copy_n(entry.required, 3, kernel->required);
  kernel->num_registers = static_cast<int>(entry.registers.size());
  for (int n = 0; n < entry.num_parameters; ++n) {
    const Variable& v = entry.variables[static_cast<size_t>(n)];
    const int64_t offset = RoundUp(kernel->parameter_bytes, v.alignment);
    kernel->parameters.push_back({offset, v.bytes});
    kernel->parameter_bytes = offset + v.bytes;
  }
  if (kernel->parameter_bytes > 32764) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", entry.name, " has more than 32,764 bytes of parameters"));
  }
  KernelDecoder state;
  state.module = &module;
  state.symbols = &symbols;
  state.kernel = kernel.get();
  // The module's shared variables that the kernel or what it calls names.
  std::map<std::string, const Variable*> shared;
  for (const Variable& v : module.variables) {
    if (v.space == Space::kShared) shared[v.name] = &v;
  }
  std::vector<const Function*> reached = {&entry};
  std::map<std::string, const Function*> by_name;
  for (const Function& f : module.functions) {
    if (!f.is_declaration) by_name[f.name] = &f;
  }
  std::vector<const Variable*> dynamic;
  const auto visit = [&](const std::string& name) {
    const auto variable = shared.find(name);
    if (variable != shared.end() && !state.shared.count(name)) {
      const Variable& v = *variable->second;
      if (v.is_external || v.bytes == 0) {
        dynamic.push_back(&v);
        state.shared[name] = 0;
      } else {
        state.shared_top = RoundUp(state.shared_top, v.alignment);
        state.shared[name] = state.shared_top;
        state.shared_top += v.bytes;
      }
    }
    const auto function = by_name.find(name);
    if (function != by_name.end() && std::find(reached.begin(), reached.end(), function->second) == reached.end()) {
      reached.push_back(function->second);
    }
  };
  for (size_t n = 0; n < reached.size(); ++n) {
    for (const Statement& s : reached[n]->body) {
      for (const Operand& operand : s.operands) {
        if (!operand.name.empty()) visit(operand.name);
        for (const Operand& element : operand.elements) {
          if (!element.name.empty()) visit(element.name);
        }
      }
    }
    // Those of functions are placed when these are decoded, behind what is placed here; room for dynamic ones is last.
    for (const Variable& v : reached[n]->variables) {
      if (v.space == Space::kShared) kernel->shared_bytes += RoundUp(v.bytes, 128) + v.alignment;
    }
  }
  int64_t alignment = 16;
  for (const Variable* v : dynamic) alignment = std::max(alignment, v->alignment);
  // With the room for the functions' own.
  const int64_t dynamic_base = RoundUp(state.shared_top + kernel->shared_bytes, alignment);
  for (const Variable* v : dynamic) state.shared[v->name] = dynamic_base;
  state.code_index[entry.name] = 0;
  state.pending.push_back(&entry);
  kernel->code.push_back(std::make_unique<Code>());
  for (size_t n = 0; n < state.pending.size(); ++n) {
    const absl::Status status = Decoder(&state, *state.pending[n], kernel->code[n].get()).Decode();
    if (!status.ok()) return status;
  }
  kernel->shared_bytes = (dynamic.empty() ? state.shared_top : dynamic_base) - kSharedBase;
  return kernel;
}

}  // namespace xc::emulator
