// `xla compile`: compiles ahead of time.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "hlo/symbolic.h"
#include "importers/io.h"
#include "service/ahead_of_time.h"
#include "service/argument_shapes.h"
#include "service/files.h"
#include "service/size_ranges.h"
#include "tools/commands.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

struct Settings {
  std::string out, cpu, constants, format = "program", name, shapes, signature = "serving_default", disable, samples,
                                   pieces;
  bool excess_precision = false, constants_beside = false;
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Makes the entry's last parameters constants: those whose number N has a file `directory`/N.npy.
absl::Status BindParameters(const std::string& directory, HloModule* module) {
  HloComputation* const entry = module->entry();
  int64_t bound = 0;
  for (; entry->parameter_count() > 0; ++bound) {
    const int64_t last = entry->parameter_count() - 1;
    const std::string path = absl::StrCat(directory, "/", last, ".npy");
    if (!FileExists(path)) break;
    HloInstruction* const parameter = entry->parameter(last);
    if (!parameter->shape().IsArray() || parameter->shape().is_dynamic()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", last, " is ", parameter->shape().ToString(false),
                                                     ", which no constant can take the place of"));
    }
    XC_ASSIGN_OR_RETURN(Literal value, ReadArray(path, parameter->shape()));
    HloInstruction* const constant = entry->Add(HloInstruction::CreateConstant(std::move(value)));
    parameter->ReplaceAllUsesWith(constant);
    if (entry->root() == parameter) entry->set_root(constant);
    entry->RemoveParameter(last);
    if (module->config().has_entry_layout) module->config().entry_parameter_layouts.pop_back();
  }
  if (bound > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(directory, " has no ", entry->parameter_count() - 1, ".npy for the last parameter"));
}

// The module for the sizes that `shapes` has.
absl::StatusOr<std::unique_ptr<HloModule>> ReadSized(const std::string& path, const Settings& s,
                                                     const std::string& shapes) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule({path, shapes, s.signature}));
  const std::string constants = s.constants_beside ? FolderOf(path) : s.constants;
  if (!constants.empty()) XC_RETURN_IF_ERROR(BindParameters(constants, module.get()));
  return module;
}

constexpr int64_t kPieceBytes = 64 << 20, kLeastPieces = 8;  // programs for pieces take no more, but for a few

// The bytes of the largest array.
int64_t LargestBytes(const HloModule& module) {
  int64_t bytes = 0;
  for (const HloInstruction* i : module.entry()->PostOrder()) {
    if (i->shape().IsArray()) bytes = std::max(bytes, i->shape().ByteSize());
  }
  return bytes;
}

// How many bytes each row of the open ranges takes in the largest array that has any, all others being as small as they
// can; 1 at least.
absl::StatusOr<int64_t> RowBytes(const std::string& path, const Settings& s, const SizeRanges& ranges) {
  XC_ASSIGN_OR_RETURN(const std::string one, ranges.At(0));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, ReadSized(path, s, one));
  int64_t most = 1;
  for (size_t o = 0; o < ranges.open().size(); ++o) {
    const SizeRanges::Open& open = ranges.open()[o];
    XC_ASSIGN_OR_RETURN(const std::string two, ranges.With(0, o, open.low + open.multiple));
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> larger, ReadSized(path, s, two));
    most = std::max(most, LargestBytes(*larger) - LargestBytes(*module));
  }
  return most;
}

// Gives open ranges pieces for which programs take tens of megabytes at most, and large sizes to be tried.
absl::Status ChoosePieces(const std::string& path, const Settings& s, bool symbols, SizeRanges* ranges,
                          std::vector<int64_t>* far) {
  constexpr int64_t kMostRows = 1 << 20, kDense = 64;
  XC_ASSIGN_OR_RETURN(const int64_t row, RowBytes(path, s, *ranges));
  const int64_t most = std::clamp<int64_t>(kPieceBytes / row, kLeastPieces, kMostRows);
  const int64_t dense = ranges->open().size() == 1 ? std::min(kDense, most) : kLeastPieces;
  XC_RETURN_IF_ERROR(ranges->SetPieces(dense, most));
  // What is read in another way than from text may make arrays of constants.
  for (const int power : {40, 36, 32, 31, 28, 24, 20, 16}) {
    if (symbols || power <= 16) far->push_back(int64_t{1} << power);
  }
  return absl::OkStatus();
}

