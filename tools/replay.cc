// `xla replay`: compiles and runs a module or a bundle, prints timings, writes outputs, compares platforms.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/registry.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "jit/saved_model/saved_model.h"
#include "service/argument_shapes.h"
#include "service/bundle.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/files.h"
#include "service/inputs.h"
#include "service/npy.h"
#include "service/profile.h"
#include "service/read_limits.h"
#include "tools/bisect.h"
#include "tools/commands.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/replay_devices.h"
#include "tools/replay_symbolic.h"
#include "tools/report.h"
#include "tools/stdin_file.h"
#include "tools/transfers.h"
#include "tools/units.h"

namespace xc {
namespace {

int64_t ResidentMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// Input literals: from `directory`/I.npy (converted to the parameter's type), those of a snapshot, or the deterministic
// ones.
absl::StatusOr<std::vector<Literal>> LoadInputs(const std::vector<Shape>& leaves, const std::string& directory,
                                                std::vector<Literal> arguments) {
  if (directory.empty() && !arguments.empty()) {
    bool fit = arguments.size() == leaves.size();
    for (size_t i = 0; fit && i < leaves.size(); ++i) fit = SameShape(arguments[i].shape(), leaves[i]);
    if (fit) return arguments;
    return absl::InvalidArgumentError("the snapshot's arguments are not those that its module takes; give --inputs");
  }
  std::vector<Literal> inputs;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (directory.empty()) {
      inputs.push_back(MakeInput(i, leaves[i]));
      continue;
    }
    XC_ASSIGN_OR_RETURN(Literal input, ReadArray(absl::StrCat(directory, "/", i, ".npy"), leaves[i]));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<const Literal*> Pointers(const std::vector<Literal>& literals) {
  std::vector<const Literal*> out;
  for (const Literal& literal : literals) out.push_back(&literal);
  return out;
}

struct Settings {
  std::string platform, against, inputs, output_dir, infeed, outfeed_dir, cpu,
      passes = "all", shapes, signature = "serving_default", dump_to, disable, until, cache_dir;
  std::string profile, roofline;
  int64_t runs = 1, threads = 0, devices = 0, memory_limit_mb = 0, instruction_limit = 0;
  int64_t nesting_limit = ParseOptions().max_nesting, call_depth_limit = ParseOptions().max_call_depth;
  int64_t elided_limit_mb = ParseOptions().max_elided_bytes >> 20;
  double seconds = 0, compile_timeout_s = 0;
  bool guard_pages = false, dump_values = false, compile_only = false, fill_elided = true, bisect = false;
  bool excess_precision = false, emulate = false, gpu_libraries = true;
};

// Flags without which, or with which, others do nothing.
absl::Status CheckTogether(const Settings& s) {
  const auto bad = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (s.passes != "all" && s.passes != "none") return bad("--passes should be `all` or `none`; see --disable, --until");
  if (s.emulate && s.platform != "gpu") return bad("--emulate is for --platform=gpu");
  if (!s.gpu_libraries && s.platform != "gpu") return bad("--nogpu_libraries is for --platform=gpu");
  if (s.bisect && s.against.empty()) return bad("--bisect needs --against");
  if (s.dump_values && s.dump_to.empty()) return bad("--dump_values needs --dump_to");
  if (s.compile_only && !(s.against.empty() && s.output_dir.empty() && s.outfeed_dir.empty() && !s.dump_values)) {
    return bad("--compile_only gives no results for --against, --output_dir, --outfeed_dir or --dump_values");
  }
  if (!s.roofline.empty() && !absl::EndsWith(s.roofline, ".svg"))
    return bad("--roofline needs a file that ends with .svg");
  if (s.compile_only && !(s.profile.empty() && s.roofline.empty()))
    return bad("--compile_only runs nothing to profile");
  const bool of_compilers = s.excess_precision || !s.cpu.empty() || !s.profile.empty() || !s.roofline.empty();
  if (s.platform.empty() || !of_compilers) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(s.platform));
  XC_ASSIGN_OR_RETURN(const TargetInfo target, backend->Target({}));
  if (!target.passes) return bad("--cpu, --excess_precision and --profile are for platforms that compile");
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                          const std::string& platform, const CompileOptions& options) {
  const Progress progress("compiling");
  return Client::Default()->Compile(std::move(module), platform, options);
}

// Runs that a profile is made of, where nobody says how many.
constexpr int64_t kProfiledRuns = 5;

absl::Status ReportProfile(const Settings& s, const std::string& name, const Executable& executable,
                           const RunProfile& run, const Timeline& timeline) {
  XC_ASSIGN_OR_RETURN(const Ceilings ceilings, MeasureCeilings(static_cast<int>(s.threads)));
  const Profile profile(name, executable.profile_sites(), run, timeline.spans(), ceilings);
  Report& report = Report::Get();
  report.Line(std::string(absl::StripSuffix(profile.Table(), "\n")));
  report.fields.AddJson("profile", profile.TableJson());
  if (!s.profile.empty()) XC_RETURN_IF_ERROR(WriteTrace(profile, s.profile));
  if (!s.roofline.empty()) XC_RETURN_IF_ERROR(WriteFile(s.roofline, profile.Roofline()));
  return absl::OkStatus();
}

absl::StatusOr<ParseOptions> ReadLimits(const Settings& s) {
  ParseOptions parse;
  XC_RETURN_IF_ERROR(SetReadLimit("max_nesting", s.nesting_limit, &parse));
  XC_RETURN_IF_ERROR(SetReadLimit("max_call_depth", s.call_depth_limit, &parse));
  XC_RETURN_IF_ERROR(SetReadLimit(
      "max_elided_bytes", std::min(s.elided_limit_mb, std::numeric_limits<int64_t>::max() >> 20) << 20, &parse));
  return parse;
}

// `options` as the flags change them.
CompileOptions WithFlags(CompileOptions options, const Settings& s) {
  if (!s.cpu.empty()) options.cpu = s.cpu;
  if (s.passes == "none") options.disabled_passes = {"all"};
  for (absl::string_view name : absl::StrSplit(s.disable, ',', absl::SkipEmpty())) {
    options.disabled_passes.push_back(std::string(name));
  }
  if (!s.until.empty()) options.until_pass = s.until;
  options.max_memory_bytes = s.memory_limit_mb << 20;
  options.cache_dir = s.cache_dir;
  options.excess_precision |= s.excess_precision;
  options.emulate |= s.emulate;
  options.gpu_libraries &= s.gpu_libraries;
  options.max_instructions = s.instruction_limit;
  if (s.compile_timeout_s > 0) options.deadline = absl::Now() + absl::Seconds(s.compile_timeout_s);
  options.compile_threads = static_cast<int>(s.threads);
  return options;
}

RunOptions RunOptionsOf(const Settings& s) {
  RunOptions run;
  run.executor = DefaultExecutor();
  run.thread_limit = static_cast<int>(s.threads);
  run.guard_pages = s.guard_pages;
  return run;
}

// A module with symbols, or, with several lists of shapes, one that leaves sizes open.
absl::Status ReplayForShapes(const std::string& path, const Settings& s, bool* wrong) {
  if (!s.inputs.empty() || !s.output_dir.empty() || !s.dump_to.empty() || s.bisect || s.compile_only) {
    return absl::InvalidArgumentError(
        "a module that is run for several sizes takes no --inputs, --output_dir, --dump_to, --bisect or "
        "--compile_only; `xla opt --shapes=b=2,n=17` prints the module of some");
  }
  const std::string platform = s.platform.empty() ? DefaultPlatform() : s.platform;
  const SymbolicRuns runs = {platform, s.against, s.shapes, s.runs, s.seconds};
  if (HasSymbols(path)) {
    XC_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    return ReplaySymbolic(text, runs, WithFlags({}, s), RunOptionsOf(s), wrong);
  }
  XC_ASSIGN_OR_RETURN(const ParseOptions parse, ReadLimits(s));
  const auto read = [&](const std::string& shapes) { return ReadModule({path, shapes, s.signature}, parse); };
  return ReplayShapes(read, runs, WithFlags({}, s), RunOptionsOf(s), wrong);
}

// A bundle, or the module of a file with the arguments that are recorded with it. Settings that the flags leave open
// become the bundle's.
absl::StatusOr<Bundle> ReadProgram(const std::string& path, Settings* s, std::vector<Literal>* arguments) {
  XC_ASSIGN_OR_RETURN(ParseOptions parse, ReadLimits(*s));
  Bundle bundle;
  if (IsDirectory(path) && !IsSavedModel(path)) {
    if (!s->shapes.empty())
      return absl::InvalidArgumentError("--shapes is for modules that leave sizes open, no bundle does");
    XC_ASSIGN_OR_RETURN(bundle, ReadBundle(path, parse));
    XC_RETURN_IF_ERROR(VerifySource(path, *bundle.module));
  } else {
    if (!s->inputs.empty()) UseShapesOfInputs(s->inputs, &parse);
    XC_ASSIGN_OR_RETURN(bundle.module, ReadModule({path, s->shapes, s->signature}, parse, arguments));
  }
  if (s->fill_elided) {
    if (const int64_t filled = FillElidedConstants(bundle.module.get()); filled > 0) {
      std::fprintf(stderr,
                   "note: %lld constants have no elements (`{...}`) and get those that XLA's text reader gives them; "
                   "--nofill_elided refuses such modules\n",
                   static_cast<long long>(filled));
    }
  }
  if (s->platform.empty()) s->platform = bundle.platform;
  if (s->inputs.empty()) s->inputs = bundle.inputs_dir;
  return bundle;
}

void ReportEvaluated(const Executable& executable) {
  for (const EvaluatedPart& part : executable.evaluated()) {
    std::fprintf(stderr, "evaluated, without code: %s: %s\n", part.what.c_str(), part.reason.c_str());
  }
}

// How long it took to get to a result, in seconds and milliseconds.
struct Times {
  double parse_s = 0, compile_s = 0, best_ms = 0, median_ms = 0;
};

void ReportCompiled(const std::string& name, const Settings& s, const Executable& executable, const Times& times) {
  Report& report = Report::Get();
  report.fields.Add("module", name).Add("parse_s", times.parse_s).Add("compile_s", times.compile_s);
  report.fields.Add("outputs", static_cast<int64_t>(executable.result_leaves().size()));
  report.fields.Add("rss_mb", ResidentMegabytes()).Add("temp_bytes", executable.temp_bytes());
  report.fields.Add("evaluated", static_cast<int64_t>(executable.evaluated().size()));
  std::string line = absl::StrCat(name, " compiled for ", s.platform, " in ", HumanSeconds(times.compile_s), ", ",
                                  HumanBytes(executable.temp_bytes()), " of temporary memory");
  if (const std::optional<DeviceStarts> starts = executable.device_starts()) {
    report.fields.Add("kernels_started", starts->kernels).Add("copies_started", starts->copies);
    report.fields.Add("evaluated_steps", starts->evaluated).Add("library_products", starts->library_products);
    absl::StrAppend(&line, "; one run starts ", HumanCount(starts->kernels, "kernel"), " and ",
                    starts->copies == 1 ? "1 copy" : absl::StrCat(starts->copies, " copies"));
    if (starts->library_products > 0) {
      absl::StrAppend(&line, ", and the library for ", HumanCount(starts->library_products, "product"));
    }
    report.fields.Add("products", executable.Text("products"));
  }
  report.Line(line);
}

void ReportRun(const std::string& name, const Settings& s, const Executable& executable, const Times& times) {
  const int64_t evaluated = static_cast<int64_t>(executable.evaluated().size());
  const int64_t outputs = static_cast<int64_t>(executable.result_leaves().size());
  Report& report = Report::Get();
  report.fields.Add("module", name).Add("parse_s", times.parse_s).Add("compile_s", times.compile_s);
  report.fields.Add("run_ms", times.best_ms).Add("median_ms", times.median_ms).Add("outputs", outputs);
  report.fields.Add("rss_mb", ResidentMegabytes());
  report.fields.Add("temp_bytes", executable.temp_bytes()).Add("evaluated", evaluated);
  if (const std::string launched = executable.Text("runs"); !launched.empty()) report.fields.Add("launched", launched);
  report.Line(absl::StrCat(name, " on ", s.platform, ": parsed in ", HumanSeconds(times.parse_s), ", compiled in ",
                           HumanSeconds(times.compile_s), ", run ", HumanSeconds(times.best_ms / 1e3), " (best of ",
                           s.runs, "), ", HumanCount(outputs, "output"),
                           evaluated > 0 ? absl::StrCat(", ", evaluated, " evaluated") : ""));
}

absl::Status WriteResults(const Settings& s, const Transfers& transfers, const std::vector<Literal>& inputs,
                          const std::vector<Literal>& outputs) {
  if (!s.outfeed_dir.empty()) XC_RETURN_IF_ERROR(transfers.Write(s.outfeed_dir));
  if (!s.output_dir.empty()) {
    XC_RETURN_IF_ERROR(MakeDirectories(s.output_dir));
    for (size_t i = 0; i < outputs.size(); ++i) {
      XC_RETURN_IF_ERROR(WriteNpy(absl::StrCat(s.output_dir, "/", i, ".npy"), outputs[i]));
    }
  }
  if (!s.dump_to.empty() && s.dump_values) {
    XC_RETURN_IF_ERROR(AddToBundle(s.dump_to, "inputs", inputs));
    XC_RETURN_IF_ERROR(AddToBundle(s.dump_to, "outputs", outputs));
  }
  return absl::OkStatus();
}

// Runs `original` on the platform s.against and compares; *wrong is set where results differ.
absl::Status CompareWithOther(const Settings& s, const HloModule& original, const CompileOptions& options,
                              const RunOptions& run, Transfers& transfers, const std::vector<Literal>& inputs,
                              const std::vector<Literal>& outputs, bool* wrong) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> other, Compile(original.Clone(), s.against, CompileOptions()));
  std::vector<Literal> expected;
  {
    const Progress progress(absl::StrCat("running on ", s.against));
    XC_ASSIGN_OR_RETURN(expected, transfers.Run(*other, Pointers(inputs), run));
  }
  Report& report = Report::Get();
  JsonList differences;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference = CompareNorm(outputs[i], expected[i]);
    if (difference.empty()) continue;
    *wrong = true;
    differences.Add(JsonObject().Add("output", static_cast<int64_t>(i)).Add("problem", difference).ToString());
    report.Line(absl::StrCat("output ", i, " differs from ", s.against, ": ", difference));
  }
  report.fields.Add("against", s.against).Add("agree", !*wrong).AddJson("differences", differences.ToString());
  if (!*wrong) {
    report.Line(
        absl::StrCat("all ", HumanCount(static_cast<int64_t>(outputs.size()), "output"), " agree with ", s.against));
  } else if (s.bisect) {
    const Progress progress("bisecting");
    XC_ASSIGN_OR_RETURN(std::string verdict, BisectPasses(original, s.platform, options, run, inputs, expected));
    report.fields.Add("bisect", verdict);
    report.Line(verdict);
  }
  return absl::OkStatus();
}

