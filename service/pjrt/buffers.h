// Buffers: arrays in a device's memory, dense, types narrower than a byte in a byte per element.
#ifndef XC_SERVICE_PJRT_BUFFERS_H_
#define XC_SERVICE_PJRT_BUFFERS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/arena.h"
#include "hlo/element_type.h"
#include "hlo/shape.h"
#include "service/pjrt/client.h"
#include "service/pjrt/events.h"

namespace xc::pjrt {

// What the machine has of memory. Larger blocks can be reserved, but not be filled.
size_t BytesOfMachine();

// Memory that buffers refer to: the plugin's own, or somebody else's who is told when it is no longer needed.
class Storage {
 public:
  // `bytes` bytes at a multiple of 64. ResourceExhausted where there is no memory.
  static absl::StatusOr<std::shared_ptr<Storage>> Allocate(size_t bytes);
  Storage(void* data, size_t bytes, std::function<void()> release)
      : data_(static_cast<char*>(data)), bytes_(bytes), release_(std::move(release)) {}
  explicit Storage(Block block) : data_(block.data()), bytes_(block.size()), block_(std::move(block)) {}
  Storage(const Storage&) = delete;
  ~Storage() {
    if (release_) release_();
  }

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Whether the plugin may write to it once nobody else refers to it.
  bool owned() const { return !release_; }

 private:
  char* data_;
  size_t bytes_;
  Block block_;
  std::function<void()> release_;
};

using Dims = absl::InlinedVector<int64_t, 6>;

// What is wrong with a buffer that is used after that.
inline constexpr char kDeleted[] = "Buffer has been deleted or donated.";

// Memory that a run will fill.
struct Promised {
  std::shared_ptr<Completion> completion;  // of the run
  std::shared_ptr<Storage> storage;        // there when the run has ended well
};

// What a buffer refers to: memory, or memory that is promised; neither when it is deleted.
struct Contents {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Promised> promised;

  bool empty() const { return storage == nullptr && promised == nullptr; }
  // The memory, once it is filled, and lets go of it. Errors: how the run ended.
  absl::StatusOr<std::shared_ptr<Storage>> Take();
};

struct Buffer {
  Buffer(Memory* memory, ElementType type, absl::Span<const int64_t> dims, Contents contents, Dims order = {})
      : memory(memory),
        type(type),
        dims(dims.begin(), dims.end()),
        order(std::move(order)),
        contents_(std::move(contents)) {}
  Buffer(Memory* memory, ElementType type, absl::Span<const int64_t> dims, std::shared_ptr<Storage> storage,
         Dims order = {})
      : Buffer(memory, type, dims, Contents{std::move(storage), nullptr}, std::move(order)) {}

  Memory* const memory;
  const ElementType type;
  const Dims dims;
  const Dims order;  // the dimensions as they lie in memory, minor first; empty: row-major

  // In bytes.
  Dims strides() const;
  // What it refers to now. What was promised and is there is memory.
  Contents contents();
  bool deleted();
  // The memory, when what is computed there is there; errors: deleted, or how the computation ended.
  absl::StatusOr<std::shared_ptr<Storage>> Await();
  // Null when done well, or deleted.
  std::shared_ptr<Completion> completion();
  // Frees the memory, once runs and external references have let it go.
  void Delete();
  // Takes the memory away, as donation does: the buffer is deleted. InvalidArgument if it was before. Whoever holds it
  // may write to it once nobody else refers to it.
  absl::StatusOr<Contents> Donate();
  void AddExternalReference();
  absl::Status DropExternalReference();

 private:
  std::mutex mu_;
  Contents contents_;
  Contents external_;  // while there are external references
  int64_t external_references_ = 0;
};

// The element type of a number of the API; kInvalid for one that there is none of.
ElementType FromBufferType(BufferType type);
BufferType ToBufferType(ElementType type);

// The shape of `dims`; an error if sizes are negative or the array is too large to exist.
absl::StatusOr<Shape> CheckedShape(BufferType type, absl::Span<const int64_t> dims);

// Copies an array between places with any strides, in bytes.
void CopyStrided(absl::Span<const int64_t> dims, int element_bytes, const char* from,
                 absl::Span<const int64_t> from_strides, char* to, absl::Span<const int64_t> to_strides);
// The strides of a dense array whose dimensions lie in memory in this order, minor first.
Dims DenseStrides(absl::Span<const int64_t> dims, absl::Span<const int64_t> minor_to_major, int element_bytes);
Dims RowMajorStrides(absl::Span<const int64_t> dims, int element_bytes);
// `order`, or nothing if an array of these dimensions is the same bytes in row-major order.
Dims OrderOf(absl::Span<const int64_t> dims, absl::Span<const int64_t> order);

// The contents of a buffer in row-major order: `storage`, what it holds, or a copy.
absl::StatusOr<std::shared_ptr<Storage>> RowMajor(const Buffer& buffer, std::shared_ptr<Storage> storage);
// An array of `dims` that lies in row-major order in `storage`, with its dimensions in another order, not empty.
absl::StatusOr<std::shared_ptr<Storage>> InOrder(absl::Span<const int64_t> dims, ElementType type,
                                                 absl::Span<const int64_t> order, const Storage& storage);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_BUFFERS_H_
