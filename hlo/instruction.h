// HloInstruction: one op of a computation, with its operands, users, attributes and called computations.
#ifndef XC_HLO_INSTRUCTION_H_
#define XC_HLO_INSTRUCTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"
#include "hlo/literal.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xc {

class HloComputation;
class HloModule;

class HloInstruction {
 public:
  // A free-standing instruction; HloComputation::Add takes it in. Nothing is checked here: the verifier does that.
  static std::unique_ptr<HloInstruction> Create(HloOpcode opcode, Shape shape,
                                                absl::Span<HloInstruction* const> operands = {});
  static std::unique_ptr<HloInstruction> CreateConstant(std::shared_ptr<const Literal> literal);
  static std::unique_ptr<HloInstruction> CreateConstant(Literal literal);
  static std::unique_ptr<HloInstruction> CreateParameter(int64_t number, Shape shape, absl::string_view name);
  ~HloInstruction();
  HloInstruction(const HloInstruction&) = delete;
  HloInstruction& operator=(const HloInstruction&) = delete;

  // A copy with other operands (and shape), the same attributes, literal and called computations; not in a computation.
  std::unique_ptr<HloInstruction> CloneWith(const Shape& shape, absl::Span<HloInstruction* const> operands) const;

  HloOpcode opcode() const { return opcode_; }
  void set_opcode(HloOpcode opcode) { opcode_ = opcode; }
  const Shape& shape() const { return shape_; }
  Shape* mutable_shape() { return &shape_; }
  ElementType type() const { return shape_.type(); }

  // Unique in the module, without `%`.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // Unique in the module; order of creation (the wire format's instruction id).
  int64_t id() const { return id_; }
  void set_id(int64_t id) { id_ = id; }
  HloComputation* parent() const { return parent_; }
  HloModule* module() const;

