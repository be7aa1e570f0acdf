// Checks random modules until one fails, or --count of them have passed. Prints a failing module, and with --save
// writes it as a bundle for `xla replay`.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/bundle.h"
#include "tests/fuzz/random_module.h"
#include "tools/flags.h"

namespace {

volatile sig_atomic_t g_seed_known = 0;
char g_seed_text[64];

// Names the seed of a module that ended the process or took a minute of its time; then the signal takes its course.
void OnSignal(int signal) {
  if (g_seed_known) {
    const char text[] = "\nended by a signal at ";
    (void)!write(2, text, sizeof(text) - 1);
    (void)!write(2, g_seed_text, std::strlen(g_seed_text));
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  int64_t seed = 1, count = 0, minutes = 0, steps = xc::RandomModuleOptions().max_steps;
  bool keep_going = false, print = false;
  std::string save, platform = "cpu";
  xc::FlagSet flags("random_modules [flags]",
                    "Checks random modules on the interpreter and on a platform with and without optimization.");
  flags.Add("seed", &seed, "the first module's seed; the next has the next number");
  flags.Add("count", &count, "modules to check (0: without end)");
  flags.Add("minutes", &minutes, "stop after this many minutes (0: never)");
  flags.Add("steps", &steps, "groups of operations in a module, at most");
  flags.Add("platform", &platform, "cpu, or gpu: its emulator (XC_GPU_EMULATOR)");
  flags.Add("keep_going", &keep_going, "go on after a failure");
  flags.Add("print", &print, "print every module");
  flags.Add("save", &save, "directory for bundles of failing modules");
  if (const std::optional<int> end = flags.ParseMain(argc, argv)) return *end;
  for (int signal : {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS, SIGPROF}) ::signal(signal, OnSignal);
  const absl::Time start = absl::Now();
  int64_t checked = 0, failed = 0;
  xc::RandomModuleOptions options;
  options.max_steps = steps;
  for (; count == 0 || checked < count; ++checked, ++seed) {
    if (minutes > 0 && absl::Now() - start > absl::Minutes(minutes)) break;
    std::snprintf(g_seed_text, sizeof(g_seed_text), "seed %lld\n", static_cast<long long>(seed));
    g_seed_known = 1;
    const itimerval minute = {{0, 0}, {60, 0}};
    setitimer(ITIMER_PROF, &minute, nullptr);
    absl::StatusOr<xc::RandomModule> random = xc::MakeRandomModule(seed, options);
    std::string wrong = random.ok() ? "" : std::string(random.status().message());
    if (random.ok() && print) std::printf("%s\n", random->module->ToString().c_str());
    if (random.ok()) wrong = xc::CheckRandomModule(*random, platform);
    if ((checked + 1) % 1000 == 0) {
      std::printf("%lld modules, %lld failed, %.1f ms each, next seed %lld\n", static_cast<long long>(checked + 1),
                  static_cast<long long>(failed), absl::ToDoubleMilliseconds(absl::Now() - start) / (checked + 1),
                  static_cast<long long>(seed + 1));
      std::fflush(stdout);
    }
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %lld: %s\n", static_cast<long long>(seed), wrong.c_str());
    if (random.ok() && !keep_going) std::printf("%s\n", random->module->ToString().c_str());
    if (random.ok() && !save.empty()) {
      const std::string folder = absl::StrCat(save, "/seed_", seed);
      xc::CompileOptions compile;
      absl::Status status = xc::BeginBundle(folder, *random->module, platform, &compile);
      if (status.ok()) status = xc::AddToBundle(folder, "inputs", random->inputs);
      if (!status.ok()) std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    }
    std::fflush(stdout);
    if (!keep_going) break;
  }
  std::printf("%lld modules checked, %lld failed, in %.0f s\n", static_cast<long long>(checked),
              static_cast<long long>(failed), absl::ToDoubleSeconds(absl::Now() - start));
  return failed > 0 ? 1 : 0;
}
