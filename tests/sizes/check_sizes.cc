#include "tests/sizes/check_sizes.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/registry.h"
#include "hlo/base/primes.h"
#include "hlo/base/status.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/general_code.h"
#include "service/inputs.h"
#include "tests/fuzz/random_values.h"
#include "tests/sizes/resizable.h"

namespace xc {
namespace {

using Values = std::map<int, int64_t>;

int64_t BytesOf(const HloModule& module) {
  int64_t bytes = 0;
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      const int64_t more = i->shape().TotalByteSize();
      if (__builtin_add_overflow(bytes, more, &bytes)) return INT64_MAX;
    }
  }
  return bytes;
}

// Of the calling thread's choice of symbols, the sizes that samples have: unlike each other first, then alike.
Values SampleOf(const std::vector<Resizable::Symbol>& symbols, int which, int64_t scale, bool near) {
  Values values;
  std::vector<int64_t> taken;
  for (const Resizable::Symbol& symbol : symbols) {
    const int64_t middling = near ? symbol.original : scale;
    int64_t n = which == 0   ? std::max<int64_t>(2, middling)
                : which == 1 ? 3 * middling + 1
                : which == 2 ? 3
                : which == 3 ? (middling + 15) / 16 * 16
                             : 12;
    const auto free = [&](int64_t m) {
      if (which == 4) return true;
      const bool fits = which == 3 ? m % 16 == 0 : IsPrime(m);
      return fits && std::find(taken.begin(), taken.end(), m) == taken.end();
    };
    while (!free(n)) ++n;
    taken.push_back(n);
    values[symbol.id] = n;
  }
  return values;
}

absl::StatusOr<std::vector<Literal>> Run(const Executable& executable, const std::vector<Literal>& inputs,
                                         bool threads) {
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  RunOptions run;
  run.guard_pages = !threads;
  if (threads) run.executor = DefaultExecutor();
  return RunOnLiterals(executable, pointers, run);
}

// The best times of runs that take turns.
absl::Status Measure(const Executable& general, const Executable& exact, const std::vector<Literal>& inputs,
                     double seconds, SizeReport* report) {
  const Executable* const both[] = {&general, &exact};
  double* const best[] = {&report->general_ms, &report->exact_ms};
  std::vector<const void*> in;
  for (const Literal& input : inputs) in.push_back(input.bytes());
  std::vector<Literal> outputs;
  for (const Shape& leaf : exact.result_leaves()) outputs.push_back(Literal(Shape(leaf.type(), leaf.dims())));
  std::vector<void*> out;
  for (Literal& output : outputs) out.push_back(output.mutable_bytes());
  RunOptions run;
  run.executor = DefaultExecutor();
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  for (int turn = 0; turn < 3 || absl::Now() < end; ++turn) {
    for (int k : {turn % 2, 1 - turn % 2}) {
      const absl::Time start = absl::Now();
      XC_RETURN_IF_ERROR(both[k]->Run(in, absl::MakeSpan(out), run));
      const double ms = absl::ToDoubleMilliseconds(absl::Now() - start);
      if (turn > 0) *best[k] = *best[k] == 0 ? ms : std::min(*best[k], ms);
    }
  }
  return absl::OkStatus();
}

// "" or what differs first.
std::string Compare(const std::vector<Literal>& actual, const std::vector<Literal>& expected) {
  if (actual.size() != expected.size()) return "another number of results";
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string differs = CompareNorm(actual[i], expected[i]);
    if (!differs.empty()) return absl::StrCat("result ", i, ": ", differs);
  }
  return "";
}

// The symbols to vary: those that most sizes depend on, or some at random.
std::vector<Resizable::Symbol> Choose(const Resizable& all, const SizesOptions& options, Random& random) {
  std::vector<Resizable::Symbol> chosen;
  for (const Resizable::Symbol& symbol : all.symbols()) {
    if (options.most_symbols > 0 ? symbol.original >= 8 && !symbol.where.empty() : random.Below(3) > 0) {
      chosen.push_back(symbol);
    }
  }
  if (options.most_symbols > 0) {
    std::map<int, int64_t> uses;
    for (const Resizable::Symbol& symbol : chosen) uses[symbol.id] = all.Uses(symbol.id);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](const auto& a, const auto& b) { return uses.at(a.id) > uses.at(b.id); });
    if (chosen.size() > static_cast<size_t>(options.most_symbols)) chosen.resize(options.most_symbols);
  }
  return chosen;
}

int64_t SizeFor(const Resizable::Symbol& symbol, const SizesOptions& options, Random& random) {
  constexpr int64_t kSmall[] = {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 20, 31, 32, 33, 40, 64, 65, 130};
  if (!options.near) return kSmall[random.Below(std::size(kSmall))];
  return std::max<int64_t>(2, symbol.original / 2 + random.Below(symbol.original));
}

}  // namespace

