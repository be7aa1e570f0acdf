#include "service/pjrt/buffers.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::pjrt {

size_t BytesOfMachine() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

absl::StatusOr<std::shared_ptr<Storage>> Storage::Allocate(size_t bytes) {
  if (bytes > BytesOfMachine()) {
    return absl::ResourceExhaustedError(absl::StrCat("Out of memory allocating ", bytes, " bytes."));
  }
  XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(bytes));
  return std::make_shared<Storage>(std::move(block));
}

namespace {

absl::Status Deleted() { return absl::InvalidArgumentError(kDeleted); }

}  // namespace

Dims Buffer::strides() const {
  return order.empty() ? RowMajorStrides(dims, StorageBytes(type)) : DenseStrides(dims, order, StorageBytes(type));
}

absl::StatusOr<std::shared_ptr<Storage>> Contents::Take() {
  if (promised == nullptr) return std::move(storage);
  XC_RETURN_IF_ERROR(promised->completion->Await());
  // The last one to hold the promise leaves no reference to the memory behind.
  std::shared_ptr<Storage> filled = promised.use_count() == 1 ? std::move(promised->storage) : promised->storage;
  promised = nullptr;
  return filled;
}

Contents Buffer::contents() {
  std::lock_guard<std::mutex> lock(mu_);
  if (contents_.promised != nullptr && contents_.promised->completion->ended_well()) {
    contents_ = {contents_.promised->storage, nullptr};
  }
  return contents_;
}

bool Buffer::deleted() {
  std::lock_guard<std::mutex> lock(mu_);
  return contents_.empty();
}

std::shared_ptr<Completion> Buffer::completion() {
  const Contents now = contents();
  return now.promised == nullptr ? nullptr : now.promised->completion;
}

absl::StatusOr<std::shared_ptr<Storage>> Buffer::Await() {
  Contents now = contents();
  if (now.empty()) return Deleted();
  return now.Take();
}

void Buffer::Delete() {
  Contents released;  // freed without the lock: who is told may come back here
  std::lock_guard<std::mutex> lock(mu_);
  std::swap(released, contents_);
}

absl::StatusOr<Contents> Buffer::Donate() {
  Contents given;
  std::lock_guard<std::mutex> lock(mu_);
  std::swap(given, contents_);
  if (given.empty()) return Deleted();
  return given;
}

void Buffer::AddExternalReference() {
  std::lock_guard<std::mutex> lock(mu_);
  if (external_references_++ == 0) external_ = contents_;
}

absl::Status Buffer::DropExternalReference() {
  Contents released;
  std::lock_guard<std::mutex> lock(mu_);
  if (external_references_ == 0) return absl::FailedPreconditionError("the buffer has no external references");
  if (--external_references_ == 0) std::swap(released, external_);
  return absl::OkStatus();
}

namespace {

// In the order of BufferType.
constexpr ElementType kTypes[] = {ElementType::kInvalid,
                                  ElementType::kPred,
                                  ElementType::kS8,
                                  ElementType::kS16,
                                  ElementType::kS32,
                                  ElementType::kS64,
                                  ElementType::kU8,
                                  ElementType::kU16,
                                  ElementType::kU32,
                                  ElementType::kU64,
                                  ElementType::kF16,
                                  ElementType::kF32,
                                  ElementType::kF64,
                                  ElementType::kBF16,
                                  ElementType::kC64,
                                  ElementType::kC128,
                                  ElementType::kF8E5M2,
                                  ElementType::kF8E4M3FN,
                                  ElementType::kF8E4M3B11FNUZ,
                                  ElementType::kF8E5M2FNUZ,
                                  ElementType::kF8E4M3FNUZ,
                                  ElementType::kS4,
                                  ElementType::kU4,
                                  ElementType::kToken,
                                  ElementType::kS2,
                                  ElementType::kU2,
                                  ElementType::kF8E4M3,
                                  ElementType::kF8E3M4,
                                  ElementType::kF8E8M0FNU,
                                  ElementType::kF4E2M1FN};

}  // namespace

ElementType FromBufferType(BufferType type) {
  const size_t i = static_cast<size_t>(type);
  return i < std::size(kTypes) ? kTypes[i] : ElementType::kInvalid;
}

BufferType ToBufferType(ElementType type) {
  const auto* found = std::find(std::begin(kTypes), std::end(kTypes), type);
  return found == std::end(kTypes) ? BufferType::kInvalid : static_cast<BufferType>(found - kTypes);
}

