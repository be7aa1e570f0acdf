// Code for several sizes in the C API.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/cancel.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"
#include "importers/io.h"
#include "service/c_executable.h"
#include "service/c_status.h"
#include "service/client.h"
#include "service/general_code.h"
#include "service/option_text.h"
#include "service/size_classes.h"
#include "service/xc.h"

#define XC_EXPORT __attribute__((visibility("default")))

struct xc_general_code {
  xc::TextOptions options;
  std::vector<std::unique_ptr<xc::HloModule>> samples;
  std::unique_ptr<xc::GeneralCode> code;
};

namespace xc {
namespace {

absl::Status MakeGeneral(const char* const* samples, const size_t* sizes, size_t count, const char* options,
                         xc_general_code** out) {
  if (samples == nullptr || sizes == nullptr || out == nullptr) {
    return absl::InvalidArgumentError("xc_general_code_new: samples, sizes and out must not be null");
  }
  *out = nullptr;
  if (count < 2) return absl::InvalidArgumentError("xc_general_code_new: there must be two samples at least");
  auto made = std::make_unique<xc_general_code>();
  XC_ASSIGN_OR_RETURN(made->options, ParseOptionText(options == nullptr ? "" : options));
  for (size_t i = 0; i < count; ++i) {
    if (samples[i] == nullptr) return absl::InvalidArgumentError("xc_general_code_new: a sample must not be null");
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                        ReadModule(absl::string_view(samples[i], sizes[i]), made->options.parse));
    made->samples.push_back(std::move(module));
  }
  made->code =
      std::make_unique<GeneralCode>(Client::Default(), made->options.platform,
                                    [all = &made->samples](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
                                      if (which >= static_cast<int>(all->size()))
                                        return absl::OutOfRangeError("there is no such sample");
                                      return (*all)[which]->Clone();
                                    });
  *out = made.release();
  return absl::OkStatus();
}

absl::Status CompileGeneral(xc_general_code* general, const char* hlo, size_t size, int* serves, xc_executable** out) {
  if (general == nullptr || hlo == nullptr || out == nullptr) {
    return absl::InvalidArgumentError("xc_general_code_compile: general, hlo and out must not be null");
  }
  *out = nullptr;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModule(absl::string_view(hlo, size), general->options.parse));
  XC_RETURN_IF_ERROR(VerifyModule(*module));
  const std::string name = module->name();
  const auto again = [&]() -> absl::StatusOr<std::unique_ptr<HloModule>> { return module->Clone(); };
  const CompileOptions& options = general->options.compile;
  auto found = general->code->Find(module->Clone(), again, options);
  const bool own = absl::IsUnimplemented(found.status());
  if (own) found = Client::Default()->Compile(std::move(module), general->options.platform, options);
  XC_RETURN_IF_ERROR(found.status());
  if (serves != nullptr) *serves = own ? 0 : 1;
  std::unique_ptr<xc_executable> executable = MakeCExecutable(*std::move(found));
  executable->name = name;
  *out = executable.release();
  return absl::OkStatus();
}

absl::Status SampleSizes(const int64_t* signatures, size_t num_signatures, size_t count, int which, int way,
                         int64_t* out) {
  constexpr int kMostSamples = 5;
  if (signatures == nullptr || out == nullptr || num_signatures < 2 || count == 0) {
    return absl::InvalidArgumentError("xc_sample_sizes: there must be two signatures at least, of one size or more");
  }
  if (which < 0 || which >= kMostSamples || way < 0 || way >= SizeClasses::kWays) {
    return absl::OutOfRangeError(absl::StrCat("there are ", kMostSamples, " samples in ", SizeClasses::kWays, " ways"));
  }
  SizeClasses classes;
  for (size_t s = 0; s < num_signatures; ++s) classes.Add({signatures + s * count, signatures + (s + 1) * count});
  XC_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, classes.Sample(which, way));
  std::copy(sizes.begin(), sizes.end(), out);
  return absl::OkStatus();
}

}  // namespace
}  // namespace xc

extern "C" {

XC_EXPORT xc_status* xc_general_code_new(const char* const* samples, const size_t* sizes, size_t count,
                                         const char* options, xc_general_code** out) {
  return xc::CallC([&] { return xc::MakeGeneral(samples, sizes, count, options, out); });
}
XC_EXPORT xc_status* xc_sample_sizes(const int64_t* signatures, size_t num_signatures, size_t count, int which, int way,
                                     int64_t* out) {
  return xc::CallC([&] { return xc::SampleSizes(signatures, num_signatures, count, which, way, out); });
}
XC_EXPORT void xc_general_code_free(xc_general_code* general) { delete general; }

XC_EXPORT xc_status* xc_general_code_compile(xc_general_code* general, const char* hlo, size_t size, const int* cancel,
                                             int* serves, xc_executable** out) {
  return xc::CallC([&] {
    const xc::CancelScope scope(cancel);
    return xc::CompileGeneral(general, hlo, size, serves, out);
  });
}
XC_EXPORT char* xc_general_code_refusal(const xc_general_code* general) {
  if (general == nullptr) return nullptr;
  return xc::CallC([&] { return xc::CopyString(general->code->stats().last_refusal); }, static_cast<char*>(nullptr));
}

}  // extern "C"
