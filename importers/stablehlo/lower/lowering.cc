// Modules, functions and blocks.
#include "importers/stablehlo/lower/lowering.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {
namespace {

// The functions that a region calls, with the regions around each call; the return value is how deep regions nest.
template <typename F>
int64_t VisitCalls(const Region& region, int64_t depth, const F& visit) {
  int64_t deepest = depth;
  for (const auto& op : region.operations) {
    for (const auto& [key, attr] : op->attributes) {
      if (key == "callee" || key == "decomposition") visit(attr.text, depth, op->at);
      if (key == "called_computations") {
        for (const Attr& item : attr.items) visit(item.text, depth, op->at);
      }
    }
    for (const Region& inner : op->regions) deepest = std::max(deepest, VisitCalls(inner, depth + 1, visit));
  }
  return deepest;
}

}  // namespace

std::string HloName(absl::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.' && c != '-') c = '_';
  }
  const bool starts_well = !out.empty() && (absl::ascii_isalpha(out[0]) || out[0] == '_');
  return starts_well ? out : absl::StrCat("v", out);
}

absl::StatusOr<const Function*> Lowering::FindEntry() const {
  const Function* entry = nullptr;
  if (const auto found = program_.by_name.find("main"); found != program_.by_name.end()) {
    entry = found->second;
  } else {
    for (const auto& function : program_.functions) {
      if (function->is_private) continue;
      if (entry != nullptr) {
        return Error(function->at, absl::StrCat("which function is the entry? None is called main, and @", entry->name,
                                                " and @", function->name, " are public"));
      }
      entry = function.get();
    }
  }
  if (entry == nullptr) return absl::InvalidArgumentError("the module has no function `main` and no public one");
  if (!entry->has_body) return Error(entry->at, absl::StrCat("the entry @", entry->name, " has no body"));
  return entry;
}

absl::StatusOr<std::vector<const Function*>> Lowering::CallOrder(const Function* entry) const {
  enum class Mark { kOpen, kDone };
  struct Visit {
    const Function* function;
    std::vector<CallSite> calls;
    int64_t depth;  // of what has been seen to be called
    size_t next = 0;
  };
  absl::flat_hash_map<const Function*, Mark> marks;
  absl::flat_hash_map<const Function*, int64_t> depths;
  std::vector<const Function*> order;
  std::vector<Visit> stack;
  const auto open = [&](const Function* function) {
    Visit visit{function, {}, 0};
    visit.depth = VisitCalls(function->body, 1, [&](const std::string& name, int64_t depth, const char* at) {
      const auto found = program_.by_name.find(name);
      if (found != program_.by_name.end()) visit.calls.push_back({found->second, depth, at});
    });
    marks[function] = Mark::kOpen;
    stack.push_back(std::move(visit));
  };
  open(entry);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next == top.calls.size()) {
      marks[top.function] = Mark::kDone;
      depths[top.function] = top.depth;
      order.push_back(top.function);
      stack.pop_back();
      continue;
    }
    const CallSite& call = top.calls[top.next];
    const auto mark = marks.find(call.callee);
    if (mark == marks.end()) {
      open(call.callee);
      continue;
    }
    if (mark->second == Mark::kOpen) {
      return Error(call.at, absl::StrCat("the function @", call.callee->name, " calls itself"));
    }
    top.depth = std::max(top.depth, call.depth + depths[call.callee]);
    if (top.depth > options_.max_call_depth) {
      return Error(call.at, absl::StrCat("calls nest more than ", options_.max_call_depth, " deep"));
    }
    ++top.next;
  }
  return order;
}

absl::StatusOr<std::unique_ptr<HloModule>> Lowering::Run() {
  XC_ASSIGN_OR_RETURN(const Function* entry, FindEntry());
  XC_ASSIGN_OR_RETURN(const std::vector<const Function*> order, CallOrder(entry));
  HloBuilder builder(HloName(program_.name));
  refines_ = FindsOpenSizes();
  XC_ASSIGN_OR_RETURN(const std::vector<Shape> arguments, EntryArguments(*entry));
  // Where no size is open, functions are the same whoever calls them: callees first costs no stack.
  for (const Function* function : order) {
    if (refines_ || function == entry || !function->has_body) continue;
    XC_RETURN_IF_ERROR(FindFunction(function->name, builder, {}, {}).status());
  }
  KnownValues known;
  Frame frame{builder, known, /*is_entry=*/true};
  XC_RETURN_IF_ERROR(LowerFunction(*entry, arguments, frame));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, builder.Build(builder.computation()->root()));
  if (refines_) module->RemoveUnusedComputations();  // functions whose results are known, and are constants now
  XC_RETURN_IF_ERROR(SetModuleConfig(*entry, module.get()));
  return module;
}

