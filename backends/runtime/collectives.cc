#include "backends/runtime/collectives.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime/communicator.h"
#include "backends/runtime/reduce_arrays.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// A sum is made in parts, one by each device, from this many bytes on.
constexpr int64_t kPartsFrom = 64 << 10;

// As HLO writes a type, those among them that the runtime only moves.
std::string NameOf(RtType type) {
  static constexpr const char* kNames[] = {
      "invalid", "pred",   "s8",       "s16", "s32",   "s64",           "u8",         "u16",        "u32",
      "u64",     "f16",    "f32",      "f64", "tuple", "opaque",        "c64",        "bf16",       "token",
      "c128",    "f8e5m2", "f8e4m3fn", "s4",  "u4",    "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",
      "u2",      "f8e4m3", "f8e3m4",   "s1",  "u1",    "f4e2m1fn",      "f8e8m0fnu"};
  const size_t number = static_cast<size_t>(type);
  return number < std::size(kNames) ? kNames[number] : absl::StrCat("type ", number);
}

int64_t WidthOf(RtType type) { return std::max<int64_t>(SizeOf(type), 1); }

// Bytes before and within one step along a dimension: an array is [outer, dim, inner bytes].
struct Along {
  Along(const CallBuffer& buffer, int64_t dimension) : inner(WidthOf(buffer.type)) {
    for (size_t d = 0; d < buffer.dims.size(); ++d) {
      const int64_t size = buffer.dims[d];
      if (static_cast<int64_t>(d) < dimension) outer *= size;
      if (static_cast<int64_t>(d) == dimension) dim = size;
      if (static_cast<int64_t>(d) > dimension) inner *= size;
    }
  }
  int64_t outer = 1, dim = 1, inner;
};

class Collective {
 public:
  static absl::StatusOr<std::shared_ptr<const Collective>> Make(const CallArgs& args);
  absl::Status Run(RunContext* run, const CallArgs& args) const;

 private:
  // One meeting of one run.
  struct Turn {
    Communicator* others = nullptr;  // null: this device is all there is
    absl::Span<const int64_t> group;
    int64_t device = 0, rank = 0;
    int64_t size() const { return static_cast<int64_t>(group.size()); }
  };
  using Arrays = std::shared_ptr<const ExchangedArrays>;

  absl::StatusOr<Arrays> Meet(const Turn& turn, std::vector<const void*> arrays) const;
  absl::Status Leave(const Turn& turn) const { return Meet(turn, {}).status(); }

