// What `xla compile` compiles: the modules of its FILEs, and those of --shapes' ranges of sizes.
#include "tools/compile_sizes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/analysis/padding_safety.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "hlo/symbolic.h"
#include "importers/io.h"
#include "service/argument_shapes.h"
#include "service/files.h"
#include "service/size_ranges.h"
#include "tools/program.h"
#include "tools/read_module.h"

namespace xc {
namespace {

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
absl::StatusOr<std::unique_ptr<HloModule>> ReadSized(const std::string& path, const CompileSources& s,
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
absl::StatusOr<int64_t> RowBytes(const std::string& path, const CompileSources& s, const SizeRanges& ranges) {
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
absl::Status ChoosePieces(const std::string& path, const CompileSources& s, bool symbols, SizeRanges* ranges,
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
absl::StatusOr<SizesAhead::Range> RangeOf(const std::string& path, const CompileSources& s, const SymbolicText* symbols,
                                          SizeRanges ranges) {
  SizesAhead::Range range;
  if (!ranges.open().empty()) {
    std::vector<int64_t> far;
    if (symbols != nullptr) {
      for (const SizeRanges::Open& open : ranges.open()) {
        if (symbols->OnlyAddsAndMultiplies(open.name)) continue;
        return absl::UnimplementedError(absl::StrCat(
            "symbol ", open.name, " has too many values to try each, so that the module may only add and multiply it; ",
            "but it divides, or takes a smaller or larger one: give it a range of fewer values, as --shapes=",
            open.name, "=1..64"));
      }
    }
    XC_RETURN_IF_ERROR(ChoosePieces(path, s, symbols != nullptr, &ranges, &far));
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

// How many sizes are tried, so that it takes about twenty seconds.
int64_t TriesOf(const HloModule& module) {
  constexpr int64_t kMicroseconds = 20'000'000, kEach = 400, kInstruction = 8;
  return std::clamp<int64_t>(kMicroseconds / (kEach + kInstruction * module.InstructionCount()), 256,
                             SizeRanges::kMost);
}

// OK if the rows of range `name` are computed apart from each other, as far as the modules of its two fewest say.
absl::Status CheckApart(const std::string& path, const CompileSources& s, const SizeRanges& ranges,
                        const std::string& name) {
  const std::vector<SizeRanges::Open>& open = ranges.open();
  const auto at = std::find_if(open.begin(), open.end(), [&](const auto& o) { return o.name == name; });
  if (at == open.end()) return absl::OkStatus();
  const auto module_of = [&](int64_t size) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const std::string shapes, ranges.With(0, at - open.begin(), size));
    return ReadSized(path, s, shapes);
  };
  const int64_t more = at->low + at->multiple;
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> small, module_of(at->low));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> large, module_of(more));
  return CheckRowsApart(*small, at->low, *large, more).status();
}

// Whether a range of `ranges`, which is in the text of an open one without its end, has an end.
bool HasEnd(const SizeRanges& ranges, const Symbol& range) {
  for (const SizeRanges::Open& open : ranges.open()) {
    if (open.name == range.name) return open.high != INT64_MAX;
  }
  return true;
}

// Ranges by `make`, which takes what is known of them. Only those whose rows are computed apart can be open: others get
// an end, if they have none, and are left closed where not all combinations can be tried.
template <typename Make>
absl::StatusOr<SizeRanges> RangesOf(const std::string& path, const CompileSources& s, const SymbolicText* symbols,
                                    const Make& make, std::vector<std::string>* notes) {
  RangesKnown known;
  XC_ASSIGN_OR_RETURN(SizeRanges ranges, make(known));
  if (ranges.open().empty()) return ranges;
  std::vector<std::pair<std::string, std::string>> reasons;  // of those that get an end
  for (const Symbol& range : ranges.ranges()) {
    XC_ASSIGN_OR_RETURN(const SizeRanges opened, make({{range.name}, {}}));
    absl::Status apart = CheckApart(path, s, opened, range.name);
    if (apart.ok() && symbols != nullptr && !symbols->OnlyAddsAndMultiplies(range.name)) {
      apart = absl::UnimplementedError("the module divides it, or takes a smaller or larger one");
    }
    if (apart.ok()) {
      known.apart.push_back(range.name);
    } else if (apart.code() != absl::StatusCode::kUnimplemented) {
      return apart;
    } else if (!HasEnd(ranges, range)) {
      known.closed.push_back(range.name);
      reasons.emplace_back(range.name, apart.message());
    }
  }
  XC_ASSIGN_OR_RETURN(const std::string first, ranges.At(0));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, ReadSized(path, s, first));
  known.tries = TriesOf(*module);
  XC_ASSIGN_OR_RETURN(ranges, make(known));
  for (const auto& [name, reason] : reasons) {
    for (const Symbol& range : ranges.ranges()) {
      if (range.name != name) continue;
      notes->push_back(absl::StrCat(range.ToString(), ", since ", reason,
                                    " (a size without an end has rows that are computed apart)"));
    }
  }
  return ranges;
}

// What --shapes says: sizes that are named get code of their own, ranges of them share code.
absl::StatusOr<SizesAhead> SizesOfOne(const std::string& path, const CompileSources& s,
                                      std::vector<std::string>* notes) {
  std::optional<SymbolicText> symbols;
  if (HasSymbols(path)) {
    XC_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
    XC_ASSIGN_OR_RETURN(symbols, SymbolicText::Parse(std::move(content)));
  }
  const SymbolicText* const text = symbols ? &*symbols : nullptr;
  std::vector<SizeRanges> all;
  for (absl::string_view shapes : absl::StrSplit(s.shapes, ';', absl::SkipWhitespace())) {
    const auto parse = [shapes](const RangesKnown& known) {
      return SizeRanges::Parse(absl::StripAsciiWhitespace(shapes), known);
    };
    XC_ASSIGN_OR_RETURN(SizeRanges ranges, RangesOf(path, s, text, parse, notes));
    all.push_back(std::move(ranges));
  }
  SizesAhead sizes;
  if (all.empty() && symbols) {
    const auto of_symbols = [text](const RangesKnown& known) { return SizeRanges::OfSymbols(text->symbols(), known); };
    XC_ASSIGN_OR_RETURN(SizeRanges ranges, RangesOf(path, s, text, of_symbols, notes));
    all.push_back(std::move(ranges));
  }
  if (all.empty()) sizes.own.push_back([path, s] { return ReadSized(path, s, ""); });
  for (const SizeRanges& ranges : all) {
    if (ranges.exact()) {
      XC_ASSIGN_OR_RETURN(const std::string shapes, ranges.At(0));
      sizes.own.push_back([path, s, shapes] { return ReadSized(path, s, shapes); });
      continue;
    }
    XC_ASSIGN_OR_RETURN(SizesAhead::Range range, RangeOf(path, s, text, ranges));
    sizes.ranges.push_back(std::move(range));
  }
  return sizes;
}

// Makes the size that --pieces is of one without an end.
absl::Status OpenTo(const std::vector<std::string>& paths, const CompileSources& s, SizesAhead::Range* range) {
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
absl::StatusOr<SizesAhead> SizesOfSeveral(const std::vector<std::string>& paths, const CompileSources& s) {
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

}  // namespace

absl::StatusOr<SizesAhead> SizesOf(const CompileSources& sources, std::vector<std::string>* notes) {
  const bool one = sources.paths.size() == 1 && sources.samples.empty() && sources.pieces.empty();
  return one ? SizesOfOne(sources.paths[0], sources, notes) : SizesOfSeveral(sources.paths, sources);
}

}  // namespace xc