// The modules of a range of sizes.
absl::StatusOr<SizesAhead::Range> RangeOf(const std::string& path, const Settings& s, SizeRanges ranges) {
  SizesAhead::Range range;
  if (!ranges.open().empty()) {
    std::vector<int64_t> far;
    const bool symbols = HasSymbols(path);
    if (symbols) {
      XC_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
      XC_ASSIGN_OR_RETURN(const SymbolicText text, SymbolicText::Parse(std::move(content)));
      for (const SizeRanges::Open& open : ranges.open()) {
        if (text.OnlyAddsAndMultiplies(open.name)) continue;
        return absl::UnimplementedError(absl::StrCat(
            "symbol ", open.name, " has no end, or too many values to try each, so that the module may only add and ",
            "multiply it; but it divides, or takes a smaller or larger one: give it a range of fewer values, as ",
            "--shapes=", open.name, "=1..64"));
      }
    }
    XC_RETURN_IF_ERROR(ChoosePieces(path, s, symbols, &ranges, &far));
    for (const SizeRanges::Open& open : ranges.open()) {
      SizesAhead::Range::Open& out = range.open.emplace_back();
      out.name = open.name;
      out.low = open.low;
      out.high = open.high;
      out.multiple = open.multiple;
      out.pieces = open.pieces;
      for (const int64_t size : far) out.far.push_back(size / open.multiple * open.multiple);
    }
  }
  range.count = ranges.count();
  range.module = [path, s, ranges](int64_t i) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const std::string shapes, ranges.At(i));
    return ReadSized(path, s, shapes);
  };
  range.sample = [path, s, ranges](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    absl::StatusOr<std::unique_ptr<HloModule>> found = absl::OutOfRangeError("there is no sample");
    for (const bool outside : {true, false}) {
      const absl::StatusOr<std::string> shapes = ranges.Sample(which, outside);
      found = shapes.ok() ? ReadSized(path, s, *shapes) : shapes.status();
      if (found.ok()) break;
    }
    return found;
  };
  range.open_value = [ranges](int64_t i, size_t o) { return ranges.OpenValue(i, o); };
  // One module after the other is often for the same sizes.
  auto last = std::make_shared<std::pair<std::string, std::unique_ptr<HloModule>>>();
  range.with = [path, s, ranges, last](int64_t i, size_t o,
                                       int64_t value) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const std::string shapes, ranges.With(i, o, value));
    if (last->second == nullptr || last->first != shapes) {
      XC_ASSIGN_OR_RETURN(last->second, ReadSized(path, s, shapes));
      last->first = shapes;
    }
    return last->second->Clone();
  };
  return range;
}

// What --shapes says: sizes that are named get code of their own, ranges of them share code.
absl::StatusOr<SizesAhead> SizesOf(const std::string& path, const Settings& s) {
  std::vector<SizeRanges> all;
  for (absl::string_view text : absl::StrSplit(s.shapes, ';', absl::SkipWhitespace())) {
    XC_ASSIGN_OR_RETURN(SizeRanges ranges, SizeRanges::Parse(absl::StripAsciiWhitespace(text)));
    all.push_back(std::move(ranges));
  }
  SizesAhead sizes;
  if (all.empty() && HasSymbols(path)) {
    XC_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
    XC_ASSIGN_OR_RETURN(const SymbolicText text, SymbolicText::Parse(std::move(content)));
    XC_ASSIGN_OR_RETURN(SizeRanges ranges, SizeRanges::OfSymbols(text.symbols()));
    all.push_back(std::move(ranges));
  }
  if (all.empty()) sizes.own.push_back([path, s] { return ReadSized(path, s, ""); });
  for (const SizeRanges& ranges : all) {
    if (ranges.exact()) {
      XC_ASSIGN_OR_RETURN(const std::string shapes, ranges.At(0));
      sizes.own.push_back([path, s, shapes] { return ReadSized(path, s, shapes); });
      continue;
    }
    XC_ASSIGN_OR_RETURN(SizesAhead::Range range, RangeOf(path, s, ranges));
    sizes.ranges.push_back(std::move(range));
  }
  return sizes;
}

