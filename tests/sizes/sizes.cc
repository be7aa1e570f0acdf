// Random modules, or those of files, at other sizes: code for all sizes against code of their own and the interpreter;
// with --seconds, how long they take.
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hlo/text/printer.h"
#include "importers/io.h"
#include "tests/fuzz/random_module.h"
#include "tests/sizes/check_sizes.h"
#include "tools/flags.h"
#include "tools/hoist_constants.h"

namespace {

struct Totals {
  int64_t modules = 0, none = 0, sizes = 0, refused = 0, unstable = 0, wrong = 0, failed = 0;
};

void Check(const std::string& name, std::unique_ptr<xc::HloModule> module, const xc::SizesOptions& options,
           bool verbose, Totals* totals) {
  ++totals->modules;
  absl::StatusOr<xc::SizesReport> report = xc::CheckSizes(std::move(module), options);
  if (!report.ok()) {
    ++totals->failed;
    std::printf("%s: failed: %s\n", name.c_str(), std::string(report.status().message()).c_str());
    return;
  }
  if (!report->none.empty()) {
    ++totals->none;
    if (verbose) std::printf("%s: none: %s\n", name.c_str(), report->none.c_str());
  }
  for (const xc::SizeReport& size : report->sizes) {
    ++totals->sizes;
    totals->refused += !size.refused.empty();
    totals->unstable += size.unstable;
    totals->wrong += !size.wrong.empty();
    if (!size.wrong.empty()) std::printf("%s: %s: WRONG: %s\n", name.c_str(), size.sizes.c_str(), size.wrong.c_str());
    if (!size.refused.empty() && verbose) {
      std::printf("%s: %s: refused: %s\n", name.c_str(), size.sizes.c_str(), size.refused.c_str());
    }
    if (size.general_ms > 0) {
      std::printf("%s\t%s\t%.4f\t%.4f\t%.3f\t%.2f\t%.2f\n", name.c_str(), size.sizes.c_str(), size.general_ms,
                  size.exact_ms, size.general_ms / size.exact_ms, size.prepare_ms, size.compile_ms);
    }
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int64_t seed = 1, count = 0, sizes = 5, symbols = 0, megabytes = 0;
  bool verbose = false, near = false, print = false, hoist = false;
  double seconds = 0;
  std::string dump;
  xc::FlagSet flags("sizes [flags] [FILE...]", "Checks code for all sizes, of random modules or of those in files.");
  flags.Add("seed", &seed, "of the first random module, or of the sizes");
  flags.Add("count", &count, "random modules");
  flags.Add("sizes", &sizes, "at how many sizes each runs");
  flags.Add("symbols", &symbols, "how many sizes vary: those that most depends on (0: some at random)");
  flags.Add("near", &near, "sizes from half to one and a half of the module's own");
  flags.Add("megabytes", &megabytes, "of all values of a module, at most (0: 1)");
  flags.Add("seconds", &seconds,
            "measure each size for so long: name, sizes, ms of code for all sizes and of its own, "
            "the ratio, ms to prepare and to compile");
  flags.Add("hoist", &hoist, "make constants parameters");
  flags.Add("verbose", &verbose, "say what is refused");
  flags.Add("dump", &dump, "a folder for what compiling dumps");
  flags.Add("print", &print, "print the modules");
  if (const std::optional<int> end = flags.ParseMain(argc, argv)) return *end;
  xc::SizesOptions options;
  options.sizes = static_cast<int>(sizes);
  options.most_symbols = static_cast<int>(symbols);
  options.near = near;
  options.seconds = seconds;
  options.dump = dump;
  options.interpreter = !near;
  if (megabytes > 0) options.most_bytes = megabytes << 20;
  Totals totals;
  const absl::Time start = absl::Now();
  for (int64_t n = 0; n < count; ++n) {
    options.seed = static_cast<uint64_t>(seed + n);
    absl::StatusOr<xc::RandomModule> random = xc::MakeRandomModule(options.seed);
    if (!random.ok()) continue;
    if (print) std::printf("%s\n", xc::PrintModule(*random->module).c_str());
    Check(absl::StrCat("seed ", seed + n), std::move(random->module), options, verbose, &totals);
  }
  for (const std::string& file : flags.positional()) {
    options.seed = static_cast<uint64_t>(seed);
    absl::StatusOr<std::unique_ptr<xc::HloModule>> module = xc::ReadModuleFile(file);
    if (module.ok() && hoist) {
      auto hoisted = xc::HoistConstants(module->get());
      if (hoisted.ok()) options.inputs = *std::move(hoisted);
      if (!hoisted.ok()) module = hoisted.status();
    }
    if (!module.ok()) {
      std::printf("%s: %s\n", file.c_str(), std::string(module.status().message()).c_str());
      continue;
    }
    if (print) std::printf("%s\n", xc::PrintModule(**module).c_str());
    Check(file.substr(file.rfind('/') + 1), *std::move(module), options, verbose, &totals);
  }
  std::fprintf(
      stderr,
      "%lld modules, of which %lld have no sizes to vary and %lld fail; %lld sizes, of which %lld needed code of "
      "their own, %lld are unstable and %lld WRONG; %.0f s\n",
      static_cast<long long>(totals.modules), static_cast<long long>(totals.none),
      static_cast<long long>(totals.failed), static_cast<long long>(totals.sizes),
      static_cast<long long>(totals.refused), static_cast<long long>(totals.unstable),
      static_cast<long long>(totals.wrong), absl::ToDoubleSeconds(absl::Now() - start));
  return totals.wrong > 0 ? 1 : 0;
}
