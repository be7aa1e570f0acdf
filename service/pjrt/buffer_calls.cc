// The functions of the PJRT C API for buffers.
#include <cstring>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/pjrt/buffers.h"

namespace xc::pjrt {
namespace {

// Where a new buffer lies: in `memory`, or in the device's default one.
absl::StatusOr<Memory*> PlaceOf(Device* device, Memory* memory) {
  if (memory != nullptr) return memory;
  if (device == nullptr) return absl::InvalidArgumentError("a buffer needs a device or a memory");
  return device->default_memory();
}

// The strides, in bytes, that a layout gives an array; row-major ones for none.
absl::StatusOr<Dims> StridesOf(const MemoryLayout* layout, const Shape& shape) {
  const int bytes = StorageBytes(shape.type());
  if (layout == nullptr) return RowMajorStrides(shape.dims(), bytes);
  if (layout->type == kStridesLayout) {
    if (layout->strides.num_byte_strides != shape.dims().size()) {
      return absl::InvalidArgumentError("a layout has not as many strides as the array has dimensions");
    }
    return Dims(layout->strides.byte_strides, layout->strides.byte_strides + layout->strides.num_byte_strides);
  }
  if (layout->tiled.num_tiles > 0) return absl::UnimplementedError("tiled layouts are not supported");
  const absl::Span<const int64_t> order(layout->tiled.minor_to_major, layout->tiled.minor_to_major_size);
  Dims sorted(order.begin(), order.end()), expected(shape.rank());
  std::sort(sorted.begin(), sorted.end());
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected) return absl::InvalidArgumentError("a layout does not name each dimension once");
  return DenseStrides(shape.dims(), order, bytes);
}

// The order of dimensions that a layout asks for, as Buffer::order; an error where the strides that it gives are not
// those of a dense array.
absl::StatusOr<Dims> LayoutOrder(const MemoryLayout* layout, const Shape& shape) {
  if (layout == nullptr || shape.ElementCount() == 0) return Dims();
  XC_ASSIGN_OR_RETURN(const Dims strides, StridesOf(layout, shape));
  Dims order(shape.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  const Dims dense = DenseStrides(shape.dims(), order, StorageBytes(shape.type()));
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) != 1 && strides[i] != dense[i]) {
      return absl::UnimplementedError("buffers are dense: layouts with gaps are not supported");
    }
  }
  return OrderOf(shape.dims(), order);
}

// The bits of an integer of fewer than a byte; 0 for other types.
int BitsOfNarrowInteger(ElementType type) {
  if (type == ElementType::kS4 || type == ElementType::kU4) return 4;
  return type == ElementType::kS2 || type == ElementType::kU2 ? 2 : 0;
}

// Hosts do not say what stands above the bits of a narrow integer: programs read a byte with its value.
void ExtendNarrowIntegers(ElementType type, char* data, size_t count) {
  const int above = 8 - BitsOfNarrowInteger(type);
  const bool is_signed = type == ElementType::kS4 || type == ElementType::kS2;
  for (size_t i = 0; i < count; ++i) {
    const auto shifted = static_cast<uint8_t>(static_cast<uint8_t>(data[i]) << above);
    data[i] = static_cast<char>(is_signed ? static_cast<int8_t>(shifted) >> above : shifted >> above);
  }
}

absl::Status FromHost(Client_BufferFromHostBuffer_Args* args) {
  XC_ASSIGN_OR_RETURN(const Shape shape, CheckedShape(args->type, absl::MakeConstSpan(args->dims, args->num_dims)));
  XC_ASSIGN_OR_RETURN(Memory* const memory, PlaceOf(args->device, args->memory));
  XC_ASSIGN_OR_RETURN(Dims order, LayoutOrder(args->device_layout, shape));
  const int element_bytes = StorageBytes(shape.type());
  Dims strides = RowMajorStrides(shape.dims(), element_bytes);
  const Dims to_strides = order.empty() ? strides : DenseStrides(shape.dims(), order, element_bytes);
  if (args->byte_strides != nullptr && args->num_byte_strides > 0) {
    if (args->num_byte_strides != args->num_dims) {
      return absl::InvalidArgumentError("there should be as many strides as dimensions");
    }
    strides.assign(args->byte_strides, args->byte_strides + args->num_byte_strides);
  }
  bool dense = shape.ElementCount() > 0;
  for (int64_t i = 0; i < shape.rank(); ++i) dense = dense && (shape.dim(i) == 1 || strides[i] == to_strides[i]);
  const bool may_share = args->host_buffer_semantics == HostBufferSemantics::kImmutableZeroCopy ||
                         args->host_buffer_semantics == HostBufferSemantics::kMutableZeroCopy;
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Completion> done;  // with the host's memory
  const bool is_narrow = BitsOfNarrowInteger(shape.type()) > 0;
  if (may_share && !is_narrow && dense && reinterpret_cast<uintptr_t>(args->data) % kBufferAlignment == 0) {
    done = std::make_shared<Completion>();
    storage = std::make_shared<Storage>(const_cast<void*>(args->data), shape.ByteSize(),
                                        [done] { done->Finish(absl::OkStatus()); });
  } else {
    XC_ASSIGN_OR_RETURN(storage, Storage::Allocate(shape.ByteSize()));
    CopyStrided(shape.dims(), element_bytes, static_cast<const char*>(args->data), strides, storage->data(),
                to_strides);
    if (is_narrow) ExtendNarrowIntegers(shape.type(), storage->data(), storage->bytes());
  }
  args->buffer = new Buffer(memory, shape.type(), shape.dims(), std::move(storage), std::move(order));
  args->done_with_host_buffer = NewEvent(std::move(done));
  return absl::OkStatus();
}