// Makes the size that --pieces is of one without an end.
absl::Status OpenTo(const std::vector<std::string>& paths, const Settings& s, SizesAhead::Range* range) {
  std::vector<int64_t> values;
  for (absl::string_view text : absl::StrSplit(s.pieces, ',')) {
    int64_t value = 0;
    const int64_t before = values.empty() ? 0 : values.back();
    if (!absl::SimpleAtoi(text, &value) || value <= before || (values.empty() && value != 1)) {
      return absl::InvalidArgumentError("--pieces has numbers that grow, the first one 1");
    }
    values.push_back(value);
  }
  if (values.size() < 3 || values.size() != paths.size()) {
    return absl::InvalidArgumentError("--pieces has a number for each FILE, three at least");
  }
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> one, ReadSized(paths[0], s, ""));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> two, ReadSized(paths[1], s, ""));
  const int64_t row = std::max<int64_t>(1, (LargestBytes(*two) - LargestBytes(*one)) / (values[1] - values[0]));
  SizesAhead::Range::Open open;
  open.name = "any_size";
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (static_cast<int64_t>(i) < kLeastPieces || values[i] <= kPieceBytes / row) open.pieces.push_back(values[i]);
  }
  open.far = {values.back()};
  range->count = static_cast<int64_t>(open.pieces.size());
  range->open = {open};
  range->open_value = [values](int64_t i, size_t) { return values[i]; };
  range->with = [paths, s, values](int64_t, size_t, int64_t value) {
    return ReadSized(paths[std::find(values.begin(), values.end(), value) - values.begin()], s, "");
  };
  return absl::OkStatus();
}

// Several modules, which share code that is made of samples, if there are any.
absl::StatusOr<SizesAhead> SizesOf(const std::vector<std::string>& paths, const Settings& s) {
  if (!s.shapes.empty()) {
    return absl::InvalidArgumentError("--shapes is for one FILE; of several, each has its sizes");
  }
  SizesAhead sizes;
  const std::vector<std::string> samples = absl::StrSplit(s.samples, ',', absl::SkipEmpty());
  if (samples.empty() && s.pieces.empty()) {
    for (const std::string& path : paths) sizes.own.push_back([path, s] { return ReadSized(path, s, ""); });
    return sizes;
  }
  const auto sample = [samples, s](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    if (which < static_cast<int>(samples.size())) return ReadSized(samples[which], s, "");
    return absl::OutOfRangeError("there is no such sample");
  };
  SizesAhead::Range& range = sizes.ranges.emplace_back();
  range.count = static_cast<int64_t>(paths.size());
  range.module = [paths, s](int64_t i) { return ReadSized(paths[i], s, ""); };
  range.sample = sample;
  if (!s.pieces.empty()) XC_RETURN_IF_ERROR(OpenTo(paths, s, &range));
  return sizes;
}

