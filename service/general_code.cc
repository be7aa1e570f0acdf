#include "service/general_code.h"

#include <utility>

#include "backends/registry.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"

namespace xc {

absl::Status GeneralCode::Compile(const CompileOptions& options) {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform_));
  for (int which = static_cast<int>(samples_.size()); which < kSamples; ++which) {
    absl::StatusOr<std::unique_ptr<HloModule>> sample = sample_(which);
    if (sample.ok()) {
      if (absl::Status valid = VerifyModule(**sample); !valid.ok()) sample = valid;
    }
    // Two must be there; further ones find what is no constant sooner.
    if (!sample.ok() && which < 2) return sample.status();
    if (!sample.ok()) break;
    samples_.push_back(*std::move(sample));
  }
  std::vector<std::unique_ptr<HloModule>> samples;
  for (const auto& sample : samples_) samples.push_back(sample->Clone());
  ++attempts_;
  XC_ASSIGN_OR_RETURN(program_, backend->CompileGeneral(std::move(samples), options));
  ++stats_.general;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Executable>> GeneralCode::Find(const HloModule& module,
                                                                    const CompileOptions& options) {
  std::shared_ptr<const GeneralProgram> program;
  for (;;) {
    std::shared_ptr<const GeneralProgram> tried = std::move(program);
    absl::Status why;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (program_ == nullptr) {
        XC_RETURN_IF_ERROR(refused_);
        refused_ = Compile(options);
        XC_RETURN_IF_ERROR(refused_);
      }
      program = program_;
    }
    if (program == tried) break;
    absl::StatusOr<std::unique_ptr<Executable>> executable = program->For(module.Clone(), options);
    std::lock_guard<std::mutex> lock(mutex_);
    if (executable.ok()) {
      ++stats_.served;
      return std::shared_ptr<const Executable>(*std::move(executable));
    }
    const bool number = absl::IsFailedPrecondition(executable.status());
    if (!number && !absl::IsUnimplemented(executable.status())) return executable.status();
    stats_.last_refusal = std::string(executable.status().message());
    if (program_ != program) continue;  // made again meanwhile
    if (!number) break;
    if (stats_.general >= kMostCompilations || attempts_ >= 2 * kMostCompilations) break;
    samples_.push_back(module.Clone());
    if (absl::Status status = Compile(options); !status.ok()) {
      samples_.pop_back();  // another program, not other numbers
      break;
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  return absl::UnimplementedError(stats_.last_refusal);
}

absl::StatusOr<std::shared_ptr<const Executable>> GeneralCode::Get(std::unique_ptr<HloModule> module,
                                                                   const CompileOptions& options) {
  auto found = Find(*module, options);
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