  absl::Status Move(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status AllReduce(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status AllGather(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status ReduceScatter(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status AllToAll(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status Permute(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;
  absl::Status Ragged(const Turn& turn, const Arrays& theirs, const CallArgs& args) const;

  std::string op_, what_;
  int64_t id_ = 0, devices_ = 1, dimension_ = -1;
  std::vector<std::vector<int64_t>> groups_;
  std::vector<int64_t> pairs_;
  Reduction reduction_ = Reduction::kAdd;
};

std::vector<int64_t> Ints(const CallAttributes& attributes, absl::string_view name) {
  const CallAttributes::Value* value = attributes.Find(name);
  const auto* ints = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  return ints == nullptr ? std::vector<int64_t>() : *ints;
}
std::string Text(const CallAttributes& attributes, absl::string_view name) {
  const CallAttributes::Value* value = attributes.Find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

absl::StatusOr<std::shared_ptr<const Collective>> Collective::Make(const CallArgs& args) {
  auto c = std::make_shared<Collective>();
  const CallAttributes& attributes = *args.attributes;
  c->op_ = Text(attributes, "op");
  XC_ASSIGN_OR_RETURN(c->id_, attributes.Int("id"));
  XC_ASSIGN_OR_RETURN(c->devices_, attributes.Int("devices"));
  if (attributes.Find("dimension") != nullptr) {
    XC_ASSIGN_OR_RETURN(c->dimension_, attributes.Int("dimension"));
  }
  if (attributes.Find("reduction") != nullptr) {
    XC_RETURN_IF_ERROR(ReductionNamed(Text(attributes, "reduction"), &c->reduction_));
  }
  const std::vector<int64_t> all = Ints(attributes, "groups");
  size_t next = 0;
  for (int64_t size : Ints(attributes, "sizes")) {
    if (size < 1 || next + size > all.size()) return absl::InvalidArgumentError("groups and sizes do not fit");
    c->groups_.emplace_back(all.begin() + next, all.begin() + next + size);
    next += size;
  }
  c->pairs_ = Ints(attributes, "pairs");
  // What all devices must agree on.
  std::vector<std::string> shapes;
  for (const CallBuffer& buffer : args.inputs) {
    if (!buffer.is_row_major()) return absl::InvalidArgumentError("collectives take row-major arrays");
    shapes.push_back(absl::StrCat(NameOf(buffer.type), "[", absl::StrJoin(buffer.dims, ","), "]"));
  }
  for (const CallBuffer& buffer : args.outputs) {
    if (!buffer.is_row_major()) return absl::InvalidArgumentError("collectives give row-major arrays");
  }
  const std::string name = Text(attributes, "name");
  // Instructions that nobody named are called by their op.
  c->what_ = absl::StartsWith(name, c->op_) ? name : absl::StrCat(c->op_, " ", name);
  absl::StrAppend(&c->what_, " of ", absl::StrJoin(shapes, ", "));
  return std::shared_ptr<const Collective>(std::move(c));
}

absl::StatusOr<Collective::Arrays> Collective::Meet(const Turn& turn, std::vector<const void*> arrays) const {
  if (turn.others != nullptr) return turn.others->Meet(id_, what_, turn.group, std::move(arrays));
  return std::make_shared<const ExchangedArrays>(ExchangedArrays{std::move(arrays)});
}

absl::Status Collective::Run(RunContext* run, const CallArgs& args) const {
  Turn turn;
  turn.others = run->device.communicator;
  const int64_t devices = turn.others == nullptr ? 1 : turn.others->devices();
  if (devices != devices_) {
    return absl::FailedPreconditionError(absl::StrCat(what_, " is for ", devices_, " devices; this run has ", devices));
  }
  turn.device = turn.others == nullptr ? 0 : turn.others->device();
  bool found = false;
  for (const std::vector<int64_t>& group : groups_) {
    const auto at = std::find(group.begin(), group.end(), turn.device);
    if (at == group.end()) continue;
    turn.group = group;
    turn.rank = at - group.begin();
    found = true;
  }
  if (!found) {
    if (op_ != "collective-broadcast") {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": device ", turn.device, " is in no replica group"));
    }
    for (const CallBuffer& out : args.outputs) std::memset(out.data, 0, out.elements() * WidthOf(out.type));
    return absl::OkStatus();
  }
  std::vector<const void*> mine;
  for (const CallBuffer& in : args.inputs) mine.push_back(in.data);
  XC_ASSIGN_OR_RETURN(const Arrays theirs, Meet(turn, std::move(mine)));
  XC_RETURN_IF_ERROR(Move(turn, theirs, args));
  // From here on buffers may be written again.
  return Leave(turn);
}

absl::Status Collective::Move(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  if (op_ == "all-reduce") return AllReduce(turn, theirs, args);
  if (op_ == "all-gather") return AllGather(turn, theirs, args);
  if (op_ == "reduce-scatter") return ReduceScatter(turn, theirs, args);
  if (op_ == "all-to-all") return AllToAll(turn, theirs, args);
  if (op_ == "ragged-all-to-all") return Ragged(turn, theirs, args);
  return Permute(turn, theirs, args);
}

absl::Status Collective::AllReduce(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  const int64_t n = turn.size();
  bool parts = false;
  std::vector<const void*> sums;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const CallBuffer &in = args.inputs[i], &out = args.outputs[i];
    const int64_t elements = in.elements(), width = WidthOf(in.type);
    const bool split = n > 2 && elements * width >= kPartsFrom;
    const int64_t begin = split ? elements * turn.rank / n : 0;
    const int64_t end = split ? elements * (turn.rank + 1) / n : elements;
    std::vector<const void*> arrays;
    for (int64_t r = 0; r < n; ++r) arrays.push_back(static_cast<const char*>((*theirs)[r][i]) + begin * width);
    XC_RETURN_IF_ERROR(
        ReduceArrays(reduction_, in.type, end - begin, arrays, static_cast<char*>(out.data) + begin * width));
    parts |= split;
    sums.push_back(out.data);
  }
  if (!parts) return absl::OkStatus();
  // Each has summed its part of the large arrays.
  XC_ASSIGN_OR_RETURN(const Arrays summed, Meet(turn, std::move(sums)));
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const int64_t elements = args.inputs[i].elements(), width = WidthOf(args.inputs[i].type);
    if (elements * width < kPartsFrom) continue;
    for (int64_t r = 0; r < n; ++r) {
      if (r == turn.rank) continue;
      const int64_t begin = elements * r / n * width, end = elements * (r + 1) / n * width;
      std::memcpy(static_cast<char*>(args.outputs[i].data) + begin, static_cast<const char*>((*summed)[r][i]) + begin,
                  end - begin);
    }
  }
  return absl::OkStatus();
}

absl::Status Collective::AllGather(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const Along in(args.inputs[i], dimension_), out(args.outputs[i], dimension_);
    if (out.dim != in.dim * turn.size()) {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": among ", turn.size(), " devices its dimension ",
                                                     dimension_, " becomes ", in.dim * turn.size(), ", not ", out.dim));
    }
    const int64_t piece = in.dim * in.inner;
    for (int64_t r = 0; r < turn.size(); ++r) {
      const char* from = static_cast<const char*>((*theirs)[r][i]);
      char* to = static_cast<char*>(args.outputs[i].data) + r * piece;
      for (int64_t o = 0; o < in.outer; ++o) std::memcpy(to + o * turn.size() * piece, from + o * piece, piece);
    }
  }
  return absl::OkStatus();
}

