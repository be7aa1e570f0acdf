// Infeed and outfeed of a replayed program: arrays from one folder go in, those that come out are written to another.
#ifndef XC_TOOLS_TRANSFERS_H_
#define XC_TOOLS_TRANSFERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/client.h"

namespace xc {

class Transfers {
 public:
  // Reads `infeed_dir`/0.npy, 1.npy, … ("": there is nothing to take), in the order in which `module` takes them. If
  // all instructions that take arrays from the host take the same shapes, the arrays must have them, and are converted
  // to their element types; otherwise their bytes are taken as they are.
  static absl::StatusOr<Transfers> Make(const HloModule& module, const std::string& infeed_dir);

  // Whether the module exchanges arrays with its host while it runs.
  bool any() const { return any_; }
  // One run with a full infeed. Its outfeed is kept until the next.
  absl::StatusOr<std::vector<Literal>> Run(const Executable& executable, absl::Span<const Literal* const> inputs,
                                           RunOptions options);
  // Writes the arrays of the last run's outfeed to `directory`/0.npy, 1.npy, …: as bytes (u8) if instructions with
  // different shapes give them.
  absl::Status Write(const std::string& directory) const;

 private:
  bool any_ = false;
  std::vector<std::string> infeed_, outfeed_;
  std::vector<Shape> outfeed_leaves_;  // of each outfeed instruction; empty if they differ
};

}  // namespace xc

#endif  // XC_TOOLS_TRANSFERS_H_