bool Lowering::has_devices() const {
  for (const auto& [name, mesh] : program_.meshes) {
    if (DevicesOf(mesh) > 1) return true;
  }
  return false;
}

// What the attributes of an argument or a result say; nothing where they do not, or say it of one device.
absl::StatusOr<std::optional<Sharding>> Lowering::SaidSharding(const AttrList& attributes, const Shape& shape) const {
  const Attr* attr = FindAttr(attributes, "sdy.sharding");
  if (attr == nullptr || attr->source.empty() || !has_devices() || !shape.IsArray()) return std::optional<Sharding>();
  const absl::StatusOr<SdySharding> sharding = ParseSharding(attr->source, program_.meshes);
  if (!sharding.ok()) return Error(attr->at, sharding.status().message());
  if (DevicesOf(sharding->mesh) == 1) return std::optional<Sharding>();
  const absl::StatusOr<DeviceTiling> tiling = TilingOf(*sharding);
  if (!tiling.ok()) return Error(attr->at, tiling.status().message());
  if (tiling->rank() != shape.rank()) return Error(attr->at, "the sharding has another number of dimensions");
  return std::optional<Sharding>(tiling->ToSharding(DevicesOf(sharding->mesh)));
}

absl::Status Lowering::LowerFunction(const Function& function, absl::Span<const Shape> arguments, Frame& frame) {
  for (const Value* argument : function.body.arguments) {
    const Op parameter = frame.b.Parameter(argument->index, arguments[argument->index], HloName(argument->name));
    frame.values[argument] = parameter;
    const size_t i = argument->index;
    if (!frame.is_entry || !parameter || i >= function.argument_attributes.size()) continue;
    XC_ASSIGN_OR_RETURN(const auto sharding, SaidSharding(function.argument_attributes[i], argument->shape));
    if (sharding) parameter.instruction()->set_attr<AttrKind::kSharding>(*sharding);
  }
  std::vector<Op> results;
  XC_RETURN_IF_ERROR(LowerBlock(function.body, frame, &results));
  const Operation& last = *function.body.operations.back();
  bool same = last.operands.size() == function.results.size();
  for (size_t i = 0; same && i < function.results.size(); ++i) {
    same = last.operands[i]->shape == function.results[i];
  }
  if (!same)
    return Error(last.at, absl::StrCat("what @", function.name, " returns is not of the types of its results"));
  if (frame.is_entry && !check_pairs_.empty()) results = check_pairs_;
  for (size_t i = 0; frame.is_entry && check_pairs_.empty() && i < function.result_attributes.size(); ++i) {
    XC_ASSIGN_OR_RETURN(const auto sharding, SaidSharding(function.result_attributes[i], function.results[i]));
    if (sharding) results[i] = Annotate(frame.b, results[i], "Sharding", *sharding, results[i].shape());
  }
  const Op root = check_pairs_.empty() || !frame.is_entry ? Pack(frame.b, results) : frame.b.Tuple(results);
  absl::Status status = frame.b.BuildComputation(root).status();
  return status.ok() ? status : Error(last.at, std::string(status.message()));
}

absl::Status Lowering::LowerBlock(const Region& region, Frame& frame, std::vector<Op>* results) {
  for (const auto& op : region.operations) {
    const bool last = op == region.operations.back();
    if ((op->row->form == Form::kReturn) != last) {
      return Error(op->at, last ? absl::StrCat(op->name, ": a region should end with a return")
                                : absl::StrCat(op->name, ": only the last operation of a region should return"));
    }
    if (!last) XC_RETURN_IF_ERROR(LowerOperation(*op, frame));
  }
  if (region.operations.empty()) return Error(region.at, "this region has no operations; it should end with a return");
  for (const Value* value : region.operations.back()->operands) results->push_back(Get(frame, value));
  return absl::OkStatus();
}

