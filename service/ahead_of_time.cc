#include "service/ahead_of_time.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/loader/link_image.h"
#include "backends/plan/plan.h"
#include "hlo/base/status.h"
#include "hlo/wire/shape_proto.h"
#include "proto/program.pb.h"
#include "service/client.h"
#include "service/open_sizes.h"

namespace xc {
namespace {

// Code in a file holds descriptors as the runtime's functions take them.
template <typename... T>
constexpr size_t SumOfSizes(const std::variant<T...>*) {
  return (sizeof(T) + ...);
}
static_assert(ProgramFile::kVersion == 5 && SumOfSizes(static_cast<const plan::Descriptor*>(nullptr)) == 1304,
              "descriptors have changed: raise ProgramFile::kVersion, or files of older libraries are misread");

constexpr const char* kCpus[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

FileShape ToFile(const Shape& shape) {
  FileShape out;
  out.type = static_cast<int32_t>(shape.type());
  if (!shape.IsArray()) return out;
  out.dims = {shape.dims().begin(), shape.dims().end()};
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Descending(shape.rank());
  out.minor_to_major = {layout.minor_to_major.begin(), layout.minor_to_major.end()};
  for (int64_t d = 0; d < shape.rank(); ++d) out.dynamic.push_back(shape.is_dynamic_dim(d));
  out.bytes = shape.ByteSize();
  return out;
}

template <typename Protos>
absl::StatusOr<std::vector<FileShape>> ToFile(const Protos& protos) {
  std::vector<FileShape> shapes;
  for (const pb::ShapeProto& proto : protos) {
    XC_ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(proto));
    shapes.push_back(ToFile(shape));
  }
  return shapes;
}

// What a file's parts are views of, until it is written.
struct Parts {
  std::deque<std::string> bytes;
  std::map<absl::string_view, int64_t> constants;
};

// The program as it stands in a file, but for its code.
absl::StatusOr<FileVariant> MakeVariant(pb::ProgramProto* program, int64_t code, absl::string_view table,
                                        ProgramFile* file, Parts* parts) {
  FileVariant v;
  v.code = code;
  v.table.resize((table.size() + 7) / 8);
  if (!table.empty()) std::memcpy(v.table.data(), table.data(), table.size());
  v.arena_bytes = program->arena_bytes();
  v.prepares_products = program->prepares_products();
  for (const auto& p : program->parameters()) v.parameters.push_back({p.bytes(), p.donated()});
  for (const auto& o : program->outputs()) {
    v.outputs.push_back({o.bytes(), o.in_parameter() ? o.parameter() : -1, o.offset()});
  }
  for (std::string& constant : *program->mutable_constants()) {
    auto it = parts->constants.find(constant);
    if (it == parts->constants.end()) {
      parts->bytes.push_back(std::move(constant));
      it = parts->constants.emplace(parts->bytes.back(), static_cast<int64_t>(file->constants.size())).first;
      file->constants.push_back(parts->bytes.back());
    }
    v.constants.push_back(it->second);
  }
  for (const auto& c : program->calls()) {
    FileCall call;
    call.target = c.target();
    call.backend_config = c.backend_config();
    call.tuple_result = c.tuple_result();
    XC_ASSIGN_OR_RETURN(call.inputs, ToFile(c.inputs()));
    XC_ASSIGN_OR_RETURN(call.outputs, ToFile(c.outputs()));
    v.calls.push_back(std::move(call));
  }
  return v;
}

absl::Status WhyEvaluated(const std::vector<EvaluatedPart>& evaluated) {
  std::vector<std::string> lines;
  for (const EvaluatedPart& part : evaluated) {
    if (lines.size() == 5) {
      lines.push_back(absl::StrCat("and ", evaluated.size() - 5, " more"));
      break;
    }
    lines.push_back(absl::StrCat(part.what, " (", part.reason, ")"));
  }
  return absl::UnimplementedError(
      absl::StrCat("there is no native code for ", absl::StrJoin(lines, "; "),
                   ": it runs on the interpreter, which a program compiled ahead of time does not have"));
}

// Collects what a file has for each set of sizes.
class FileMaker {
 public:
  FileMaker(const CompileOptions& options, const std::vector<std::string>& cpus, AheadStats* stats) : stats_(*stats) {
    file_.made_by = "xc";
    file_.cpus = cpus;
    for (const std::string& cpu : cpus) {
      options_.push_back(options);
      options_.back().cpu = cpu;
      options_.back().other_machine = true;
    }
  }
  // With code of its own.
  absl::Status AddOwn(const HloModule& module);
  absl::Status AddRange(const SizesAhead::Range& range);
  absl::StatusOr<std::string> Write() const {
    if (file_.groups.empty()) return absl::InvalidArgumentError("a program needs sizes to be compiled for");
    return WriteProgramFile(file_);
  }

