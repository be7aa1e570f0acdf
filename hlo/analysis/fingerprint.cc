#include "hlo/analysis/fingerprint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "hlo/analysis/canonical_order.h"
#include "hlo/analysis/equality.h"

namespace xc {
namespace {

// Both halves of the 128-bit product, folded: every input bit reaches every output bit.
uint64_t Fold(uint64_t x, uint64_t y) {
  unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Hands on what a FingerprintHasher takes in, as bytes.
class ByteFeeder {
 public:
  explicit ByteFeeder(absl::FunctionRef<void(absl::string_view)> take) : take_(take) {}
  ~ByteFeeder() { take_(buffer_); }
  void Add(uint64_t value) { Append(&value, sizeof(value)); }
  void AddBytes(const void* data, size_t size) {
    Add(size);
    Append(data, size);
  }
  void AddText(absl::string_view text) { AddBytes(text.data(), text.size()); }

 private:
  void Append(const void* data, size_t size) {
    const absl::string_view bytes(static_cast<const char*>(data), size);
    if (buffer_.size() + size > kBuffer) {
      take_(buffer_);
      buffer_.clear();
    }
    if (size > kBuffer) {
      take_(bytes);
    } else {
      buffer_.append(bytes.data(), bytes.size());
    }
  }

  static constexpr size_t kBuffer = 1 << 14;
  const absl::FunctionRef<void(absl::string_view)> take_;
  std::string buffer_;
};

// Feeds values of all kinds that attributes are made of to a hasher.
template <typename Hasher>
class Feeder {
 public:
  explicit Feeder(Hasher* hasher) : hasher_(hasher) {}

  template <typename... T>
  void All(const T&... values) {
    (Feed(values), ...);
  }

  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void Feed(T value) { hasher_->Add(static_cast<uint64_t>(value)); }
  void Feed(float value) { hasher_->Add(std::bit_cast<uint32_t>(value)); }
  void Feed(double value) { hasher_->Add(std::bit_cast<uint64_t>(value)); }
  void Feed(const std::string& text) { hasher_->AddText(text); }
  template <typename T>
  void Feed(const std::vector<T>& list) {
    hasher_->Add(list.size());
    for (const auto& value : list) Feed(static_cast<const T&>(value));
  }
  template <typename T, typename U>
  void Feed(const std::pair<T, U>& pair) {
    All(pair.first, pair.second);
  }
  void Feed(const Layout& l) {
    All(l.minor_to_major, l.tiles, l.tail_padding_alignment_in_elements, l.index_type, l.pointer_type,
        l.element_size_in_bits, l.memory_space, l.split_configs, l.dynamic_shape_metadata_prefix_bytes,
        l.physical_shape);
  }
  void Feed(const SplitConfig& s) { All(s.dimension, s.split_indices); }
  void Feed(const Shape& shape) {
    All(shape.type(), shape.dims());
    for (int64_t d = 0; d < shape.rank(); ++d) Feed(shape.is_dynamic_dim(d));
    Feed(shape.has_layout());
    if (shape.has_layout()) Feed(shape.layout());
    Feed(shape.tuple_shapes());
  }
  void Feed(const WindowDim& w) {
    All(w.size, w.stride, w.padding_low, w.padding_high, w.base_dilation, w.window_dilation, w.reversal);
  }
  void Feed(const WindowAttr& w) { Feed(w.dims); }
  void Feed(const ConvDims& c) {
    All(c.input_batch, c.input_feature, c.input_spatial, c.kernel_input_feature, c.kernel_output_feature,
        c.kernel_spatial, c.output_batch, c.output_feature, c.output_spatial);
  }
  void Feed(const DotDims& d) { All(d.lhs_batch, d.rhs_batch, d.lhs_contracting, d.rhs_contracting); }
  void Feed(const RaggedDims& r) { All(r.lhs_ragged, r.rhs_group); }
  void Feed(const GatherDims& g) {
    All(g.offset_dims, g.collapsed_slice_dims, g.start_index_map, g.operand_batching_dims,
        g.start_indices_batching_dims, g.index_vector_dim);
  }
  void Feed(const ScatterDims& s) {
    All(s.update_window_dims, s.inserted_window_dims, s.scatter_dims_to_operand_dims, s.input_batching_dims,
        s.scatter_indices_batching_dims, s.index_vector_dim);
  }
  void Feed(const SliceAttr& s) { All(s.starts, s.limits, s.strides); }
  void Feed(const PaddingDim& p) { All(p.low, p.high, p.interior); }
  void Feed(const PaddingAttr& p) { Feed(p.dims); }
  void Feed(const OutputOperandAlias& a) { All(a.output_index, a.operand, a.operand_index); }
  void Feed(const ReplicaGroups& r) { All(r.groups, r.iota_dims, r.iota_reshape_dims, r.iota_transpose); }
  void Feed(const Sharding& s) {
    All(s.type, s.tile_dims, s.devices, s.iota_reshape_dims, s.iota_transpose, s.replicate_on_last_tile_dim,
        s.last_tile_dims, s.is_shard_group, s.shard_group_id, s.shard_like, s.tuple, s.named_text);
  }
  void Feed(const BackendConfig& b) { All(b.text, b.braces); }
  void Feed(const DomainAttr& d) { All(d.kind, d.entry, d.exit); }
  void Feed(const InputOutputAlias& a) { All(a.output_index, a.parameter, a.parameter_index, a.must_alias); }
  void Feed(const BufferDonor& d) { All(d.parameter, d.parameter_index); }
  // Never fed by themselves: see IsMetadata.
  void Feed(const Metadata&) {}
  void Feed(const Statistics&) {}
  void Feed(const std::shared_ptr<const Literal>& literal) {
    Feed(literal != nullptr);
    if (literal != nullptr) Feed(*literal);
  }
  void Feed(const Literal& literal) {
    Feed(WithoutLayout(literal.shape()));
    All(literal.elided(), literal.dynamic_sizes());
    hasher_->AddBytes(literal.bytes(), literal.byte_size());
    hasher_->Add(literal.tuple().size());
    for (const Literal& element : literal.tuple()) Feed(element);
  }
  void Feed(const AttrValue& value) {
    std::visit([this](const auto& v) { Feed(v); }, value);
  }

 private:
  Hasher* hasher_;
};

template <typename Hasher>
void FeedComputation(const ComputationOrder& computations, size_t at, const std::vector<HloInstruction*>* schedule,
                     Hasher* hasher) {
  Feeder<Hasher> feeder(hasher);
  const HloComputation& computation = *computations.computations[at];
  const auto& order = computations.instructions[at];
  absl::flat_hash_map<const HloInstruction*, int64_t> numbers;
  numbers.reserve(order.size());
  for (const HloInstruction* instruction : order) numbers.emplace(instruction, numbers.size());
  feeder.All(order.size(), computation.parameter_count(), computation.execution_thread());
  for (const HloInstruction* instruction : order) {
    feeder.All(instruction->opcode(), instruction->shape(), instruction->parameter_number());
    hasher->Add(instruction->operand_count());
    for (const HloInstruction* operand : instruction->operands()) hasher->Add(numbers.at(operand));
    if (!instruction->control_predecessors().empty()) {
      std::vector<int64_t> before;
      for (const HloInstruction* b : instruction->control_predecessors()) before.push_back(numbers.at(b));
      std::sort(before.begin(), before.end());
      feeder.Feed(before);
    }
    hasher->Add(instruction->called_computations().size());
    for (const HloComputation* callee : instruction->called_computations()) hasher->Add(computations.number.at(callee));
    for (const auto& [kind, value] : instruction->attributes().entries()) {
      if (!IsMetadata(kind)) feeder.All(kind, *value);
    }
    if (instruction->shared_literal() != nullptr) feeder.Feed(instruction->literal());
  }
  if (computation.root() != nullptr) hasher->Add(numbers.at(computation.root()));
  if (schedule != nullptr) {
    for (const HloInstruction* instruction : *schedule) {
      auto it = numbers.find(instruction);
      if (it != numbers.end()) hasher->Add(it->second);
    }
  }
}

template <typename Hasher>
void FeedWholeModule(const HloModule& module, Hasher* hasher) {
  const ModuleConfig& config = module.config();
  Feeder<Hasher>(hasher).All(config.has_entry_layout, config.entry_parameter_layouts, config.entry_result_layout,
                             config.input_output_alias, config.buffer_donors, config.is_scheduled, config.replica_count,
                             config.num_partitions, config.frontend_attributes, config.other);
  if (module.entry() == nullptr) return;
  ComputationOrder order = CanonicalComputationOrder({module.entry()});
  for (size_t i = 0; i < order.computations.size(); ++i) {
    auto it = module.schedule().find(order.computations[i]);
    FeedComputation(order, i, it != module.schedule().end() ? &it->second : nullptr, hasher);
  }
}

}  // namespace

std::string Fingerprint::ToHex() const {
  return absl::StrCat(absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
}

void FingerprintHasher::Add(uint64_t value) {
  a_ = Fold(a_ ^ value, 0x9e3779b97f4a7c15) + b_;
  b_ = Fold(b_ + value, 0xbf58476d1ce4e5b9 ^ a_) ^ std::rotl(a_, 23);
}

void FingerprintHasher::AddBytes(const void* data, size_t size) {
  Add(size);
  const char* bytes = static_cast<const char*>(data);
  uint64_t word;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::memcpy(&word, bytes, 8);
    Add(word);
  }
  if (size > 0) {
    word = 0;
    std::memcpy(&word, bytes, size);
    Add(word);
  }
}

Fingerprint FingerprintHasher::Finish() const {
  FingerprintHasher last = *this;
  for (int i = 0; i < 3; ++i) last.Add(0x452821e638d01377 + i);
  return {last.a_, last.b_};
}

Fingerprint FingerprintOf(const HloModule& module) {
  FingerprintHasher hasher;
  FeedWholeModule(module, &hasher);
  return hasher.Finish();
}

void FeedModule(const HloModule& module, absl::FunctionRef<void(absl::string_view)> take) {
  ByteFeeder feeder(take);
  FeedWholeModule(module, &feeder);
}

Fingerprint FingerprintOf(const HloComputation& computation) {
  FingerprintHasher hasher;
  ComputationOrder order = CanonicalComputationOrder({&computation});
  for (size_t i = 0; i < order.computations.size(); ++i) FeedComputation(order, i, nullptr, &hasher);
  return hasher.Finish();
}

Fingerprint FingerprintOf(const Literal& literal) {
  FingerprintHasher hasher;
  Feeder(&hasher).Feed(literal);
  return hasher.Finish();
}

}  // namespace xc
