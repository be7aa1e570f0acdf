#include "service/general_code.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/primes.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"

namespace xc {
int64_t GeneralCode::SampleSize(int which, int of_class) {
  constexpr int64_t kScales[] = {131, 500};
  constexpr int64_t kApart = 41;
  if (which == 4) return 12;
  if (which == 3) return 64 * int64_t{of_class + 2};
  int64_t n = which == 2 ? 3 : kScales[which];
  // What strides make of sizes should be unlike, too, and no multiple of a vector by chance: with these remainders no
  // half, quarter or eighth, rounded up or down, is a multiple of 4.
  const auto fits = [which](int64_t m) { return IsPrime(m) && (which == 2 || m % 32 == 11 || m % 32 == 21); };
  for (int left = of_class;; --left) {
    while (!fits(n)) ++n;
    if (left == 0) return n;
    n += which == 2 ? 1 : kApart;
  }
}

absl::StatusOr<std::shared_ptr<const GeneralProgram>> GeneralCode::Compile(const CompileOptions& options) {
  for (int which = static_cast<int>(samples_.size()); which < kSamples; ++which) {
    absl::StatusOr<std::unique_ptr<HloModule>> sample = sample_(which);
    if (sample.ok()) {
      if (absl::Status valid = VerifyModule(**sample); !valid.ok()) sample = valid;
    }
    // Two must be there; further ones find what is no constant sooner.
    if (!sample.ok() && which < 2) {
      return absl::UnimplementedError(absl::StrCat("for sizes to try it out with: ", sample.status().message()));
    }
    if (!sample.ok()) break;
    samples_.push_back(*std::move(sample));
  }
  std::vector<std::unique_ptr<HloModule>> samples;
  for (const auto& sample : samples_) samples.push_back(sample->Clone());
  ++attempts_;
  auto made = client_->CompileGeneral(std::move(samples), platform_, options);
  // Whatever is wrong with the samples, a module by itself need not have it.
  if (made.ok() || absl::IsCancelled(made.status())) return made;
  return absl::UnimplementedError(made.status().message());
}

absl::StatusOr<std::shared_ptr<const GeneralProgram>> GeneralCode::Program(const CompileOptions& options,
                                                                           bool may_compile) {
  auto known = [&]() -> absl::StatusOr<std::shared_ptr<const GeneralProgram>> {
    std::lock_guard<std::mutex> lock(mutex_);
    XC_RETURN_IF_ERROR(refused_);
    return program_;
  };
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const GeneralProgram> program, known());
  if (program != nullptr) return program;
  if (!may_compile) return absl::UnavailableError("the code for several sizes is not compiled yet");
  std::lock_guard<std::mutex> compiling(compiling_);
  XC_ASSIGN_OR_RETURN(program, known());
  if (program != nullptr) return program;
  auto made = Compile(options);
  std::lock_guard<std::mutex> lock(mutex_);
  if (made.ok()) {
    program_ = *made;
    ++stats_.general;
  } else if (absl::IsUnimplemented(made.status())) {
    refused_ = made.status();
    stats_.last_refusal = std::string(refused_.message());
  }
  return made;
}

bool GeneralCode::CompileAgain(std::unique_ptr<HloModule> module, const std::shared_ptr<const GeneralProgram>& tried,
                               const CompileOptions& options) {
  std::lock_guard<std::mutex> compiling(compiling_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (program_ != tried) return true;  // made again meanwhile
    if (stats_.general >= kMostCompilations || attempts_ >= 2 * kMostCompilations) return false;
  }
  samples_.insert(samples_.begin() + 1, std::move(module));  // the first two must agree
  auto made = Compile(options);
  if (!made.ok()) {
    samples_.erase(samples_.begin() + 1);  // another program, not other numbers
    return false;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  program_ = *std::move(made);
  ++stats_.general;
  return true;
}

absl::StatusOr<std::shared_ptr<const Executable>> GeneralCode::Find(std::unique_ptr<HloModule> module,
                                                                    const Again& again, const CompileOptions& options,
                                                                    bool may_compile) {
  for (;;) {
    XC_ASSIGN_OR_RETURN(std::shared_ptr<const GeneralProgram> program, Program(options, may_compile));
    if (module == nullptr) {
      XC_ASSIGN_OR_RETURN(module, again());
    }
    absl::StatusOr<std::unique_ptr<Executable>> executable = program->For(std::move(module), options);
    module = nullptr;
    if (executable.ok()) {
      std::lock_guard<std::mutex> lock(mutex_);
      ++stats_.served;
      return std::shared_ptr<const Executable>(*std::move(executable));
    }
    const bool number = absl::IsFailedPrecondition(executable.status());
    if (!number && !absl::IsUnimplemented(executable.status())) return executable.status();
    if (number && !may_compile) return absl::UnavailableError(executable.status().message());
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stats_.last_refusal = std::string(executable.status().message());
    }
    if (!number) return absl::UnimplementedError(executable.status().message());
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> sample, again());
    if (!CompileAgain(std::move(sample), program, options)) {
      return absl::UnimplementedError(executable.status().message());
    }
  }
}

absl::StatusOr<std::shared_ptr<const Executable>> GeneralCode::Get(std::unique_ptr<HloModule> module,
                                                                   const CompileOptions& options) {
  auto found = Find(
      module->Clone(), [&] { return module->Clone(); }, options, /*may_compile=*/true);
  if (found.ok() || !absl::IsUnimplemented(found.status())) return found;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++stats_.exact;
    stats_.last_refusal = std::string(found.status().message());
  }
  return client_->Compile(std::move(module), platform_, options);
}

GeneralCode::Stats GeneralCode::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

int64_t GeneralCode::code_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return program_ == nullptr ? 0 : program_->size_bytes();
}

}  // namespace xc