 private:
  using Samples = std::vector<std::unique_ptr<HloModule>>;
  static constexpr int kSamples = 5, kMostAgain = 3;
  static constexpr int kMostCodes = 4;               // for several sizes, of a range
  static constexpr int64_t kMostOwn = 32;            // of a range
  static constexpr int64_t kMostNumbers = 64 << 20;  // of a range, while it is compiled
  struct General {
    std::shared_ptr<const GeneralProgram> program;
    std::vector<std::string> objects;
    int64_t code = -1;  // of the file; made when the first program is there
  };

  absl::StatusOr<int64_t> AddCode(const std::vector<std::string>& objects, const std::string& entry) {
    std::string& image = parts_.bytes.emplace_back();
    XC_ASSIGN_OR_RETURN(CodeImage code, LinkImage(objects, entry, &image));
    file_.codes.push_back(std::move(code));
    return static_cast<int64_t>(file_.codes.size()) - 1;
  }
  // Whether the last sizes are of the same program as the first.
  absl::Status CheckLast() const {
    if (file_.Sizes(file_.num_sizes() - 1).ok()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "modules for one file differ in more than sizes: in the types or ranks of arrays");
  }
  // Takes the executable's leaves down, and whether everything of it has code.
  static absl::Status TakeLeaves(const Executable& executable, FileSizes* sizes) {
    if (!executable.evaluated().empty()) return WhyEvaluated(executable.evaluated());
    sizes->inputs.clear();
    sizes->outputs.clear();
    for (const Shape& leaf : executable.parameter_leaves()) sizes->inputs.push_back(ToFile(leaf));
    for (const Shape& leaf : executable.result_leaves()) sizes->outputs.push_back(ToFile(leaf));
    return absl::OkStatus();
  }
  // A program that was stored; it is freed.
  static absl::StatusOr<pb::ProgramProto> Parse(std::string* stored) {
    pb::ProgramProto program;
    if (stored->empty() || !program.ParseFromString(*stored)) {
      return absl::UnimplementedError("the program cannot be kept: a custom call of it has no function here");
    }
    *stored = std::string();
    return program;
  }
  absl::StatusOr<std::vector<General>> CompileGeneral(const Samples& samples) const;
  // Makes code of `samples` and gives the programs of the range with these numbers that it serves to the file; returns
  // the numbers of the others.
  absl::StatusOr<std::vector<int64_t>> ServeBy(Samples samples, const SizesAhead::Range& range,
                                               const std::vector<int64_t>& numbers, OpenSizes* open);
  // The program of `module` by general code, for all processors.
  absl::StatusOr<FileSizes> Serve(const HloModule& module, std::vector<General>* general);

  std::vector<CompileOptions> options_;  // for each processor
  AheadStats& stats_;
  ProgramFile file_;
  Parts parts_;
};

absl::Status FileMaker::AddOwn(const HloModule& module) {
  if (file_.name.empty()) stats_.module = file_.name = module.name();
  FileSizes sizes;
  for (const CompileOptions& options : options_) {
    CompileOptions own = options;
    std::string stored;
    own.store = [&stored](std::string program) { stored = std::move(program); };
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                        Client::Default()->Compile(module.Clone(), DefaultPlatform(), own));
    XC_RETURN_IF_ERROR(TakeLeaves(*executable, &sizes));
    XC_ASSIGN_OR_RETURN(pb::ProgramProto program, Parse(&stored));
    const std::vector<std::string> objects(program.objects().begin(), program.objects().end());
    XC_ASSIGN_OR_RETURN(const int64_t code, AddCode(objects, program.entry()));
    XC_ASSIGN_OR_RETURN(FileVariant variant, MakeVariant(&program, code, /*table=*/"", &file_, &parts_));
    sizes.variants.push_back(std::move(variant));
  }
  const auto keys = static_cast<int64_t>(sizes.Key().size());
  file_.groups.push_back(NumberRows({file_.RowOf(sizes)}, keys));
  ++stats_.own;
  return CheckLast();
}

absl::StatusOr<std::vector<FileMaker::General>> FileMaker::CompileGeneral(const Samples& samples) const {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(DefaultPlatform()));
  std::vector<General> all;
  for (const CompileOptions& options : options_) {
    std::vector<std::unique_ptr<HloModule>> copies;
    for (const auto& sample : samples) copies.push_back(sample->Clone());
    std::string stored;
    CompileOptions storing = options;
    storing.store = [&stored](std::string program) { stored = std::move(program); };
    General& general = all.emplace_back();
    XC_ASSIGN_OR_RETURN(general.program, backend->CompileGeneral(std::move(copies), storing));
    XC_ASSIGN_OR_RETURN(const pb::ProgramProto program, Parse(&stored));
    general.objects = {program.objects().begin(), program.objects().end()};
  }
  return all;
}

