#include "tools/transfers.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/files.h"
#include "service/npy.h"
#include "tools/program.h"

namespace xc {
namespace {

// The shape that an instruction takes from the host (`take`) or gives to it; null if it does not.
const Shape* HostShape(const HloInstruction& i, bool take) {
  const bool host = i.attr_or<AttrKind::kIsHostTransfer>(false);
  if (take) {
    const bool takes = i.opcode() == HloOpcode::kInfeed || (i.opcode() == HloOpcode::kRecvDone && host);
    return takes ? &i.shape().tuple_shape(0) : nullptr;
  }
  const bool gives = i.opcode() == HloOpcode::kOutfeed || (i.opcode() == HloOpcode::kSend && host);
  return gives ? &i.operand(0)->shape() : nullptr;
}

// The arrays that each such instruction moves; empty if there are none, or if they differ in that.
std::vector<Shape> HostLeaves(const HloModule& module, bool take, bool* any) {
  const Shape* common = nullptr;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      const Shape* shape = HostShape(*instruction, take);
      if (shape == nullptr) continue;
      *any = true;
      if (common != nullptr && !SameShape(*common, *shape)) return {};
      common = shape;
    }
  }
  std::vector<Shape> leaves;
  if (common == nullptr) return leaves;
  for (const auto& [index, leaf] : Leaves(*common)) {
    if (leaf->IsArray()) leaves.push_back(WithoutLayout(*leaf));
  }
  return leaves;
}

}  // namespace

absl::StatusOr<Transfers> Transfers::Make(const HloModule& module, const std::string& infeed_dir) {
  Transfers transfers;
  const std::vector<Shape> taken = HostLeaves(module, true, &transfers.any_);
  transfers.outfeed_leaves_ = HostLeaves(module, false, &transfers.any_);
  if (infeed_dir.empty()) return transfers;
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(infeed_dir, "/", i, ".npy");
    if (access(path.c_str(), F_OK) != 0) {
      if (i > 0) return transfers;
      return absl::NotFoundError(absl::StrCat("the infeed has no ", path));
    }
    absl::StatusOr<Literal> array = taken.empty() ? ReadNpy(path) : ReadArray(path, taken[i % taken.size()]);
    if (!array.ok()) return array.status();
    transfers.infeed_.emplace_back(reinterpret_cast<const char*>(array->bytes()), array->byte_size());
  }
}

absl::StatusOr<std::vector<Literal>> Transfers::Run(const Executable& executable,
                                                    absl::Span<const Literal* const> inputs, RunOptions options) {
  TransferQueue infeed, outfeed;
  for (const std::string& array : infeed_) infeed.Push(array);
  options.infeed = &infeed;
  options.outfeed = &outfeed;
  XC_ASSIGN_OR_RETURN(std::vector<Literal> outputs, RunOnLiterals(executable, inputs, options));
  outfeed_.clear();
  while (outfeed.size() > 0) XC_RETURN_IF_ERROR(outfeed.Pop(&outfeed_.emplace_back()));
  return outputs;
}

absl::Status Transfers::Write(const std::string& directory) const {
  XC_RETURN_IF_ERROR(MakeDirectories(directory));
  for (size_t i = 0; i < outfeed_.size(); ++i) {
    const int64_t bytes = static_cast<int64_t>(outfeed_[i].size());
    Literal array(outfeed_leaves_.empty() ? Shape(ElementType::kU8, {bytes})
                                          : outfeed_leaves_[i % outfeed_leaves_.size()]);
    if (array.byte_size() != bytes) {
      return absl::InternalError(absl::StrCat("outfeed array ", i, " has ", bytes, " bytes"));
    }
    std::copy(outfeed_[i].begin(), outfeed_[i].end(), array.mutable_bytes());
    XC_RETURN_IF_ERROR(WriteNpy(absl::StrCat(directory, "/", i, ".npy"), array));
  }
  return absl::OkStatus();
}

}  // namespace xc