absl::Status Collective::ReduceScatter(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const Along in(args.inputs[i], dimension_), out(args.outputs[i], dimension_);
    if (in.dim != out.dim * turn.size()) {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": among ", turn.size(), " devices its dimension ",
                                                     dimension_, " cannot become ", out.dim));
    }
    const int64_t piece = out.dim * out.inner, elements = piece / WidthOf(args.inputs[i].type);
    for (int64_t o = 0; o < in.outer; ++o) {
      std::vector<const void*> arrays;
      for (int64_t r = 0; r < turn.size(); ++r) {
        arrays.push_back(static_cast<const char*>((*theirs)[r][i]) + (o * turn.size() + turn.rank) * piece);
      }
      XC_RETURN_IF_ERROR(ReduceArrays(reduction_, args.inputs[i].type, elements, arrays,
                                      static_cast<char*>(args.outputs[i].data) + o * piece));
    }
  }
  return absl::OkStatus();
}

absl::Status Collective::AllToAll(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  if (dimension_ < 0) {
    if (static_cast<int64_t>(args.inputs.size()) != turn.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what_, ": has ", args.inputs.size(), " operands among ", turn.size(), " devices"));
    }
    for (int64_t r = 0; r < turn.size(); ++r) {
      const CallBuffer& out = args.outputs[r];
      std::memcpy(out.data, (*theirs)[r][turn.rank], out.elements() * WidthOf(out.type));
    }
    return absl::OkStatus();
  }
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const Along in(args.inputs[i], dimension_);
    if (in.dim % turn.size() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what_, ": ", turn.size(), " devices cannot share a dimension of ", in.dim));
    }
    const int64_t piece = in.dim / turn.size() * in.inner;
    for (int64_t r = 0; r < turn.size(); ++r) {
      const char* from = static_cast<const char*>((*theirs)[r][i]) + turn.rank * piece;
      char* to = static_cast<char*>(args.outputs[i].data) + r * piece;
      for (int64_t o = 0; o < in.outer; ++o) {
        std::memcpy(to + o * turn.size() * piece, from + o * turn.size() * piece, piece);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Collective::Permute(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  int64_t source = op_ == "collective-broadcast" ? 0 : -1;
  for (size_t p = 0; p + 1 < pairs_.size(); p += 2) {
    if (pairs_[p + 1] != turn.device) continue;
    source = std::find(turn.group.begin(), turn.group.end(), pairs_[p]) - turn.group.begin();
    if (source == turn.size()) {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": there is no device ", pairs_[p]));
    }
  }
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const CallBuffer& out = args.outputs[i];
    const int64_t bytes = out.elements() * WidthOf(out.type);
    if (source < 0) {
      std::memset(out.data, 0, bytes);
    } else {
      std::memcpy(out.data, (*theirs)[source][i], bytes);
    }
  }
  return absl::OkStatus();
}

// Operands: input, what the output is at first, and for each rank where its rows begin in the sender's input, how many
// there are, where they go in the receiver's output, how many arrive. Lists may have several entries for a rank.
absl::Status Collective::Ragged(const Turn& turn, const Arrays& theirs, const CallArgs& args) const {
  const CallBuffer &input = args.inputs[0], &out = args.outputs[0];
  const int64_t entries = args.inputs[2].elements();
  if (input.dims.empty() || out.dims.empty() || entries % turn.size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": has ", entries, " offsets among ", turn.size(), " devices"));
  }
  const auto at = [](const void* list, const CallBuffer& buffer, int64_t i) -> int64_t {
    return SizeOf(buffer.type) == 8 ? static_cast<const int64_t*>(list)[i] : static_cast<const int32_t*>(list)[i];
  };
  const int64_t row = Along(input, 0).inner, each = entries / turn.size();
  std::memcpy(out.data, args.inputs[1].data, out.elements() * WidthOf(out.type));
  for (int64_t r = 0; r < turn.size(); ++r) {
    const std::vector<const void*>& sender = (*theirs)[r];
    for (int64_t e = turn.rank * each; e < (turn.rank + 1) * each; ++e) {
      const int64_t from = at(sender[2], args.inputs[2], e), rows = at(sender[3], args.inputs[3], e),
                    to = at(sender[4], args.inputs[4], e);
      if (rows < 0 || from < 0 || from > input.dims[0] - rows || to < 0 || to > out.dims[0] - rows) {
        return absl::OutOfRangeError(absl::StrCat(what_, ": device ", turn.group[r], " sends ", rows, " rows from ",
                                                  from, " to ", to, " of ", out.dims[0]));
      }
      std::memcpy(static_cast<char*>(out.data) + to * row, static_cast<const char*>(sender[0]) + from * row,
                  rows * row);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallFunction> MakeCollective(const CallArgs& args) {
  XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Collective> collective, Collective::Make(args));
  return CallFunction([collective](RunContext* run, const CallArgs& call) { return collective->Run(run, call); });
}

}  // namespace xc
