// Tells how buffers and results lie in memory.
#include <string>

#include "hlo/base/status.h"
#include "service/pjrt/api_extensions.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"

namespace xc::pjrt {

namespace {

// In XLA's text form, as in "{1,0}".
std::string LayoutText(size_t rank, const Dims& order) {
  Layout layout = Layout::Descending(static_cast<int64_t>(rank));
  if (!order.empty()) layout.minor_to_major.assign(order.begin(), order.end());
  return layout.ToString();
}

Error* MemoryLayoutDestroy(Layouts_MemoryLayout_Destroy_Args* args) {
  delete args->layout;
  return nullptr;
}

Error* MemoryLayoutSerialize(Layouts_MemoryLayout_Serialize_Args* args) {
  Give(args->layout->text, &args->serialized_bytes, &args->serialized_bytes_size);
  // The layout outlives what is read of it here.
  args->serialized_layout = nullptr;
  args->serialized_layout_deleter = [](SerializedLayout*) {};
  return nullptr;
}

Error* ClientDefaultLayout(Layouts_Client_GetDefaultLayout_Args* args) {
  return Answer([&] {
    args->layout = new LayoutOfMemory{LayoutText(args->num_dims, {})};
    return absl::OkStatus();
  });
}

Error* BufferLayout(Layouts_Buffer_MemoryLayout_Args* args) {
  return Answer([&] {
    args->layout = new LayoutOfMemory{LayoutText(args->buffer->dims.size(), args->buffer->order)};
    return absl::OkStatus();
  });
}

Error* TopologyDefaultLayout(Layouts_Topology_GetDefaultLayout_Args* args) {
  return Answer([&] {
    args->layout = new LayoutOfMemory{LayoutText(args->num_dims, {})};
    return absl::OkStatus();
  });
}

Error* OutputLayouts(Layouts_Executable_GetOutputLayouts_Args* args) {
  return Answer([&] {
    const CompiledProgram& compiled = *args->executable->compiled;
    std::vector<LayoutOfMemory>& layouts = args->executable->layouts;
    std::vector<LayoutOfMemory*>& pointers = args->executable->layout_pointers;
    if (layouts.empty()) {
      for (size_t i = 0; i < compiled.result_shapes.size(); ++i) {
        layouts.push_back({LayoutText(compiled.result_shapes[i].dims().size(),
                                      compiled.result_orders.empty() ? Dims() : compiled.result_orders[i])});
      }
      for (LayoutOfMemory& layout : layouts) pointers.push_back(&layout);
    }
    args->num_outputs = pointers.size();
    args->layouts = pointers.data();
    return absl::OkStatus();
  });
}

}  // namespace

LayoutsExtension* GetLayoutsExtension() {
  static LayoutsExtension extension = {{sizeof(LayoutsExtension), kLayoutsExtension, &GetProfilerExtension()->base},
                                       MemoryLayoutDestroy,
                                       MemoryLayoutSerialize,
                                       ClientDefaultLayout,
                                       BufferLayout,
                                       TopologyDefaultLayout,
                                       OutputLayouts};
  return &extension;
}

}  // namespace xc::pjrt