absl::StatusOr<Shape> CheckedShape(BufferType type, absl::Span<const int64_t> dims) {
  Shape shape(FromBufferType(type), std::vector<int64_t>(dims.begin(), dims.end()));
  if (!shape.IsArray()) {
    return absl::UnimplementedError(absl::StrCat("there are no arrays of element type ", static_cast<int>(type)));
  }
  XC_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

Dims DenseStrides(absl::Span<const int64_t> dims, absl::Span<const int64_t> minor_to_major, int element_bytes) {
  Dims strides(dims.size());
  int64_t stride = element_bytes;
  for (int64_t dim : minor_to_major) {
    strides[dim] = stride;
    stride *= dims[dim];
  }
  return strides;
}

Dims RowMajorStrides(absl::Span<const int64_t> dims, int element_bytes) {
  Dims strides(dims.size());
  int64_t stride = element_bytes;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Dims OrderOf(absl::Span<const int64_t> dims, absl::Span<const int64_t> order) {
  const Dims given = DenseStrides(dims, order, 1), row_major = RowMajorStrides(dims, 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return {};
    if (dims[i] != 1 && given[i] != row_major[i]) return Dims(order.begin(), order.end());
  }
  return {};
}

absl::StatusOr<std::shared_ptr<Storage>> RowMajor(const Buffer& buffer, std::shared_ptr<Storage> storage) {
  if (buffer.order.empty()) return storage;
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> copy, Storage::Allocate(storage->bytes()));
  const int element_bytes = StorageBytes(buffer.type);
  CopyStrided(buffer.dims, element_bytes, storage->data(), buffer.strides(), copy->data(),
              RowMajorStrides(buffer.dims, element_bytes));
  return copy;
}

absl::StatusOr<std::shared_ptr<Storage>> InOrder(absl::Span<const int64_t> dims, ElementType type,
                                                 absl::Span<const int64_t> order, const Storage& storage) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Storage> copy, Storage::Allocate(storage.bytes()));
  const int element_bytes = StorageBytes(type);
  CopyStrided(dims, element_bytes, storage.data(), RowMajorStrides(dims, element_bytes), copy->data(),
              DenseStrides(dims, order, element_bytes));
  return copy;
}

namespace {

struct LoopDim {
  int64_t size, from, to;
};

template <typename T>
void CopyRow(const LoopDim& dim, const char* from, char* to) {
  for (int64_t i = 0; i < dim.size; ++i) std::memcpy(to + i * dim.to, from + i * dim.from, sizeof(T));
}

void CopyRow(const LoopDim& dim, int bytes, const char* from, char* to) {
  if (dim.from == bytes && dim.to == bytes) {
    std::memcpy(to, from, dim.size * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return CopyRow<uint8_t>(dim, from, to);
    case 2:
      return CopyRow<uint16_t>(dim, from, to);
    case 4:
      return CopyRow<uint32_t>(dim, from, to);
    case 8:
      return CopyRow<uint64_t>(dim, from, to);
    default:
      for (int64_t i = 0; i < dim.size; ++i) std::memcpy(to + i * dim.to, from + i * dim.from, bytes);
  }
}

void CopyLoops(absl::Span<const LoopDim> loops, int bytes, const char* from, char* to) {
  if (loops.size() == 1) return CopyRow(loops[0], bytes, from, to);
  for (int64_t i = 0; i < loops[0].size; ++i) {
    CopyLoops(loops.subspan(1), bytes, from + i * loops[0].from, to + i * loops[0].to);
  }
}

}  // namespace

void CopyStrided(absl::Span<const int64_t> dims, int element_bytes, const char* from,
                 absl::Span<const int64_t> from_strides, char* to, absl::Span<const int64_t> to_strides) {
  absl::InlinedVector<LoopDim, 6> loops;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    if (dims[i] > 1) loops.push_back({dims[i], from_strides[i], to_strides[i]});
  }
  if (loops.empty()) {
    std::memcpy(to, from, element_bytes);
    return;
  }
  // Innermost where the target's elements lie close.
  std::stable_sort(loops.begin(), loops.end(), [](const LoopDim& a, const LoopDim& b) { return a.to > b.to; });
  // Loops that go on where the one inside ends are one.
  size_t last = 0;
  for (size_t i = 1; i < loops.size(); ++i) {
    LoopDim& outer = loops[last];
    if (outer.from == loops[i].size * loops[i].from && outer.to == loops[i].size * loops[i].to) {
      outer = {outer.size * loops[i].size, loops[i].from, loops[i].to};
    } else {
      loops[++last] = loops[i];
    }
  }
  loops.resize(last + 1);
  CopyLoops(loops, element_bytes, from, to);
}

}  // namespace xc::pjrt