absl::Status Lowering::LowerOperation(const Operation& op, Frame& frame) {
  if (refines_) {
    XC_RETURN_IF_ERROR(CountOperation(op));
    if (FoldOperation(op, frame)) return absl::OkStatus();
  }
  const Metadata metadata = MetadataOf(op.location);
  if (metadata == Metadata()) {
    frame.b.ClearMetadata();
  } else {
    frame.b.SetMetadata(metadata);
  }
  OpLowering lowering(op, frame, *this);
  op.row->lower(lowering);
  if (!inner_error_.ok()) return inner_error_;
  if (!frame.b.ok()) {
    return Error(op.at, absl::StrCat(op.name, ": ", std::string(frame.b.status().message())));
  }
  if (!lowering.attrs.ok()) return Error(op.at, absl::StrCat(op.name, ": ", lowering.attrs.error()));
  if (const Attr* tags = lowering.attrs.Find("mhlo.frontend_attributes"); tags != nullptr) Tag(op, *tags, frame);
  if (const std::string* unknown = lowering.attrs.Unknown()) {
    return Error(op.at, absl::StrCat(op.name, ": has no attribute `", *unknown, "`"));
  }
  return absl::OkStatus();
}

// What a program's author says of an operation, for whoever reads the module: of the instruction that it became.
void Lowering::Tag(const Operation& op, const Attr& tags, Frame& frame) {
  for (const Value* result : op.results) {
    const auto found = frame.values.find(result);
    HloInstruction* const i = found == frame.values.end() ? nullptr : found->second.instruction();
    if (i == nullptr || i->opcode() != op.row->opcode || i->attributes().Has(AttrKind::kFrontendAttributes)) continue;
    FrontendAttributes pairs;
    for (const auto& [name, attr] : tags.fields) pairs.emplace_back(name, attr.text);
    i->set_attr<AttrKind::kFrontendAttributes>(std::move(pairs));
  }
}

const Operation* Lowering::ConstantOf(const Value* value) {
  for (const Operation* made = value->definition; made != nullptr; made = made->operands[0]->definition) {
    if (made->row->opcode == HloOpcode::kConstant) return made;
    if (made->row->lower != LowerSharding || made->operands.size() != 1) return nullptr;
  }
  return nullptr;
}

Op Lowering::Get(Frame& frame, const Value* value) {
  const auto found = frame.values.find(value);
  if (found != frame.values.end()) return found->second;
  if (const KnownPtr known = FindKnown(frame, value); known != nullptr) {
    return frame.values[value] = frame.b.Constant(LiteralOf(*known));
  }
  const Operation* const made = ConstantOf(value);
  if (made == nullptr) return {};
  OpLowering constant(*made, frame, *this);
  made->row->lower(constant);
  const Op lowered = frame.values[made->results[0]];
  return frame.values[value] = lowered;
}

namespace {

// The axes of the meshes of several devices, as XLA writes them; nothing where they are one axis, or not all alike.
std::string MeshText(const Meshes& meshes) {
  std::string text;
  for (const auto& [name, mesh] : meshes) {
    if (DevicesOf(mesh) == 1) continue;
    std::vector<std::string> axes;
    for (const DeviceMesh::Axis& axis : mesh.axes) axes.push_back(absl::StrCat("\"", axis.name, "\"=", axis.size));
    std::string ids = absl::StrJoin(mesh.device_ids, ", ");
    if (!ids.empty()) ids = absl::StrCat(", device_ids=[", ids, "]");
    const std::string one = absl::StrCat("{mesh = #sdy.mesh<[", absl::StrJoin(axes, ", "), "]", ids, ">}");
    if (axes.size() < 2 || !mesh.iota_reshape_dims.empty() || (!text.empty() && text != one)) return "";
    text = one;
  }
  return text;
}

}  // namespace