  const std::vector<HloInstruction*>& operands() const { return operands_; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  HloInstruction* operand(int64_t i) const { return operands_[i]; }
  void ReplaceOperand(int64_t i, HloInstruction* operand);
  void AppendOperand(HloInstruction* operand);
  // Drops all operands (before removal of a group of instructions).
  void DetachOperands();

  // Each user once, in an order that depends only on the history of edits. Adding and removing are O(1).
  const std::vector<HloInstruction*>& users() const { return users_; }
  int64_t user_count() const { return static_cast<int64_t>(users_.size()); }
  bool HasUser(const HloInstruction* user) const { return user_index_.contains(user); }
  bool IsRoot() const;
  bool IsDead() const { return users_.empty() && !IsRoot(); }
  // Makes every user (and the root) use `other` instead. Control dependencies stay.
  void ReplaceAllUsesWith(HloInstruction* other);

  const std::vector<HloInstruction*>& control_predecessors() const { return control_predecessors_; }
  const std::vector<HloInstruction*>& control_successors() const { return control_successors_; }
  void AddControlPredecessor(HloInstruction* before);
  void RemoveControlDependencies();
  // Hands its control edges over to `other`.
  void MoveControlDependenciesTo(HloInstruction* other);

  // Attributes.
  const Attributes& attributes() const { return attributes_; }
  Attributes* mutable_attributes() { return &attributes_; }
  template <AttrKind kKind>
  const AttrType<kKind>* FindAttr() const {
    return attributes_.Find<kKind>();
  }
  // The value; the attribute must be there (the verifier has seen to it for those that the op requires).
  template <AttrKind kKind>
  const AttrType<kKind>& attr() const {
    const auto* value = attributes_.Find<kKind>();
    XC_CHECK(value != nullptr) << name_ << " has no attribute " << std::string(AttrName(kKind));
    return *value;
  }
  template <AttrKind kKind>
  AttrType<kKind> attr_or(AttrType<kKind> otherwise) const {
    const auto* value = attributes_.Find<kKind>();
    return value ? *value : std::move(otherwise);
  }
  template <AttrKind kKind>
  void set_attr(AttrType<kKind> value) {
    attributes_.Set<kKind>(std::move(value));
  }
  // Short forms of the frequent ones.
  const Int64List& dimensions() const { return attr<AttrKind::kDimensions>(); }
  int64_t tuple_index() const { return attr<AttrKind::kIndex>(); }
  CompareDirection direction() const { return attr<AttrKind::kDirection>(); }
  const WindowAttr& window() const { return attr<AttrKind::kWindow>(); }
  const ConvDims& conv_dims() const { return attr<AttrKind::kDimLabels>(); }
  const DotDims& dot_dims() const { return attr<AttrKind::kDotDims>(); }
  const GatherDims& gather_dims() const { return attr<AttrKind::kGatherDims>(); }
  const ScatterDims& scatter_dims() const { return attr<AttrKind::kScatterDims>(); }
  const SliceAttr& slice() const { return attr<AttrKind::kSlice>(); }
  const PaddingAttr& padding() const { return attr<AttrKind::kPadding>(); }
  FusionKind fusion_kind() const { return attr<AttrKind::kFusionKind>(); }
  const std::string& custom_call_target() const { return attr<AttrKind::kCustomCallTarget>(); }
  const Metadata& metadata() const;

  // Called computations, in this order: to_apply / calls / called_computation; while: condition, body; conditional: the
  // branches (true, false for a pred selector); select-and-scatter: select, scatter; custom-call: to_apply or
  // called_computations.
  const std::vector<HloComputation*>& called_computations() const { return called_; }
  HloComputation* called(int64_t i) const { return called_[i]; }
  void AddCalledComputation(HloComputation* computation) { called_.push_back(computation); }
  void SetCalledComputation(int64_t i, HloComputation* computation) { called_[i] = computation; }
  HloComputation* to_apply() const { return called_[0]; }
  HloComputation* while_condition() const { return called_[0]; }
  HloComputation* while_body() const { return called_[1]; }
  HloComputation* fused_computation() const { return called_[0]; }
  HloInstruction* fused_root() const;

  // Constants.
  const Literal& literal() const { return *literal_; }
  const std::shared_ptr<const Literal>& shared_literal() const { return literal_; }
  void set_literal(std::shared_ptr<const Literal> literal) { literal_ = std::move(literal); }
  bool IsConstant() const { return opcode_ == HloOpcode::kConstant; }
  // A constant whose elements are all equal bit for bit (scalars included).
  bool IsBroadcastScalarConstant() const { return IsConstant() && literal_ && literal_->IsBroadcastScalar(); }

  // Parameters.
  int64_t parameter_number() const { return parameter_number_; }
  void set_parameter_number(int64_t number) { parameter_number_ = number; }

  bool IsElementwise() const { return xc::IsElementwise(opcode_); }
  // Whether it must be kept and not be duplicated even if its value is not used (sends, rng, side-effect custom calls,
  // and calls, loops or fusions that contain such).
  bool HasSideEffect() const;

  // One line of text as the printer writes it.
  std::string ToString() const;

 private:
  friend class HloComputation;
  HloInstruction(HloOpcode opcode, Shape shape) : opcode_(opcode), shape_(std::move(shape)) {}
  void AddUser(HloInstruction* user);
  void RemoveUserIfUnused(HloInstruction* user);

  HloOpcode opcode_;
  Shape shape_;
  std::string name_;
  int64_t id_ = -1;
  HloComputation* parent_ = nullptr;
  std::vector<HloInstruction*> operands_;
  std::vector<HloInstruction*> users_;
  absl::flat_hash_map<const HloInstruction*, int64_t> user_index_;
  std::vector<HloInstruction*> control_predecessors_, control_successors_;
  Attributes attributes_;
  std::vector<HloComputation*> called_;
  std::shared_ptr<const Literal> literal_;
  int64_t parameter_number_ = -1;
};

}  // namespace xc

#endif  // XC_HLO_INSTRUCTION_H_