absl::StatusOr<SizesReport> CheckSizes(std::unique_ptr<HloModule> module, const SizesOptions& options) {
  SizesReport report;
  absl::StatusOr<Resizable> all = Resizable::Of(std::move(module));
  if (!all.ok()) {
    report.none = std::string(all.status().message());
    return report;
  }
  Random random(options.seed);
  std::vector<Resizable::Symbol> symbols = Choose(*all, options, random);
  report.symbols = static_cast<int>(symbols.size());
  if (symbols.empty()) {
    report.none = "no size may be another";
    return report;
  }
  // Sizes that make no arrays that are too large.
  int64_t scale = 131;
  const auto sample = [&](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    return all->Resized(SampleOf(symbols, which, scale, options.near));
  };
  for (; scale > 5; scale /= 2) {
    absl::StatusOr<std::unique_ptr<HloModule>> first = sample(0), second = sample(1);
    constexpr int64_t kMost = int64_t{1} << 40;
    if (first.ok() && second.ok() && BytesOf(**first) < kMost && BytesOf(**second) < kMost) break;
    if (options.near) {
      report.none = "its sizes cannot be larger";
      return report;
    }
  }
  CompileOptions compile;
  compile.compile_threads = 1;
  if (!options.dump.empty()) {
    compile.dump = [&options](absl::string_view name, absl::string_view text) {
      std::ofstream(absl::StrCat(options.dump, "/", name)) << text;
    };
  }
  GeneralCode general(Client::Default(), "cpu", sample);
  XC_ASSIGN_OR_RETURN(Backend * cpu, BackendByName("cpu"));
  for (int tries = 0; tries < 6 * options.sizes && static_cast<int>(report.sizes.size()) < options.sizes; ++tries) {
    Values values;
    SizeReport one;
    for (const Resizable::Symbol& symbol : symbols) {
      values[symbol.id] = SizeFor(symbol, options, random);
      absl::StrAppend(&one.sizes, one.sizes.empty() ? "" : " ",
                      symbol.where.empty() ? absl::StrCat("(", symbol.original, ")") : symbol.where, "=",
                      values[symbol.id]);
    }
    absl::StatusOr<std::unique_ptr<HloModule>> resized = all->Resized(values);
    if (!resized.ok() || BytesOf(**resized) > options.most_bytes) continue;
    const absl::Time start = absl::Now();
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> exact, cpu->Compile((*resized)->Clone(), compile));
    one.compile_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
    const auto again = [&]() -> absl::StatusOr<std::unique_ptr<HloModule>> { return (*resized)->Clone(); };
    absl::StatusOr<std::shared_ptr<const Executable>> found = general.Find((*resized)->Clone(), again, compile);
    if (found.ok() && options.seconds > 0) {  // once more, without what the first use costs
      const absl::Time before = absl::Now();
      found = general.Find((*resized)->Clone(), again, compile);
      one.prepare_ms = absl::ToDoubleMilliseconds(absl::Now() - before);
    }
    if (!found.ok()) {
      if (!absl::IsUnimplemented(found.status())) return found.status();
      one.refused = std::string(found.status().message());
      report.sizes.push_back(std::move(one));
      continue;
    }
    std::vector<Literal> inputs;
    const size_t made_up = exact->parameter_leaves().size() - options.inputs.size();
    for (const Shape& leaf : exact->parameter_leaves()) {
      const size_t n = inputs.size();
      const bool given = n >= made_up && options.inputs[n - made_up]->shape().dims() == leaf.dims();
      inputs.push_back(given ? options.inputs[n - made_up]->Clone() : MakeInput(n, leaf));
    }
    XC_ASSIGN_OR_RETURN(const std::vector<Literal> expected, Run(*exact, inputs, options.near));
    XC_ASSIGN_OR_RETURN(const std::vector<Literal> actual, Run(**found, inputs, options.near));
    one.wrong = Compare(actual, expected);
    if (!one.wrong.empty() && options.interpreter) {
      XC_ASSIGN_OR_RETURN(auto reference, InterpreterBackend()->Compile((*resized)->Clone(), compile));
      XC_ASSIGN_OR_RETURN(const std::vector<Literal> third, Run(*reference, inputs, false));
      // Where these two differ, the program makes much of its rounding.
      one.unstable = !Compare(expected, third).empty();
      if (one.unstable) one.wrong.clear();
    }
    if (options.seconds > 0) XC_RETURN_IF_ERROR(Measure(**found, *exact, inputs, options.seconds, &one));
    report.sizes.push_back(std::move(one));
  }
  if (report.sizes.empty()) report.none = "no sizes that were tried make a module";
  return report;
}

}  // namespace xc
