// Parses, verifies, runs passes, verifies again, and prints with names by order.
#include "compiler/pass_test_support.h"

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

// One line an instruction: name, "= ", what it is; names by order of printing.
std::string Print(const HloComputation& computation) {
  absl::flat_hash_map<const HloInstruction*, std::string> names;
  int next = 0;
  std::vector<HloInstruction*> order = computation.PostOrder();
  // Parameters are named, not listed.
  for (HloInstruction* i : order) {
    if (i->opcode() == HloOpcode::kParameter) {
      names[i] = absl::StrCat("p", i->parameter_number());
    }
  }
  std::string text;
  PrintOptions options = PrintOptions::Short();
  options.layouts = false;
  for (HloInstruction* i : order) {
    if (i->opcode() == HloOpcode::kParameter) continue;
    const std::string name = i->IsRoot() ? "root" : absl::StrCat("t", next++);
    names[i] = name;
    i->set_name(name);
  }
  for (HloInstruction* i : order) {
    if (i->opcode() == HloOpcode::kParameter) i->set_name(names[i]);
  }
  for (HloInstruction* i : order) {
    if (i->opcode() == HloOpcode::kParameter) {
      if (i->IsRoot()) absl::StrAppend(&text, "root = ", names[i], "\n");
      continue;
    }
    std::string line = PrintInstruction(*i, options);
    absl::string_view view = line;
    while (!view.empty() && view.front() == ' ') view.remove_prefix(1);
    if (view.substr(0, 5) == "ROOT ") view.remove_prefix(5);
    absl::StrAppend(&text, view, "\n");
  }
  return text;
}

std::string Run(const std::vector<PassFunction>& passes, absl::string_view text, PassContext* context,
                std::unique_ptr<HloModule>* out) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseModule(text);
  if (!module.ok()) return absl::StrCat("error: parse: ", module.status().message());
  if (absl::Status status = VerifyModule(**module); !status.ok()) {
    return absl::StrCat("error: before: ", status.message());
  }
  PassContext own;
  if (context == nullptr) context = &own;
  for (PassFunction pass : passes) {
    const std::string before = PrintModule(**module);
    absl::StatusOr<bool> changed = pass(module->get(), *context);
    if (!changed.ok()) return absl::StrCat("error: ", changed.status().message());
    if (!*changed && PrintModule(**module) != before) return "error: changed without saying so";
    if (absl::Status status = VerifyModule(**module); !status.ok()) {
      return absl::StrCat("error: after: ", status.message(), "\n", PrintModule(**module));
    }
  }
  *out = *std::move(module);
  return "";
}

}  // namespace

std::string RunPasses(const std::vector<PassFunction>& passes, absl::string_view text, PassContext* context) {
  std::unique_ptr<HloModule> module;
  if (std::string error = Run(passes, text, context, &module); !error.empty()) return error;
  std::string result;
  for (const HloComputation* computation : module->ComputationPostOrder()) {
    absl::StrAppend(&result, computation->IsEntry() ? "ENTRY" : computation->name(), " {\n", Print(*computation),
                    "}\n");
  }
  return result;
}

std::string Simplified(const std::vector<PassFunction>& passes, absl::string_view instructions,
                       absl::string_view computations, PassContext* context) {
  std::unique_ptr<HloModule> module;
  const std::string text = absl::StrCat("HloModule m\n", computations, "\nENTRY e {\n", instructions, "\n}\n");
  if (std::string error = Run(passes, text, context, &module); !error.empty()) return error;
  return Print(*module->entry());
}

}  // namespace xc
