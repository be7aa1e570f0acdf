// A program for several devices of this process: compiled once, run by a thread for each device.
#ifndef XC_SERVICE_DEVICE_PROGRAM_H_
#define XC_SERVICE_DEVICE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/sharding/propagate.h"
#include "service/client.h"

namespace xc {

// One device's part of a launch: its parameter and result leaves, as Executable::Run takes them.
struct DeviceBuffers {
  absl::Span<const void* const> parameters;
  absl::Span<void* const> results;
  // Receives sizes of bounded-dynamic results, as of Executable::Run; null: they are not wanted.
  std::vector<std::vector<int64_t>>* dynamic_sizes = nullptr;
};

// Immutable: any number of launches may go on at once.
class DeviceProgram {
 public:
  // What a module for replica_count times num_partitions devices is.
  enum class Form {
    kOfDevices,    // what each device computes; its collectives say what they exchange
    kWholeArrays,  // what all compute together: shardings say how whole arrays lie on the partitions, of one replica
  };
  // A module of whole arrays runs once for all devices, whose memory is one; if parts of it are written for single
  // devices (shard_map), each device runs it, and arrays are gathered and cut where such parts begin and end. `kept`:
  // as of Client::Compile.
  static absl::StatusOr<std::shared_ptr<const DeviceProgram>> Compile(Client* client, std::unique_ptr<HloModule> module,
                                                                      absl::string_view platform, Form form,
                                                                      const CompileOptions& options = {},
                                                                      std::string* kept = nullptr);

  int64_t replicas() const { return replicas_; }
  int64_t partitions() const { return partitions_; }
  int64_t devices() const { return replicas_ * partitions_; }
  // Of one device.
  const std::vector<Shape>& parameter_leaves() const { return parameter_leaves_; }
  const std::vector<Shape>& result_leaves() const { return result_leaves_; }
  // How the leaves lie on the devices, as given or as they follow; empty if the module is of single devices.
  const std::vector<Sharding>& parameter_shardings() const { return parameter_shardings_; }
  const std::vector<Sharding>& result_shardings() const { return result_shardings_; }
  // Whether one run serves all devices.
  bool runs_whole() const { return whole_; }
  const Executable& executable() const { return *executable_; }

  // Runs on all devices at once; buffers[d] are device d's, partition d mod P of replica d div P. Of `options`, each
  // device gets a copy with its own numbers. A device waits for others that still run as long as `patience`; where they
  // cannot come any more, all end at once, with an error that says which device is where.
  absl::Status Run(absl::Span<const DeviceBuffers> buffers, const RunOptions& options,
                   absl::Duration patience = absl::Minutes(10)) const;

 private:
  absl::Status RunWhole(absl::Span<const DeviceBuffers> buffers, const RunOptions& options) const;

  int64_t replicas_ = 1, partitions_ = 1;
  bool whole_ = false;
  EntryTilings tilings_;
  std::vector<Shape> parameter_leaves_, result_leaves_;
  std::vector<Sharding> parameter_shardings_, result_shardings_;
  std::shared_ptr<const Executable> executable_;
};

// Runs on literals, as RunOnLiterals does: inputs[d] and the result's [d] are device d's.
absl::StatusOr<std::vector<std::vector<Literal>>> RunOnDevices(const DeviceProgram& program,
                                                               const std::vector<std::vector<Literal>>& inputs,
                                                               const RunOptions& options = {},
                                                               absl::Duration patience = absl::Minutes(10));

}  // namespace xc

#endif  // XC_SERVICE_DEVICE_PROGRAM_H_
