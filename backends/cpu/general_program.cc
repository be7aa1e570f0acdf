// Code that serves programs of several sizes: emitted for a first sample, with the numbers that other samples have
// otherwise read from a table. Each further program is emitted as well, by the same choices, and gets the table of its
// numbers if its code has the same form; nothing is assumed about how numbers depend on sizes.
#include <array>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/code_form.h"
#include "backends/cpu/code_symbols.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/program/executable.h"
#include "hlo/base/choices.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace xc::cpu {
namespace {

// A module up to its code, which is not compiled yet.
struct Emitted {
  PlannedModule planned;
  EmittedProgram program;
};

// By what `choices` say, or by what they are to say.
absl::StatusOr<Emitted> Emit(std::unique_ptr<HloModule> module, const Target& target, const xc::CompileOptions& options,
                             const Evaluate& evaluate, Choices* choices) {
  const ChoicesScope scope(choices);
  Emitted emitted;
  XC_ASSIGN_OR_RETURN(emitted.planned, PlanModule(std::move(module), options, TargetInfoOf(target), evaluate));
  IrEmitter emitter(emitted.planned.plan, target, options.deadline);
  XC_ASSIGN_OR_RETURN(emitted.program, emitter.Emit());
  return emitted;
}

absl::StatusOr<CodeForm> FormBy(const Choices& choices, Emitted& emitted) {
  if (!choices.done()) {
    const std::string why = absl::StrCat("its code would be written in another way",
                                         choices.failed() ? absl::StrCat(" (choice at ", choices.where(), ")") : "");
    return choices.may_give_up() ? absl::FailedPreconditionError(why) : absl::UnimplementedError(why);
  }
  return FormOf(emitted.program.modules);
}

// The code of two samples that has not one form, for people.
void DumpOther(const xc::CompileOptions& options, Emitted& first, Emitted& other) {
  for (auto [emitted, name] : {std::pair(&first, "first"), std::pair(&other, "other")}) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (CodeModule& code : emitted->program.modules) code.module().print(stream, nullptr);
    options.dump(absl::StrCat("general_", name, ".ll"), stream.str());
  }
}

// The first of several samples, emitted, with the choices that serve them.
struct Agreed {
  Choices choices;
  Emitted first;
  std::vector<CodeForm> forms;  // of the samples that are not left out
};

// Where a choice that need not have been made for the first sample is wrong for another one, it is given up.
// Unimplemented: the first two differ in more than numbers.
absl::StatusOr<Agreed> Agree(const std::vector<std::unique_ptr<HloModule>>& samples, const Target& target,
                             const xc::CompileOptions& options, const Evaluate& evaluate) {
  constexpr int kMostGivenUp = 12;  // for one sample: with more, the first one's code is no longer what pays
  struct Other {
    int given_up = 0;
    Choices before;  // anything was given up
    bool left_out = false;
  };
  std::vector<Other> others(samples.size());
  Agreed agreed;
  Choices& choices = agreed.choices;
  const auto emit = [&](const HloModule& module) { return Emit(module.Clone(), target, options, evaluate, &choices); };
  for (bool again = true; again;) {
    again = false;
    agreed.forms.clear();
    XC_ASSIGN_OR_RETURN(agreed.first, emit(*samples[0]));
    agreed.forms.push_back(FormOf(agreed.first.program.modules));
    const Choices taken = choices;
    for (size_t i = 1; i < samples.size() && !again; ++i) {
      Other& other = others[i];
      if (other.left_out) continue;
      choices.Replay();
      XC_ASSIGN_OR_RETURN(Emitted emitted, emit(*samples[i]));
      absl::StatusOr<CodeForm> form = FormBy(choices, emitted);
      if (form.ok()) {
        if (absl::Status same = SameForm(agreed.forms[0], *form); !same.ok()) {
          form = same;
          if (options.dump) DumpOther(options, agreed.first, emitted);
        }
      }
      if (form.ok()) {
        agreed.forms.push_back(*std::move(form));
      } else if (choices.may_give_up() && other.given_up < kMostGivenUp) {
        if (other.given_up++ == 0) other.before = taken;
        choices.GiveUp();
        again = true;
      } else if (i == 1) {
        return absl::UnimplementedError(form.status().message());
      } else {
        other.left_out = true;
        if (other.given_up > 0) {
          choices = other.before;
          choices.Restart();
          again = true;
        }
      }
    }
  }
  choices.Replay();
  return agreed;
}

// Arenas for all sizes: a pool for each power of two.
class ArenaPools {
 public:
  std::shared_ptr<ArenaPool> For(int64_t bytes) {
    int power = 12;
    while (power < 62 && (int64_t{1} << power) < bytes) ++power;
    std::lock_guard<std::mutex> lock(mu_);
    std::shared_ptr<ArenaPool>& pool = pools_[power];
    if (pool == nullptr) pool = std::make_shared<ArenaPool>(size_t{1} << power, /*guard=*/false, /*max_idle=*/2);
    return pool;
  }

 private:
  std::mutex mu_;
  std::array<std::shared_ptr<ArenaPool>, 63> pools_;
};

// The code itself.
struct GeneralCode {
  std::shared_ptr<const CompiledCode> code;
  Entry entry = nullptr;
  bool loaded = false;
  std::string entry_name;
};