// Compiles and runs a module on one device.
absl::Status ReplayModule(const std::string& name, std::unique_ptr<HloModule> module, std::vector<Literal> arguments,
                          const Settings& s, CompileOptions options, RunOptions run, Times times, bool* wrong) {
  if (!s.compile_only) XC_RETURN_IF_ERROR(CheckInputMemory(*module, options.max_memory_bytes));
  if (!s.dump_to.empty()) XC_RETURN_IF_ERROR(BeginBundle(s.dump_to, *module, s.platform, &options));
  XC_ASSIGN_OR_RETURN(Transfers transfers, Transfers::Make(*module, s.infeed));
  if (transfers.any() && (s.runs > 1 || s.seconds > 0 || s.bisect)) {
    return absl::InvalidArgumentError(
        "a program with infeed or outfeed runs once: no --runs, --seconds, --profile or --bisect");
  }
  const std::unique_ptr<HloModule> original = module->Clone();
  const absl::Time compile_start = absl::Now();
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable, Compile(std::move(module), s.platform, options));
  times.compile_s = absl::ToDoubleSeconds(absl::Now() - compile_start);
  ReportEvaluated(*executable);
  if (s.compile_only) {
    ReportCompiled(name, s, *executable, times);
    return absl::OkStatus();
  }
  // Only timed, a run holds its inputs and outputs once, in the buffers that it uses.
  const bool values = transfers.any() || !s.against.empty() || !s.output_dir.empty() || s.dump_values;
  XC_RETURN_IF_ERROR(CheckRunMemory(*executable, values ? 2 : 1, options.max_memory_bytes));
  XC_ASSIGN_OR_RETURN(std::vector<Literal> inputs,
                      LoadInputs(executable->parameter_leaves(), s.inputs, std::move(arguments)));
  std::vector<Literal> outputs;
  const Progress progress("running");
  if (values) {
    const absl::Time run_start = absl::Now();
    XC_ASSIGN_OR_RETURN(outputs, transfers.Run(*executable, Pointers(inputs), run));
    times.best_ms = times.median_ms = absl::ToDoubleMilliseconds(absl::Now() - run_start);
  }
  if (!transfers.any()) {
    std::unique_ptr<RunProfile> profile;
    if (options.profile) profile = std::make_unique<RunProfile>(executable->profile_sites().size());
    run.profile = profile.get();
    XC_RETURN_IF_ERROR(
        TimeRuns(*executable, &inputs, values, run, s.runs, s.seconds, &times.best_ms, &times.median_ms));
    run.profile = nullptr;
    if (options.profile) XC_RETURN_IF_ERROR(ReportProfile(s, name, *executable, *profile, *options.timeline));
  }
  XC_RETURN_IF_ERROR(WriteResults(s, transfers, inputs, outputs));
  ReportRun(name, s, *executable, times);
  if (s.against.empty()) return absl::OkStatus();
  return CompareWithOther(s, *original, options, run, transfers, inputs, outputs, wrong);
}

