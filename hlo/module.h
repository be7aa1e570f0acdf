// HloComputation (a function: instructions, parameters, a root) and HloModule (computations, an entry, configuration).
#ifndef XC_HLO_MODULE_H_
#define XC_HLO_MODULE_H_

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlo/instruction.h"

namespace xc {

class HloModule;

class HloComputation {
 public:
  explicit HloComputation(std::string name) : name_(std::move(name)) {}
  ~HloComputation();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  int64_t id() const { return id_; }
  void set_id(int64_t id) { id_ = id; }
  HloModule* module() const { return module_; }
  const std::string& execution_thread() const { return execution_thread_; }
  void set_execution_thread(std::string thread) { execution_thread_ = std::move(thread); }

  // In the order of addition (text order after parsing).
  const std::list<std::unique_ptr<HloInstruction>>& instructions() const { return instructions_; }
  int64_t instruction_count() const { return static_cast<int64_t>(instructions_.size()); }
  HloInstruction* root() const { return root_; }
  void set_root(HloInstruction* root) { root_ = root; }
  const std::vector<HloInstruction*>& parameters() const { return parameters_; }
  HloInstruction* parameter(int64_t i) const { return parameters_[i]; }
  int64_t parameter_count() const { return static_cast<int64_t>(parameters_.size()); }

  // Takes the instruction in: gives it an id, and a unique name from its own name or opcode. Parameters are put at
  // their number.
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction);
  // Short form of Add(HloInstruction::Create(…)).
  HloInstruction* Add(HloOpcode opcode, Shape shape, absl::Span<HloInstruction* const> operands);
  // The instruction must have no users, and not be the root. Parameters may be removed only with `RemoveParameter`.
  void Remove(HloInstruction* instruction);
  // Removes an unused parameter and renumbers those after it.
  void RemoveParameter(int64_t number);
  // Replaces all uses, passes control dependencies and (if it has none) metadata on, and removes `old`, then those of
  // its operands that became dead.
  void Replace(HloInstruction* old, HloInstruction* replacement);
  HloInstruction* ReplaceWithNew(HloInstruction* old, std::unique_ptr<HloInstruction> replacement);
  // Removes instructions that neither reach the root nor have side effects. Parameters stay. Returns whether any went.
  bool RemoveDead();

  // Operands and control predecessors before users; deterministic. Instructions that the root does not reach are
  // included.
  std::vector<HloInstruction*> PostOrder() const;

  // Whether it is the computation of a fusion (set by whoever makes fusions; kept by Clone).
  bool IsFusion() const { return is_fusion_; }
  void set_is_fusion() { is_fusion_ = true; }
  bool IsEntry() const;

  std::string ToString() const;

 private:
  friend class HloModule;
  std::string name_;
  int64_t id_ = -1;
  std::string execution_thread_;
  HloModule* module_ = nullptr;
  std::list<std::unique_ptr<HloInstruction>> instructions_;
  absl::flat_hash_map<const HloInstruction*, std::list<std::unique_ptr<HloInstruction>>::iterator> where_;
  std::vector<HloInstruction*> parameters_;
  HloInstruction* root_ = nullptr;
  bool is_fusion_ = false;
};

// input_output_alias: output `output_index` may or must share the memory of a parameter.
struct InputOutputAlias {
  ShapeIndex output_index;
  int64_t parameter = 0;
  ShapeIndex parameter_index;
  bool must_alias = false;
  bool operator==(const InputOutputAlias&) const = default;
};
struct BufferDonor {
  int64_t parameter = 0;
  ShapeIndex parameter_index;
  bool operator==(const BufferDonor&) const = default;
};