absl::StatusOr<FileSizes> FileMaker::Serve(const HloModule& module, std::vector<General>* general) {
  FileSizes sizes;
  for (size_t i = 0; i < options_.size(); ++i) {
    General& code = (*general)[i];
    std::string stored;
    CompileOptions storing = options_[i];
    storing.store = [&stored](std::string program) { stored = std::move(program); };
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, code.program->For(module.Clone(), storing));
    XC_RETURN_IF_ERROR(TakeLeaves(*executable, &sizes));
    XC_ASSIGN_OR_RETURN(pb::ProgramProto program, Parse(&stored));
    if (code.code < 0) {
      XC_ASSIGN_OR_RETURN(code.code, AddCode(code.objects, program.entry()));
    }
    // Of general code, a program has its table in the place of objects.
    const std::string table = program.objects_size() == 1 ? program.objects(0) : "";
    XC_ASSIGN_OR_RETURN(FileVariant variant, MakeVariant(&program, code.code, table, &file_, &parts_));
    sizes.variants.push_back(std::move(variant));
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> FileMaker::ServeBy(Samples samples, const SizesAhead::Range& range,
                                                        const std::vector<int64_t>& numbers, OpenSizes* open) {
  std::vector<General> general;
  const auto compile = [&]() -> absl::Status {
    auto made = CompileGeneral(samples);
    if (made.ok()) general = *std::move(made);
    return made.status();
  };
  absl::Status refused = compile();
  if (absl::IsCancelled(refused) || absl::IsDeadlineExceeded(refused)) return refused;
  // Whatever is wrong with the samples, a module by itself need not have it.
  if (!refused.ok()) refused = absl::UnimplementedError(refused.message());
  // What code serves that is made again must be served by the new one, too.
  std::map<size_t, std::vector<std::vector<int64_t>>> rows;  // by length
  std::vector<int64_t> others;                               // that it does not serve
  const size_t codes = file_.codes.size();
  int64_t keys = 0, served_count = 0, kept = 0;
  int again = 0;
  for (size_t at = 0; at < numbers.size(); ++at) {
    if (served_count == 0 && others.size() == kMostOwn) {
      // Perhaps it serves none.
      bool any = false;
      for (const size_t spread : {numbers.size() - 1, numbers.size() / 2, numbers.size() / 4}) {
        XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, range.module(numbers[spread]));
        any = any || (refused.ok() && Serve(*module, &general).ok());
      }
      if (!any) return numbers;
    }
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, range.module(numbers[at]));
    if (file_.name.empty()) stats_.module = file_.name = module->name();
    XC_RETURN_IF_ERROR(open->Add(numbers[at], *module));
    absl::StatusOr<FileSizes> served = refused.ok() ? Serve(*module, &general) : absl::StatusOr<FileSizes>(refused);
    if (served.ok()) {
      keys = static_cast<int64_t>(served->Key().size());
      std::vector<int64_t> row = file_.RowOf(*served);
      kept += static_cast<int64_t>(row.size());
      if (kept > kMostNumbers) {
        return absl::ResourceExhaustedError(absl::StrCat("ranges of ", range.count,
                                                         " sizes are too many for programs of ", row.size(),
                                                         " numbers each: make files for parts of them"));
      }
      rows[row.size()].push_back(std::move(row));
      ++served_count;
      continue;
    }
    if (absl::IsFailedPrecondition(served.status()) && again < kMostAgain) {
      ++again;
      samples.insert(samples.begin() + 1, module->Clone());
      if (compile().ok()) {
        rows.clear();
        others.clear();
        file_.codes.resize(codes);
        served_count = kept = 0;
        at = static_cast<size_t>(-1);
        continue;
      }
      samples.erase(samples.begin() + 1);  // another program, not other numbers
    } else if (!absl::IsFailedPrecondition(served.status()) && !absl::IsUnimplemented(served.status())) {
      return served.status();
    }
    stats_.refusal = std::string(served.status().message());
    others.push_back(numbers[at]);
  }
  for (const auto& [length, alike] : rows) {
    file_.groups.push_back(NumberRows(alike, keys));
    XC_RETURN_IF_ERROR(CheckLast());
  }
  stats_.general += served_count;
  return others;
}