absl::Status CopyTo(Buffer* from, Memory* memory, Buffer** out) {
  XC_ASSIGN_OR_RETURN(const std::shared_ptr<Storage> source, from->Await());
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> copy, Storage::Allocate(source->bytes()));
  std::memcpy(copy->data(), source->data(), source->bytes());
  *out = new Buffer(memory, from->type, from->dims, std::move(copy), from->order);
  return absl::OkStatus();
}

}  // namespace

Error* Client_BufferFromHostBuffer(Client_BufferFromHostBuffer_Args* args) {
  return Answer([&] { return FromHost(args); });
}

Error* Client_CreateUninitializedBuffer(Client_CreateUninitializedBuffer_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const Shape shape, CheckedShape(args->shape_element_type,
                                                        absl::MakeConstSpan(args->shape_dims, args->shape_num_dims)));
    XC_ASSIGN_OR_RETURN(Dims order, LayoutOrder(args->shape_layout, shape));
    XC_ASSIGN_OR_RETURN(Memory* const memory, PlaceOf(args->device, args->memory));
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, Storage::Allocate(shape.ByteSize()));
    args->buffer = new Buffer(memory, shape.type(), shape.dims(), std::move(storage), std::move(order));
    return absl::OkStatus();
  });
}

Error* Client_CreateErrorBuffer(Client_CreateErrorBuffer_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const Shape shape, CheckedShape(args->shape_element_type,
                                                        absl::MakeConstSpan(args->shape_dims, args->shape_num_dims)));
    XC_ASSIGN_OR_RETURN(Memory* const memory, PlaceOf(nullptr, args->memory));
    auto promised = std::make_shared<Promised>();
    promised->completion = std::make_shared<Completion>();
    promised->completion->Finish(absl::Status(static_cast<absl::StatusCode>(args->error_code),
                                              absl::string_view(args->error_message, args->error_message_size)));
    args->buffer = new Buffer(memory, shape.type(), shape.dims(), Contents{nullptr, std::move(promised)});
    return absl::OkStatus();
  });
}

Error* Client_CreateViewOfDeviceBuffer(Client_CreateViewOfDeviceBuffer_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const Shape shape,
                        CheckedShape(args->element_type, absl::MakeConstSpan(args->dims, args->num_dims)));
    XC_ASSIGN_OR_RETURN(Dims order, LayoutOrder(args->layout, shape));
    Memory* memory = nullptr;
    const bool has_memory = args->struct_size >= offsetof(Client_CreateViewOfDeviceBuffer_Args, memory) + sizeof(void*);
    XC_ASSIGN_OR_RETURN(memory, PlaceOf(args->device, has_memory ? args->memory : nullptr));
    void* const data = args->device_buffer_ptr;
    const auto tell = args->on_delete_callback;
    void* const user_arg = args->on_delete_callback_arg;
    auto storage = std::make_shared<Storage>(data, shape.ByteSize(), [=] {
      if (tell != nullptr) tell(data, user_arg);
    });
    args->buffer = new Buffer(memory, shape.type(), shape.dims(), std::move(storage), std::move(order));
    return absl::OkStatus();
  });
}

Error* Buffer_Destroy(Buffer_Destroy_Args* args) {
  delete args->buffer;
  return nullptr;
}

Error* Buffer_ElementType(Buffer_ElementType_Args* args) {
  args->type = ToBufferType(args->buffer->type);
  return nullptr;
}

Error* Buffer_Dimensions(Buffer_Dimensions_Args* args) {
  args->dims = args->buffer->dims.data();
  args->num_dims = args->buffer->dims.size();
  return nullptr;
}

Error* Buffer_UnpaddedDimensions(Buffer_UnpaddedDimensions_Args* args) {
  args->unpadded_dims = args->buffer->dims.data();
  args->num_dims = args->buffer->dims.size();
  return nullptr;
}

Error* Buffer_DynamicDimensionIndices(Buffer_DynamicDimensionIndices_Args* args) {
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return nullptr;
}