// Entries of the stack frame index that metadata refers to (`stack_frame_id`), as in HloModuleProto.
struct StackFrames {
  std::vector<std::string> file_names, function_names;
  struct Location {
    int64_t file_name_id = 0, function_name_id = 0, line = 0, column = 0, end_line = 0, end_column = 0;
    bool operator==(const Location&) const = default;
  };
  struct Frame {
    int64_t file_location_id = 0, parent_frame_id = 0;
    bool operator==(const Frame&) const = default;
  };
  std::vector<Location> file_locations;
  std::vector<Frame> frames;
  bool empty() const {
    return file_names.empty() && function_names.empty() && file_locations.empty() && frames.empty();
  }
  bool operator==(const StackFrames&) const = default;
};

// What the HloModule line of the text says beyond the name.
struct ModuleConfig {
  // Parameter shapes and result shape with layouts (a missing layout means row-major or any).
  std::vector<Shape> entry_parameter_layouts;
  Shape entry_result_layout;
  bool has_entry_layout = false;
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donors;
  bool is_scheduled = false;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  FrontendAttributes frontend_attributes;
  std::vector<bool> allow_spmd_sharding_propagation_to_parameters;
  std::vector<bool> allow_spmd_sharding_propagation_to_output;
  // Attributes that are carried only: (name, text of the value).
  std::vector<std::pair<std::string, std::string>> other;
  StackFrames stack_frames;
  // Fields of HloModuleProto that have no place above, serialized; kept through a round trip.
  std::string extra_proto;
};

class HloModule {
 public:
  explicit HloModule(std::string name) : name_(std::move(name)) {}
  ~HloModule();
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  const std::vector<std::unique_ptr<HloComputation>>& computations() const { return computations_; }
  HloComputation* entry() const { return entry_; }
  void set_entry(HloComputation* entry) { entry_ = entry; }
  // Takes a computation in and makes its name unique.
  HloComputation* Add(std::unique_ptr<HloComputation> computation);
  HloComputation* AddComputation(absl::string_view name);
  // No instruction may call it any more.
  void Remove(HloComputation* computation);
  // Removes computations that the entry does not reach. Returns whether any went.
  bool RemoveUnusedComputations();
  // A copy of `computation` (called computations are shared, not copied) in this module.
  HloComputation* CloneComputation(const HloComputation* computation, absl::string_view suffix);

  // Callees before callers; the entry last.
  std::vector<HloComputation*> ComputationPostOrder() const;

  ModuleConfig& config() { return config_; }
  const ModuleConfig& config() const { return config_; }

  // Instruction order per computation, made by the scheduler; empty if there is none.
  absl::flat_hash_map<const HloComputation*, std::vector<HloInstruction*>>& schedule() { return schedule_; }
  const absl::flat_hash_map<const HloComputation*, std::vector<HloInstruction*>>& schedule() const { return schedule_; }

  // Whether an instruction was made that breaks a rule of its op. The pass driver verifies such a module, whatever else
  // it verifies, since the instruction may be gone again.
  bool suspect() const { return suspect_; }
  void set_suspect(bool suspect) { suspect_ = suspect; }

  // A deep copy with the same names and ids.
  std::unique_ptr<HloModule> Clone() const;
  int64_t InstructionCount() const;

  // Names and ids.
  std::string UniqueName(absl::string_view base);
  // The same among computations, which have a name space of their own.
  std::string UniqueComputationName(absl::string_view base);
  int64_t NextId() { return next_id_++; }
  void RaiseNextId(int64_t at_least) { next_id_ = std::max(next_id_, at_least); }

  std::string ToString() const;

 private:
  std::string name_;
  bool suspect_ = false;
  std::vector<std::unique_ptr<HloComputation>> computations_;
  HloComputation* entry_ = nullptr;
  ModuleConfig config_;
  absl::flat_hash_map<const HloComputation*, std::vector<HloInstruction*>> schedule_;
  // Names taken, and per stem the last suffix tried.
  struct Names {
    absl::flat_hash_set<std::string> taken;
    absl::flat_hash_map<std::string, int64_t> last_suffix;
    std::string Unique(absl::string_view base);
  };
  Names names_, computation_names_;
  int64_t next_id_ = 1;
};

}  // namespace xc

#endif  // XC_HLO_MODULE_H_
