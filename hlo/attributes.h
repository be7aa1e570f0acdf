// The values of instruction attributes, one C++ type per kind of hlo/attribute.def, and the small map that holds them.
#ifndef XC_HLO_ATTRIBUTES_H_
#define XC_HLO_ATTRIBUTES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "hlo/base/check.h"
#include "hlo/shape.h"

namespace xc {

class Literal;

using Int64List = std::vector<int64_t>;
using StringList = std::vector<std::string>;

// One spatial dimension of a window (convolution, reduce-window, select-and-scatter).
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
  bool reversal = false;
  bool operator==(const WindowDim&) const = default;
};
struct WindowAttr {
  std::vector<WindowDim> dims;
  bool operator==(const WindowAttr&) const = default;
};

// Dimension numbers of a convolution: the place of batch, feature and spatial dimensions in each operand and the
// output.
struct ConvDims {
  int64_t input_batch = 0, input_feature = 0;
  Int64List input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  Int64List kernel_spatial;
  int64_t output_batch = 0, output_feature = 0;
  Int64List output_spatial;
  bool operator==(const ConvDims&) const = default;
};

struct DotDims {
  Int64List lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  bool operator==(const DotDims&) const = default;
};
struct RaggedDims {
  Int64List lhs_ragged, rhs_group;
  bool operator==(const RaggedDims&) const = default;
};

struct GatherDims {
  Int64List offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool operator==(const GatherDims&) const = default;
};
struct ScatterDims {
  Int64List update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool operator==(const ScatterDims&) const = default;
};

struct SliceAttr {
  Int64List starts, limits, strides;
  bool operator==(const SliceAttr&) const = default;
};

struct PaddingDim {
  int64_t low = 0, high = 0, interior = 0;
  bool operator==(const PaddingDim&) const = default;
};
struct PaddingAttr {
  std::vector<PaddingDim> dims;
  bool operator==(const PaddingAttr&) const = default;
};

enum class CompareDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class CompareType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };                       // wire values 0…3
enum class RandomDistribution : uint8_t { kInvalid, kUniform, kNormal };           // wire values 0…2
enum class RandomAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };             // wire values 0…2
enum class TriangularTranspose : uint8_t { kInvalid, kNo, kTranspose, kAdjoint };  // wire values 0…3

struct OutputOperandAlias {
  ShapeIndex output_index;
  int64_t operand = 0;
  ShapeIndex operand_index;
  bool operator==(const OutputOperandAlias&) const = default;
};
using OutputOperandAliasing = std::vector<OutputOperandAlias>;

// Replica groups: an explicit list, or the compact iota form `[2,4]<=[4,2]T(1,0)`.
struct ReplicaGroups {
  std::vector<Int64List> groups;
  Int64List iota_dims, iota_reshape_dims, iota_transpose;  // iota form if iota_dims is not empty
  bool operator==(const ReplicaGroups&) const = default;
};

struct Metadata {
  std::string op_type, op_name, source_file;
  int64_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  int64_t stack_frame_id = 0;
  std::string deduplicated_name, scheduling_name;
  bool preserve_layout = false;
  std::vector<int64_t> profile_type;
  int64_t size_of_generated_code_in_bytes = 0, size_of_memory_working_set_in_bytes = 0;
  // Serialized OpMetadata fields that have no text form (profile info and unknown fields).
  std::string extra_proto;
  bool operator==(const Metadata&) const = default;
};

// Carried, printed and serialized; never acted upon, since one device runs the module.
struct Sharding {
  enum class Type : uint8_t { kReplicated, kMaximal, kTuple, kOther, kManual, kUnknown, kUnreduced };
  Type type = Type::kReplicated;
  Int64List tile_dims;  // devices=[…]
  Int64List devices;    // explicit list, or the device of a maximal sharding
  Int64List iota_reshape_dims, iota_transpose;
  bool replicate_on_last_tile_dim = false;
  std::vector<Type> last_tile_dims;
  bool is_shard_group = false;
  int64_t shard_group_id = 0;
  bool shard_like = false;  // shard_like, else shard_as
  std::vector<Sharding> tuple;
  std::vector<Metadata> metadata;
  std::string named_text;  // other forms, kept as written
  bool operator==(const Sharding&) const = default;
};

struct BackendConfig {
  std::string text;
  bool braces = false;  // written as {json} rather than "string"
  bool operator==(const BackendConfig&) const = default;
};

using FrontendAttributes = std::vector<std::pair<std::string, std::string>>;  // in the order of the text

struct Statistics {
  int64_t visualizing_index = -1;
  std::vector<std::pair<std::string, double>> values;
  bool operator==(const Statistics&) const = default;
};

struct DomainAttr {
  std::string kind;
  Sharding entry, exit;
  bool operator==(const DomainAttr&) const = default;
};

enum class AttrKind : uint8_t {
#define XC_ATTR(e, name, type) e,
#define XC_COMMON_ATTR(e, name, type) e,
#include "hlo/attribute.def"
#undef XC_ATTR
#undef XC_COMMON_ATTR
};

absl::string_view AttrName(AttrKind kind);
// Whether every instruction may carry `kind`.
bool IsCommonAttr(AttrKind kind);

// Maps a kind to the C++ type of its value.
template <AttrKind>
struct AttrTypeOf;
#define XC_ATTR(e, name, T)        \
  template <>                      \
  struct AttrTypeOf<AttrKind::e> { \
    using type = T;                \
  };
#define XC_COMMON_ATTR(e, name, T) XC_ATTR(e, name, T)
#include "hlo/attribute.def"
#undef XC_ATTR
#undef XC_COMMON_ATTR
template <AttrKind kKind>
using AttrType = typename AttrTypeOf<kKind>::type;

using AttrValue =
    std::variant<bool, int64_t, float, std::string, Int64List, StringList, std::vector<Int64List>, std::vector<bool>,
                 std::vector<Shape>, Shape, WindowAttr, ConvDims, DotDims, RaggedDims, GatherDims, ScatterDims,
                 SliceAttr, PaddingAttr, CompareDirection, CompareType, FusionKind, FftType, RandomDistribution,
                 RandomAlgorithm, TriangularTranspose, OutputOperandAliasing, ReplicaGroups, Metadata, Sharding,
                 BackendConfig, FrontendAttributes, Statistics, DomainAttr, std::shared_ptr<const Literal>>;

// The attributes of one instruction: a few pairs sorted by kind. A value is shared until it is replaced, so that copies
// of instructions are cheap.
class Attributes {
 public:
  template <AttrKind kKind>
  const AttrType<kKind>* Find() const {
    const AttrValue* value = FindValue(kKind);
    return value ? &std::get<AttrType<kKind>>(*value) : nullptr;
  }
  bool Has(AttrKind kind) const { return FindValue(kind) != nullptr; }
  template <AttrKind kKind>
  void Set(AttrType<kKind> value) {
    SetValue(kKind, AttrValue(std::move(value)));
  }
  void Erase(AttrKind kind);
  void SetValue(AttrKind kind, AttrValue value);
  const AttrValue* FindValue(AttrKind kind) const;
  const std::vector<std::pair<AttrKind, std::shared_ptr<const AttrValue>>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<AttrKind, std::shared_ptr<const AttrValue>>> entries_;
};

// Equality of two values of the same kind (literals by their elements).
bool AttrEqual(const AttrValue& a, const AttrValue& b);

absl::string_view CompareDirectionName(CompareDirection direction);  // "EQ", …
absl::string_view FusionKindName(FusionKind kind);                   // "kLoop", …

}  // namespace xc

#endif  // XC_HLO_ATTRIBUTES_H_