Error* Buffer_GetMemoryLayout(Buffer_GetMemoryLayout_Args* args) {
  // Of every rank the end of one list: rank-1, …, 1, 0.
  static const Dims* const kOrder = [] {
    auto* order = new Dims(64);
    std::iota(order->rbegin(), order->rend(), 0);
    return order;
  }();
  const size_t rank = args->buffer->dims.size();
  if (rank > kOrder->size()) return ToError(absl::UnimplementedError("layouts of more than 64 dimensions"));
  args->layout.type = kTiledLayout;
  args->layout.tiled = {};
  args->layout.tiled.struct_size = sizeof(TiledLayout);
  const Dims& order = args->buffer->order;
  args->layout.tiled.minor_to_major = order.empty() ? kOrder->data() + kOrder->size() - rank : order.data();
  args->layout.tiled.minor_to_major_size = rank;
  return nullptr;
}

Error* Buffer_ToHostBuffer(Buffer_ToHostBuffer_Args* args) {
  return Answer([&]() -> absl::Status {
    Buffer* const buffer = args->src;
    const Shape shape(buffer->type, std::vector<int64_t>(buffer->dims.begin(), buffer->dims.end()));
    const size_t bytes = shape.ByteSize();
    if (args->dst == nullptr) {
      args->dst_size = bytes;
      return absl::OkStatus();
    }
    if (args->dst_size < bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the array has ", bytes, " bytes, but there is room for ", args->dst_size));
    }
    XC_ASSIGN_OR_RETURN(const Dims strides, StridesOf(args->host_layout, shape));
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<Storage> storage, buffer->Await());
    const int element_bytes = StorageBytes(shape.type());
    CopyStrided(shape.dims(), element_bytes, storage->data(), buffer->strides(), static_cast<char*>(args->dst),
                strides);
    args->event = NewEvent(nullptr);
    return absl::OkStatus();
  });
}

Error* Buffer_CopyRawToHost(Buffer_CopyRawToHost_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<Storage> storage, args->buffer->Await());
    const int64_t size = static_cast<int64_t>(storage->bytes());
    if (args->offset < 0 || args->transfer_size < 0 || args->offset > size ||
        args->transfer_size > size - args->offset) {
      return absl::InvalidArgumentError(absl::StrCat("bytes ", args->offset, " to ", args->offset, " + ",
                                                     args->transfer_size, " are not in a buffer of ", size));
    }
    std::memcpy(args->dst, storage->data() + args->offset, args->transfer_size);
    args->event = NewEvent(nullptr);
    return absl::OkStatus();
  });
}

Error* Buffer_OnDeviceSizeInBytes(Buffer_OnDeviceSizeInBytes_Args* args) {
  return Answer([&]() -> absl::Status {
    const Buffer& buffer = *args->buffer;
    args->on_device_size_in_bytes =
        Shape(buffer.type, std::vector<int64_t>(buffer.dims.begin(), buffer.dims.end())).ByteSize();
    return absl::OkStatus();
  });
}

Error* Buffer_Delete(Buffer_Delete_Args* args) {
  args->buffer->Delete();
  return nullptr;
}

Error* Buffer_IsDeleted(Buffer_IsDeleted_Args* args) {
  args->is_deleted = args->buffer->deleted();
  return nullptr;
}

Error* Buffer_CopyToDevice(Buffer_CopyToDevice_Args* args) {
  return Answer([&] { return CopyTo(args->buffer, args->dst_device->default_memory(), &args->dst_buffer); });
}

Error* Buffer_CopyToMemory(Buffer_CopyToMemory_Args* args) {
  return Answer([&] { return CopyTo(args->buffer, args->dst_memory, &args->dst_buffer); });
}

Error* Buffer_IsOnCpu(Buffer_IsOnCpu_Args* args) {
  args->is_on_cpu = true;
  return nullptr;
}

Error* Buffer_Device(Buffer_Device_Args* args) {
  args->device = args->buffer->memory->device;
  return nullptr;
}

Error* Buffer_Memory(Buffer_Memory_Args* args) {
  args->memory = args->buffer->memory;
  return nullptr;
}

Error* Buffer_ReadyEvent(Buffer_ReadyEvent_Args* args) {
  return Answer([&] {
    args->event = NewEvent(args->buffer->completion());
    return absl::OkStatus();
  });
}

Error* Buffer_UnsafePointer(Buffer_UnsafePointer_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<Storage> storage, args->buffer->Await());
    args->buffer_pointer = reinterpret_cast<uintptr_t>(storage->data());
    return absl::OkStatus();
  });
}

Error* Buffer_OpaqueDeviceMemoryDataPointer(Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  return Answer([&]() -> absl::Status {
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<Storage> storage, args->buffer->Await());
    args->device_memory_ptr = storage->data();
    return absl::OkStatus();
  });
}

Error* Buffer_IncreaseExternalReferenceCount(Buffer_IncreaseExternalReferenceCount_Args* args) {
  args->buffer->AddExternalReference();
  return nullptr;
}

Error* Buffer_DecreaseExternalReferenceCount(Buffer_DecreaseExternalReferenceCount_Args* args) {
  return Answer([&] { return args->buffer->DropExternalReference(); });
}

}  // namespace xc::pjrt