class GeneralExecutable : public ProgramExecutable {
 public:
  // `module`: as it is before the passes, which give arrays other layouts.
  GeneralExecutable(GeneralCode code, const HloModule& module) : code_(std::move(code)) { SetSignature(module); }
  absl::Status Init(PlannedModule planned, absl::string_view table, ArenaPools& arenas,
                    const xc::CompileOptions& options, const Evaluate& evaluate) {
    XC_RETURN_IF_ERROR(SetProgram(&planned, options));
    XC_ASSIGN_OR_RETURN(sizes_, Block::Allocate(table.size()));
    std::copy(table.begin(), table.end(), sizes_.data());
    if (options.store) {  // it receives the program with its table of sizes in the place of its code
      program_.entry = code_.entry_name;
      absl::StatusOr<std::string> bytes = WriteProgram(program_, {std::string(table)});
      if (bytes.ok()) options.store(*std::move(bytes));
    }
    if (!options.keep_texts) ForgetModule();
    Prepare(evaluate, arenas.For(program_.arena_bytes));
    return absl::OkStatus();
  }
  // The code is counted where it is kept.
  int64_t size_bytes() const override { return program_.constant_bytes + static_cast<int64_t>(sizes_.size()); }
  bool loaded() const override { return code_.loaded; }

 protected:
  void Start(const Frame& frame) const override { code_.entry(&frame); }

 private:
  const GeneralCode code_;
};

// The code that GenerateCode stored as `program`, if it is that for `table`; else none.
absl::StatusOr<GeneralCode> LoadCode(absl::string_view program, const SizeTable& table, const std::string& entry) {
  if (program.empty()) return GeneralCode();
  std::vector<std::string> objects;
  absl::StatusOr<Program> stored = ReadProgram(program, &objects);
  if (!stored.ok() || stored->entry != table.identity().ToHex()) return GeneralCode();
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledCode> code, LinkObjects(std::move(objects), AllSymbols(), {entry}));
  return GeneralCode{std::move(code), nullptr, true, ""};
}

absl::StatusOr<std::shared_ptr<const CompiledCode>> GenerateCode(EmittedProgram& program, const SizeTable& table,
                                                                 const Target& target,
                                                                 const xc::CompileOptions& options) {
  XC_RETURN_IF_ERROR(table.Use(program.modules));
  cpu::CompileOptions code_options;
  code_options.target = target;
  code_options.threads = options.compile_threads > 0 ? options.compile_threads : AvailableCpus();
  code_options.deadline = options.deadline;
  std::vector<std::string> objects;
  if (options.store) code_options.objects = &objects;
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledCode> code,
                      CompileModules(std::move(program.modules), AllSymbols(), {program.entry}, code_options));
  if (options.store) {
    Program stored;
    stored.entry = table.identity().ToHex();
    absl::StatusOr<std::string> bytes = WriteProgram(stored, objects);
    if (bytes.ok()) options.store(*std::move(bytes));
  }
  return code;
}

class GeneralProgramImpl : public GeneralProgram {
 public:
  GeneralProgramImpl(const Target& target, Choices choices, SizeTable table, GeneralCode code, Evaluate evaluate)
      : target_(target),
        choices_(std::move(choices)),
        table_(std::move(table)),
        code_(std::move(code)),
        evaluate_(std::move(evaluate)) {}

  absl::StatusOr<std::unique_ptr<Executable>> For(std::unique_ptr<HloModule> module,
                                                  const xc::CompileOptions& options) const override {
    auto executable = std::make_unique<GeneralExecutable>(code_, *module);
    Choices choices = choices_;
    choices.Replay();
    XC_ASSIGN_OR_RETURN(Emitted emitted, Emit(std::move(module), target_, options, evaluate_, &choices));
    XC_ASSIGN_OR_RETURN(const CodeForm form, FormBy(choices, emitted));
    XC_ASSIGN_OR_RETURN(const std::string table, table_.Fill(form));
    XC_RETURN_IF_ERROR(executable->Init(std::move(emitted.planned), table, arenas_, options, evaluate_));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  int64_t size_bytes() const override { return code_.code->memory_bytes() + table_.size_bytes() + choices_.bytes(); }
  bool loaded() const override { return code_.loaded; }

 private:
  const Target target_;
  const Choices choices_;
  const SizeTable table_;
  const GeneralCode code_;
  const Evaluate evaluate_;
  mutable ArenaPools arenas_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const GeneralProgram>> CompileGeneral(std::vector<std::unique_ptr<HloModule>> samples,
                                                                     const xc::CompileOptions& options,
                                                                     absl::string_view program, Evaluate evaluate) {
  if (samples.size() < 2) return absl::InvalidArgumentError("one sample does not say what sizes may be");
  XC_ASSIGN_OR_RETURN(const Target target, GetTarget(options.cpu, options.other_machine));
  XC_ASSIGN_OR_RETURN(Agreed agreed, Agree(samples, target, options, evaluate));
  EmittedProgram& first = agreed.first.program;
  SizeTable table(agreed.forms);
  XC_ASSIGN_OR_RETURN(GeneralCode code, LoadCode(program, table, first.entry));
  if (code.code == nullptr) {
    XC_ASSIGN_OR_RETURN(code.code, GenerateCode(first, table, target, options));
  }
  code.entry = reinterpret_cast<Entry>(code.code->Find(first.entry));
  if (code.entry == nullptr) return absl::InternalError("the program's entry was not linked");
  code.entry_name = first.entry;
  return std::make_shared<const GeneralProgramImpl>(target, std::move(agreed.choices), std::move(table),
                                                    std::move(code), std::move(evaluate));
}

}  // namespace xc::cpu
