// Code for programs of one origin at different sizes: one compilation serves those that differ in numbers alone; what
// it does not serve gets code of its own, with the reason.
#ifndef XC_SERVICE_GENERAL_CODE_H_
#define XC_SERVICE_GENERAL_CODE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "service/client.h"

namespace xc {

class GeneralCode {
 public:
  // A module of the origin for sample number `which` of the sizes: large and prime ones say best what may differ.
  using Sample = std::function<absl::StatusOr<std::unique_ptr<HloModule>>(int which)>;
  // The size for it of number `of_class` of the sizes that vary: sizes are unlike each other and all that programs
  // treat in their own way. The first sample is of middling sizes, which decide the form of code; then come large ones,
  // small ones, round ones, and one size for all, which shows what is equal by chance.
  static int64_t SampleSize(int which, int of_class);

  // `client` must outlive this.
  GeneralCode(Client* client, std::string platform, Sample sample)
      : client_(client), platform_(std::move(platform)), sample_(std::move(sample)) {}

  // An executable of `module`, which is verified: of the general code, which the first call compiles; where that does
  // not serve it, Unimplemented with the reason. Code that turns out to have a number in it which is no constant is
  // made again, with the module, which `again` gives once more, among the samples, at most kMostCompilations times.
  // Without `may_compile` Unavailable where that would take a compilation. Thread-safe.
  using Again = std::function<absl::StatusOr<std::unique_ptr<HloModule>>()>;
  absl::StatusOr<std::shared_ptr<const Executable>> Find(std::unique_ptr<HloModule> module, const Again& again,
                                                         const CompileOptions& options, bool may_compile = true);
  // The same as Find, or else the code that Client::Compile makes for the module alone.
  absl::StatusOr<std::shared_ptr<const Executable>> Get(std::unique_ptr<HloModule> module,
                                                        const CompileOptions& options);

  struct Stats {
    int64_t general = 0;       // compilations of code for several sizes
    int64_t served = 0;        // executables that it gave
    int64_t exact = 0;         // modules that got code of their own
    std::string last_refusal;  // why, of the last one
  };
  Stats stats() const;
  int64_t code_bytes() const;

 private:
  static constexpr int kMostCompilations = 3;
  static constexpr int kSamples = 5;

  // The code as it is, made if there is none.
  absl::StatusOr<std::shared_ptr<const GeneralProgram>> Program(const CompileOptions& options, bool may_compile);
  // Makes the code again, with `module` among the samples; whether there is other code than `tried` now.
  bool CompileAgain(std::unique_ptr<HloModule> module, const std::shared_ptr<const GeneralProgram>& tried,
                    const CompileOptions& options);
  // compiling_ is held.
  absl::StatusOr<std::shared_ptr<const GeneralProgram>> Compile(const CompileOptions& options);

  Client* const client_;
  const std::string platform_;
  const Sample sample_;
  std::mutex compiling_;
  std::vector<std::unique_ptr<HloModule>> samples_;  // under compiling_, as is:
  int attempts_ = 0;                                 // to compile
  mutable std::mutex mutex_;
  std::shared_ptr<const GeneralProgram> program_;
  absl::Status refused_;  // for all modules
  Stats stats_;
};

}  // namespace xc

#endif  // XC_SERVICE_GENERAL_CODE_H_