absl::Status CompileFiles(const std::vector<std::string>& paths, const Settings& s) {
  const absl::Time start = absl::Now();
  const bool one = paths.size() == 1 && s.samples.empty() && s.pieces.empty();
  XC_ASSIGN_OR_RETURN(const SizesAhead sizes, one ? SizesOf(paths[0], s) : SizesOf(paths, s));
  std::vector<std::string> cpus = absl::StrSplit(s.cpu, ',', absl::SkipEmpty());
  if (cpus.empty()) {
    XC_ASSIGN_OR_RETURN(std::string best, BestCpuHere());
    cpus.push_back(std::move(best));
  }
  CompileOptions options;
  options.disabled_passes = absl::StrSplit(s.disable, ',', absl::SkipEmpty());
  options.excess_precision = s.excess_precision;
  std::string program;
  AheadStats stats;
  {
    const Progress progress(absl::StrCat("compiling for ", absl::StrJoin(cpus, ", ")));
    XC_ASSIGN_OR_RETURN(program, CompileAheadOfTime(sizes, options, cpus, &stats));
  }
  JsonList written;
  const auto write = [&](const std::string& file, const std::string& bytes) {
    written.Add(JsonText(file));
    return WriteFile(file, bytes);
  };
  if (s.format == "object") {
    const std::string base(absl::StripSuffix(s.out, ".o"));
    const std::string name = s.name.empty() ? BaseName(base, "") : s.name;
    XC_ASSIGN_OR_RETURN(const std::string object, ProgramObject(name, program));
    XC_ASSIGN_OR_RETURN(const std::string header, ProgramHeader(name, program));
    XC_RETURN_IF_ERROR(write(base + ".o", object));
    XC_RETURN_IF_ERROR(write(base + ".h", header));
  } else {
    XC_RETURN_IF_ERROR(write(s.out, program));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  Report& report = Report::Get();
  report.fields.Add("module", stats.module).Add("compile_s", seconds);
  report.fields.Add("sizes", stats.general + stats.own).Add("own_code", stats.own).Add("refusal", stats.refusal);
  report.fields.Add("bytes", static_cast<int64_t>(program.size())).AddJson("written", written.ToString());
  const std::string many = stats.general + stats.own == 1
                               ? ""
                               : absl::StrCat(" at ", HumanCount(stats.general + stats.own, "size"), ", ", stats.own,
                                              " with code of their own");
  report.Line(absl::StrCat(stats.module, " compiled for ", absl::StrJoin(cpus, ", "), many, " in ",
                           HumanSeconds(seconds), ": ", HumanBytes(static_cast<int64_t>(program.size()))));
  if (!stats.refusal.empty()) {
    report.Line(absl::StrCat("code for several sizes does not serve all of them; the last one: ", stats.refusal));
  }
  return absl::OkStatus();
}

}  // namespace

int CompileCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags(
      "xla compile FILE... -o MODEL.xcp [flags]",
      "Compiles an HLO or StableHLO module, or a signature of a SavedModel, ahead of time, to a file that "
      "libxcrt (without a compiler), libxc "
      "and xla.load run. Of several FILEs, modules that differ in sizes alone, the file has each.\n\nexamples:\n"
      "  xla compile module.hlo -o model.xcp --cpu=x86-64-v2,x86-64-v3,x86-64-v4\n"
      "  xla compile module.hlo -o model.o --format=object     model.o and model.h, for a C program\n"
      "  xla compile saved_model/ -o model.xcp --shapes=[1,224,224,3]\n"
      "  xla compile module.hlo -o model.xcp --shapes=\"[1,64]; [b=2..32,64]\"     one size and a range");
  flags.Add("o", &s.out, "the file to write");
  flags.Add("cpu", &s.cpu,
            absl::StrCat("processors to have code for, separated by commas: ", absl::StrJoin(AheadOfTimeCpus(), ", "),
                         " (default: the best of them that this machine is)"));
  flags.Add("format", &s.format, "`program`: a file to load; `object`: an object file and a header to link with");
  flags.Add("name", &s.name, "of the functions in the header (default: the file's)");
  flags.Add("constants", &s.constants,
            "directory with N.npy: the last parameters that it has files for become constants of the program");
  flags.Add("constants_beside", &s.constants_beside, "the same, each FILE's in the folder that it is in");
  flags.Add("samples", &s.samples,
            "modules like the FILEs, separated by commas, of which code is made that the FILEs share");
  flags.Add("pieces", &s.pieces,
            "of FILEs that differ in one size: its value in each, from 1 on, so that the program is for any size; the "
            "last FILE is only compared");
  flags.Add(
      "shapes", &s.shapes,
      "of the inputs where the file leaves sizes open, as [8,4],[8], or the values of its symbols, as b=8,n=17; "
      "several, separated by `;`, get code each; ranges, as [b=1..64,4],[b], b=1..64,n=8..128:8 or, without an end, "
      "b=1.., share code");
  flags.Add("signature", &s.signature, kSignatureHelp);
  flags.Add("disable", &s.disable, "names of passes not to run, separated by commas");
  flags.Add("excess_precision", &s.excess_precision, "compute in f32 what is written in f16 or bf16");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().empty() || s.out.empty()) {
    return Fail(absl::InvalidArgumentError("`xla compile` takes a FILE and -o MODEL"));
  }
  if (s.format != "program" && s.format != "object") {
    return Fail(absl::InvalidArgumentError("--format should be `program` or `object`"));
  }
  if (absl::Status status = CompileFiles(flags.positional(), s); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