absl::Status Lowering::SetModuleConfig(const Function& entry, HloModule* module) const {
  ModuleConfig& config = module->config();
  for (const auto& [name, attr] : program_.attributes) {
    if (name == "mhlo.num_replicas") config.replica_count = attr.integer;
    if (name == "mhlo.num_partitions") config.num_partitions = attr.integer;
    if ((name == "mhlo.num_replicas" || name == "mhlo.num_partitions") && attr.integer < 1) {
      return Error(attr.at, absl::StrCat("module: attribute `", name, "` should be at least 1"));
    }
  }
  // A mesh of all devices says how many there are, too.
  for (const auto& [name, mesh] : program_.meshes) {
    if (config.num_partitions == 1 && DevicesOf(mesh) > 1) config.num_partitions = DevicesOf(mesh);
  }
  if (const std::string mesh = MeshText(program_.meshes); !mesh.empty()) {
    config.frontend_attributes.emplace_back("xla.sdy.meshes", mesh);
  }
  for (size_t i = 0; i < entry.argument_attributes.size(); ++i) {
    for (const auto& [name, attr] : entry.argument_attributes[i]) {
      const int64_t parameter = static_cast<int64_t>(i);
      if (name == "tf.aliasing_output") {
        const int64_t outputs = static_cast<int64_t>(entry.results.size());
        if (attr.kind != Attr::Kind::kInt || attr.integer < 0 || attr.integer >= outputs) {
          return Error(attr.at, absl::StrCat("func.func: attribute `tf.aliasing_output` should be the number of a "
                                             "result, below ",
                                             outputs));
        }
        if (!check_pairs_.empty()) continue;
        const ShapeIndex output = outputs == 1 ? ShapeIndex() : ShapeIndex{attr.integer};
        config.input_output_alias.push_back({output, parameter, {}, /*must_alias=*/false});
      } else if (name == "jax.buffer_donor" && attr.integer != 0) {
        config.buffer_donors.push_back({parameter, {}});
      }
    }
  }
  return SetEntryLayouts(entry, module);
}

namespace {

// What the attributes of an argument or result of the entry say of its layout; null if nothing is said.
const Attr* LayoutMode(const AttrList& attributes) {
  const Attr* const mode = FindAttr(attributes, "mhlo.layout_mode");
  const bool any = mode == nullptr || mode->text == "default" || mode->text == "auto";
  return any ? nullptr : mode;
}

bool MayChooseLayout(const AttrList& attributes) {
  const Attr* const mode = FindAttr(attributes, "mhlo.layout_mode");
  return mode != nullptr && mode->text == "auto";
}

// The order of dimensions, minor first, in which transposes at the end of `value` need not move anything.
std::vector<int64_t> NaturalOrder(const HloInstruction* value) {
  std::vector<const HloInstruction*> transposes;
  for (const HloInstruction* next = value; next != nullptr;) {
    value = next;
    next = nullptr;
    if (value->opcode() == HloOpcode::kTranspose) {
      transposes.push_back(value);
      next = value->operand(0);
    } else if (value->IsElementwise()) {
      for (const HloInstruction* operand : value->operands()) {
        const bool spread = operand->opcode() == HloOpcode::kBroadcast || operand->shape().rank() == 0;
        if (next == nullptr && !spread) next = operand;
      }
    }
  }
  std::vector<int64_t> order = Layout::Descending(value->shape().rank()).minor_to_major;
  for (; !transposes.empty(); transposes.pop_back()) {
    const std::vector<int64_t>& dims = transposes.back()->dimensions();
    for (int64_t& dim : order) dim = std::find(dims.begin(), dims.end(), dim) - dims.begin();
  }
  return order;
}

// The number of the memory that the attributes ask for: XLA's for the host's, and the next for the part of it that is
// not pinned, for which XLA's layouts have none.
int64_t MemorySpace(const AttrList& attributes) {
  constexpr int64_t kHostMemory = 5, kUnpinnedHostMemory = 6;
  const Attr* const kind = FindAttr(attributes, "mhlo.memory_kind");
  if (kind == nullptr) return 0;
  return kind->text == "pinned_host" ? kHostMemory : kind->text == "unpinned_host" ? kUnpinnedHostMemory : 0;
}

}  // namespace

