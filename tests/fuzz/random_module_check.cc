// Runs a random module everywhere and compares.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/wire/module_proto.h"
#include "service/client.h"
#include "service/compare.h"
#include "tests/fuzz/random_module.h"

namespace xc {
namespace {

bool Near(std::complex<double> a, std::complex<double> e, const ErrorBound& bound) {
  const bool finite = std::isfinite(e.real()) && std::isfinite(e.imag());
  if (!finite || !std::isfinite(a.real()) || !std::isfinite(a.imag())) {
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return same(a.real(), e.real()) && same(a.imag(), e.imag());
  }
  return std::abs(a - e) <= bound.absolute + bound.relative * std::abs(e);
}

std::string Compare(const Literal& actual, const Literal& expected, const ErrorBound& bound) {
  if (bound.exact()) return CompareExact(actual, expected);
  for (int64_t i = 0; i < actual.size(); ++i) {
    const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
    if (Near(a, e, bound)) continue;
    return absl::StrCat("element ", i, " is (", a.real(), ", ", a.imag(), "), expected (", e.real(), ", ", e.imag(),
                        ") within ", bound.absolute, " + ", bound.relative, " * |x|");
  }
  return "";
}

absl::StatusOr<std::vector<Literal>> Run(const RandomModule& random, absl::string_view platform, bool passes) {
  auto backend = BackendByName(platform);
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  if (!passes) options.disabled_passes = {"all"};
  options.compile_threads = 1;
  options.emulate = platform == "gpu";
  auto executable = (*backend)->Compile(random.module->Clone(), options);
  if (!executable.ok()) return executable.status();
  std::vector<const Literal*> inputs;
  for (const Literal& input : random.inputs) inputs.push_back(&input);
  RunOptions run;
  run.guard_pages = platform == "cpu";
  return RunOnLiterals(**executable, inputs, run);
}

}  // namespace

std::string CheckRandomModule(const RandomModule& random, absl::string_view platform) {
  // Attributes that say what holds without them are not printed: the text read back is compared, not the builder's.
  const std::string text = PrintModule(*random.module);
  auto read = ParseModule(text);
  if (!read.ok()) return absl::StrCat("its text is refused: ", read.status().message());
  if (PrintModule(**read) != text) return absl::StrCat("its text is printed as another:\n", PrintModule(**read));
  auto proto = ModuleToProto(**read);
  if (!proto.ok()) return absl::StrCat("it has no message: ", proto.status().message());
  auto again = ModuleFromProto(*std::move(proto));
  if (!again.ok()) return absl::StrCat("its message is refused: ", again.status().message());
  if (absl::Status equal = DeepEqual(**read, **again); !equal.ok()) {
    return absl::StrCat("its message reads as another module: ", equal.message());
  }
  auto expected = Run(random, "interpreter", true);
  if (!expected.ok()) return absl::StrCat("interpreter: ", expected.status().message());
  if (expected->size() != random.bounds.size()) return "the number of results is wrong";
  for (const bool passes : {false, true}) {
    const std::string name = absl::StrCat(platform, passes ? ", optimized: " : ", without passes: ");
    auto actual = Run(random, platform, passes);
    if (!actual.ok()) return absl::StrCat(name, actual.status().message());
    for (size_t i = 0; i < expected->size(); ++i) {
      const std::string wrong = Compare((*actual)[i], (*expected)[i], random.bounds[i]);
      if (!wrong.empty()) return absl::StrCat(name, "result ", i, ": ", wrong);
    }
  }
  return "";
}

}  // namespace xc