absl::Status FileMaker::AddRange(const SizesAhead::Range& range) {
  const auto first_group = static_cast<int64_t>(file_.groups.size());
  OpenSizes open(range);
  const std::string refusal_before = stats_.refusal;
  Samples samples;
  for (int which = 0; which < kSamples; ++which) {
    absl::StatusOr<std::unique_ptr<HloModule>> sample = range.sample(which);
    if (!sample.ok()) stats_.refusal = std::string(sample.status().message());
    if (!sample.ok()) break;
    samples.push_back(*std::move(sample));
  }
  std::vector<int64_t> numbers(range.count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  // What one code does not serve, such as all sizes of which one is 1, may have another one in common.
  for (int code = 0; code < kMostCodes; ++code) {
    const size_t before = numbers.size();
    if (samples.size() >= 2) {
      XC_ASSIGN_OR_RETURN(numbers, ServeBy(std::move(samples), range, numbers, &open));
    }
    const size_t count = numbers.size();
    if (count < kSamples || (code > 0 && count == before)) break;
    samples.clear();
    for (const size_t at : {count / 2, count - 1, count / 4, 3 * count / 4, size_t{0}}) {
      XC_ASSIGN_OR_RETURN(samples.emplace_back(), range.module(numbers[at]));
    }
  }
  if (numbers.empty()) stats_.refusal = refusal_before;
  if (static_cast<int64_t>(numbers.size()) > kMostOwn) {
    return absl::UnimplementedError(absl::StrCat("code for several sizes serves ", range.count - numbers.size(), " of ",
                                                 range.count, " sizes, and at most ", kMostOwn,
                                                 " get code of their own; the last one: ", stats_.refusal));
  }
  for (const int64_t i : numbers) {
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, range.module(i));
    XC_RETURN_IF_ERROR(open.Add(i, *module));
    XC_RETURN_IF_ERROR(AddOwn(*module));
  }
  for (OpenSize& size : open.Finish(first_group, static_cast<int64_t>(file_.groups.size()))) {
    file_.opens.push_back(std::move(size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const char* const> AheadOfTimeCpus() { return kCpus; }

absl::StatusOr<std::string> BestCpuHere() {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(DefaultPlatform()));
  for (size_t i = std::size(kCpus); i-- > 0;) {
    CompileOptions options;
    options.cpu = kCpus[i];
    if (backend->Target(options).ok()) return std::string(kCpus[i]);
  }
  return absl::FailedPreconditionError("this processor is none that code can be compiled for ahead of time");
}

absl::StatusOr<std::string> CompileAheadOfTime(const HloModule& module, const CompileOptions& options,
                                               std::vector<std::string> cpus) {
  SizesAhead sizes;
  sizes.own.push_back([&module]() -> absl::StatusOr<std::unique_ptr<HloModule>> { return module.Clone(); });
  return CompileAheadOfTime(sizes, options, std::move(cpus));
}

absl::StatusOr<std::string> CompileAheadOfTime(const SizesAhead& sizes, const CompileOptions& options,
                                               std::vector<std::string> cpus, AheadStats* stats) {
  // The most demanding first, which is how the loader chooses.
  std::sort(cpus.begin(), cpus.end(), std::greater<>());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  if (cpus.empty()) return absl::InvalidArgumentError("a program needs a processor to be compiled for");
  for (const std::string& cpu : cpus) {
    if (std::find(std::begin(kCpus), std::end(kCpus), cpu) == std::end(kCpus)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown CPU \"", cpu, "\"; known: ", absl::StrJoin(kCpus, ", ")));
    }
  }
  AheadStats own_stats;
  FileMaker maker(options, cpus, stats == nullptr ? &own_stats : stats);
  for (const SizesAhead::Module& module : sizes.own) {
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> made, module());
    XC_RETURN_IF_ERROR(maker.AddOwn(*made));
  }
  for (const SizesAhead::Range& range : sizes.ranges) XC_RETURN_IF_ERROR(maker.AddRange(range));
  return maker.Write();
}

}  // namespace xc