// Gives `shape` the layout and the memory that its attributes ask for. `value`: what a result is; null for arguments.
absl::Status Lowering::SetEntryLayout(const std::vector<AttrList>& lists, size_t i, const HloInstruction* value,
                                      Shape* shape) const {
  *shape = WithDefaultLayout(*shape);
  if (i >= lists.size() || !shape->IsArray()) return absl::OkStatus();
  if (const Attr* mode = LayoutMode(lists[i]); mode != nullptr && shape->rank() > 0) {
    const absl::StatusOr<Shape> given = ParseShape(absl::StrCat(WithoutLayout(*shape).ToString(), mode->text));
    if (!given.ok() || !given->has_layout() || !given->layout().tiles.empty()) {
      return Error(mode->at,
                   absl::StrCat("func.func: attribute `mhlo.layout_mode` should be \"default\", \"auto\" or "
                                "the ",
                                shape->rank(), " dimensions, minor first, as in \"{1,0}\", not \"", mode->text, "\""));
    }
    *shape->mutable_layout() = given->layout();
  }
  if (value != nullptr && MayChooseLayout(lists[i])) shape->mutable_layout()->minor_to_major = NaturalOrder(value);
  if (const int64_t space = MemorySpace(lists[i]); space != 0) shape->mutable_layout()->memory_space = space;
  return absl::OkStatus();
}

// The layouts that JAX asks for, and XLA's number for the host's memory for what it puts there.
absl::Status Lowering::SetEntryLayouts(const Function& entry, HloModule* module) const {
  const auto asks = [](const AttrList& attributes) {
    return MemorySpace(attributes) != 0 || LayoutMode(attributes) != nullptr || MayChooseLayout(attributes);
  };
  const auto any = [&](const std::vector<AttrList>& lists) { return std::any_of(lists.begin(), lists.end(), asks); };
  if (!any(entry.argument_attributes) && !any(entry.result_attributes)) return absl::OkStatus();
  ModuleConfig& config = module->config();
  config.has_entry_layout = true;
  config.entry_parameter_layouts.clear();
  for (const HloInstruction* parameter : module->entry()->parameters()) {
    Shape shape = parameter->shape();
    XC_RETURN_IF_ERROR(
        SetEntryLayout(entry.argument_attributes, config.entry_parameter_layouts.size(), nullptr, &shape));
    config.entry_parameter_layouts.push_back(std::move(shape));
  }
  const HloInstruction* const root = module->entry()->root();
  config.entry_result_layout = WithDefaultLayout(root->shape());
  Shape& result = config.entry_result_layout;
  if (!result.IsTuple()) return SetEntryLayout(entry.result_attributes, 0, root, &result);
  for (int64_t i = 0; i < result.tuple_size(); ++i) {
    const HloInstruction* const value = root->opcode() == HloOpcode::kTuple ? root->operand(i) : nullptr;
    XC_RETURN_IF_ERROR(SetEntryLayout(entry.result_attributes, i, value, &result.mutable_tuple_shapes()[i]));
  }
  return absl::OkStatus();
}

// The name nearest to the outside, and the first place inside of that.
Metadata Lowering::MetadataOf(const Location& location) {
  Metadata metadata;
  const Location* at = &location;
  constexpr int kMaxSteps = 100;  // aliases may refer to each other in a circle
  for (int step = 0; at != nullptr && step < kMaxSteps; ++step) {
    if (!at->alias.empty()) {
      const auto found = program_.locations.find(std::string(at->alias));
      at = found == program_.locations.end() ? nullptr : &found->second;
      continue;
    }
    if (metadata.op_name.empty()) metadata.op_name = at->name;
    if (!at->file.empty()) {
      metadata.source_file = at->file;
      metadata.source_line = at->line;
      metadata.source_column = at->column;
      metadata.source_end_line = at->end_line;
      metadata.source_end_column = at->end_column;
      break;
    }
    at = at->inside.empty() ? nullptr : &at->inside[0];
  }
  for (std::string* name : {&metadata.op_name, &metadata.source_file}) {
    constexpr size_t kLongestName = 1000;
    size_t size = std::min(name->size(), kLongestName);
    // Messages of protocol buffers hold whole characters of UTF-8 only.
    while (size > 0 && size < name->size() && ((*name)[size] & 0xc0) == 0x80) --size;
    name->resize(size);
  }
  metadata_budget_ -= static_cast<int64_t>(metadata.op_name.size() + metadata.source_file.size());
  return metadata_budget_ >= 0 ? metadata : Metadata();
}

}  // namespace xc::stablehlo