absl::Status Replay(const std::string& path, Settings s, bool* wrong) {
  if (HasSymbols(path) || s.shapes.find(';') != std::string::npos) return ReplayForShapes(path, s, wrong);
  const absl::Time parse_start = absl::Now();
  const int64_t parse_start_ns = ProfileClock();
  std::vector<Literal> arguments;
  XC_ASSIGN_OR_RETURN(Bundle bundle, ReadProgram(path, &s, &arguments));
  Times times;
  times.parse_s = absl::ToDoubleSeconds(absl::Now() - parse_start);
  CompileOptions options = WithFlags(bundle.options, s);
  Timeline timeline;
  options.profile = !s.profile.empty() || !s.roofline.empty();
  if (options.profile) {
    options.timeline = &timeline;
    timeline.Add("read", "parse", parse_start_ns, ProfileClock());
    if (s.runs == 1) s.runs = kProfiledRuns;
  }
  const RunOptions run = RunOptionsOf(s);
  XC_ASSIGN_OR_RETURN(const bool several, SetDevices(bundle.module.get(), s.devices));
  if (!several) {
    return ReplayModule(SourceName(path, ".hlo"), std::move(bundle.module), std::move(arguments), s, options, run,
                        times, wrong);
  }
  if (s.bisect || s.compile_only || !s.dump_to.empty() || !s.infeed.empty() || !s.outfeed_dir.empty()) {
    return absl::InvalidArgumentError(
        "a module for several devices is replayed without --bisect, --compile_only, --dump_to and feeds");
  }
  return ReplayOnDevices(
      std::move(bundle.module),
      {SourceName(path, ".hlo"), s.platform, s.against, s.inputs, s.output_dir, s.runs, options, run}, wrong);
}

}  // namespace

int ReplayCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags("xla replay FILE|BUNDLE [flags]",
                "Compiles and runs an HLO module (text, binary or text HloModuleProto/HloProto) or a bundle that "
                "--dump_to wrote.\n\nexamples:\n"
                "  xla replay module.hlo --runs=100 --json\n"
                "  xla replay module.hlo --against=interpreter --bisect\n"
                "  xla replay module.hlo --profile=trace.json --roofline=roofline.svg\n"
                "  xla replay module.hlo --dump_to=bundle && xla replay bundle\n"
                "  xla replay symbolic.hlo --shapes=\"b=2,n=17; b=3,n=5\" --against=interpreter\n"
                "  xla replay open.mlir --shapes=\"[2,17]; [3,5]\" --against=interpreter");
  flags.Add("platform", &s.platform, PlatformNames() + " (default: the bundle's, else " + DefaultPlatform() + ")");
  flags.Add("emulate", &s.emulate, "with --platform=gpu: run on the emulator in place of a device");
  flags.Add("gpu_libraries", &s.gpu_libraries,
            "with --platform=gpu: large products by NVIDIA's library, where there is one");
  flags.Add("against", &s.against, "compare the outputs with those of this platform; status 1 if they differ");
  flags.Add("bisect", &s.bisect,
            "with --against: name the first pass, then the first instruction or fusion, that changes the result");
  flags.Add("inputs", &s.inputs,
            "directory with 0.npy, 1.npy, … (default: those of a snapshot, else deterministic inputs)");
  flags.Add("shapes", &s.shapes, kShapesHelp);
  flags.Add("signature", &s.signature, kSignatureHelp);
  flags.Add("output_dir", &s.output_dir, "write the outputs as 0.npy, 1.npy, … (bf16 and f8 as f32, s4 as int8)");
  flags.Add("infeed", &s.infeed, "directory with 0.npy, 1.npy, …: the arrays that the program takes while it runs");
  flags.Add("outfeed_dir", &s.outfeed_dir, "write the arrays that the program gives while it runs as 0.npy, 1.npy, …");
  flags.Add("runs", &s.runs, "runs to time", 1);
  flags.Add("seconds", &s.seconds, "stop timing after this many seconds (0: never)");
  flags.Add(
      "profile", &s.profile,
      "write where the time goes: FILE.json or FILE.json.gz for Perfetto, DIR/ for TensorBoard; and print a table");
  flags.Add("roofline", &s.roofline, "write a roofline picture of the profile: FILE.svg");
  flags.Add("threads", &s.threads, "threads to compile and run with (0: all)");
  flags.Add("devices", &s.devices,
            "run on this many devices of the process, a thread each (0: as many as the module says if it has "
            "collectives); inputs of device D from DIR/D/0.npy, … if there is such a folder, outputs to DIR/D");
  flags.Add("cpu", &s.cpu, "generate code for this CPU: x86-64-v2, x86-64-v3, x86-64-v4, or a CPU's name");
  flags.Add("passes", &s.passes, "`none`: only the passes that the backend cannot do without");
  flags.Add("disable", &s.disable, "names of passes not to run, separated by commas");
  flags.Add("until", &s.until, "stop optimizing after this pass");
  flags.Add("excess_precision", &s.excess_precision,
            "compute in f32 what is written in f16 or bf16, as XLA does by default");
  flags.Add("cache_dir", &s.cache_dir, "keep compiled code in this directory, and use what is there");
  flags.Add("dump_to", &s.dump_to, "write a bundle that can be replayed to this directory");
  flags.Add("dump_values", &s.dump_values, "with --dump_to: also inputs and outputs");
  flags.Add("guard_pages", &s.guard_pages, "put temporary memory between pages that cannot be accessed");
  flags.Add("compile_only", &s.compile_only, "do not run");
  flags.Add("fill_elided", &s.fill_elided, "give elided constants the elements that XLA's text reader gives them");
  flags.Add("memory_limit_mb", &s.memory_limit_mb, "refuse programs that need more memory (0: no limit)");
  flags.Add("instruction_limit", &s.instruction_limit, "refuse modules with more instructions (0: no limit)");
  flags.Add("nesting_limit", &s.nesting_limit, "refuse texts and messages that nest shapes or values deeper");
  flags.Add("call_depth_limit", &s.call_depth_limit, "refuse modules whose computations call each other deeper");
  flags.Add("elided_limit_mb", &s.elided_limit_mb,
            "refuse modules whose constants without elements (`{...}`) take more memory");
  flags.Add("compile_timeout_s", &s.compile_timeout_s, "give up compiling after this time (0: never)");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1) {
    return Fail(absl::InvalidArgumentError("`xla replay` takes one FILE or BUNDLE"));
  }
  if (absl::Status status = CheckTogether(s); !status.ok()) return Fail(status);
  bool wrong = false;
  if (absl::Status status = Replay(flags.positional()[0], s, &wrong); !status.ok()) return Fail(status);
  return wrong ? 1 : 0;
}

}  // namespace xc
