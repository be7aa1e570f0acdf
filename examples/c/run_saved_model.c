/* Runs a signature of a SavedModel with the core library, opened at run time as a host program would, on zeros.
 *
 *   gcc -I. examples/c/run_saved_model.c -ldl -o run_saved_model
 *   ./run_saved_model bazel-bin/libxc.so SAVED_MODEL_DIR [SIGNATURE] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/capi/xc_graph.h"

#define LOAD(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(library, #name)

static int fail(const char* what, const char* message) {
  fprintf(stderr, "error: %s: %s\n", what, message);
  return 2;
}

/* Bytes of one element of TensorFlow's DataType numbers; 0 for what this example does not feed. */
static size_t element_size(int dtype) {
  switch (dtype) {
    case 1: /* float32 */
    case 3: /* int32 */
      return 4;
    case 2: /* float64 */
    case 9: /* int64 */
      return 8;
    case 4:  /* uint8 */
    case 10: /* bool */
      return 1;
    default:
      return 0;
  }
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return fail("usage", "run_saved_model LIBXC.so SAVED_MODEL_DIR [SIGNATURE]");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) return fail("dlopen", dlerror());
  LOAD(xc_graph_load_saved_model);
  LOAD(xc_graph_free);
  LOAD(xc_graph_num_inputs);
  LOAD(xc_graph_input_name);
  LOAD(xc_graph_input_dtype);
  LOAD(xc_graph_input_rank);
  LOAD(xc_graph_input_dims);
  LOAD(xc_graph_output_name);
  LOAD(xc_graph_run);
  LOAD(xc_graph_results_size);
  LOAD(xc_graph_results_get);
  LOAD(xc_graph_results_free);
  LOAD(xc_status_message);
  LOAD(xc_status_free);
  if (p_xc_graph_load_saved_model == NULL || p_xc_graph_run == NULL) return fail(argv[1], "is not the core library");

  char options[256] = "";
  if (argc == 4) snprintf(options, sizeof options, "signature=%s", argv[3]);
  xc_graph* graph = NULL;
  xc_status* status = p_xc_graph_load_saved_model(argv[2], options, &graph);
  if (status != NULL) {
    fail("load", p_xc_status_message(status));
    p_xc_status_free(status);
    return 2;
  }

  size_t count = p_xc_graph_num_inputs(graph);
  xc_tensor* inputs = calloc(count + 1, sizeof *inputs);
  int64_t(*dims)[8] = calloc(count + 1, sizeof *dims);
  for (size_t i = 0; i < count; ++i) {
    int rank = p_xc_graph_input_rank(graph, i);
    size_t bytes = element_size(p_xc_graph_input_dtype(graph, i));
    if (rank < 0 || rank > 8 || bytes == 0) return fail(p_xc_graph_input_name(graph, i), "is not fed by this example");
    printf("input %s: [", p_xc_graph_input_name(graph, i));
    for (int d = 0; d < rank; ++d) {
      int64_t size = p_xc_graph_input_dims(graph, i)[d];
      dims[i][d] = size < 0 ? 1 : size; /* sizes that may vary */
      bytes *= (size_t)dims[i][d];
      printf("%s%lld", d ? "," : "", (long long)dims[i][d]);
    }
    printf("]\n");
    inputs[i].dtype = p_xc_graph_input_dtype(graph, i);
    inputs[i].rank = rank;
    inputs[i].dims = dims[i];
    inputs[i].data = calloc(1, bytes + 1);
    inputs[i].bytes = bytes;
  }

  xc_graph_results* results = NULL;
  status = p_xc_graph_run(graph, inputs, count, &results);
  if (status != NULL) {
    fail("run", p_xc_status_message(status));
    p_xc_status_free(status);
    return 2;
  }
  for (size_t i = 0; i < p_xc_graph_results_size(results); ++i) {
    xc_tensor t = p_xc_graph_results_get(results, i);
    printf("output %s: %zu bytes", p_xc_graph_output_name(graph, i), t.bytes);
    if (t.dtype == 1 && t.bytes >= 4) printf(", first element %g", *(const float*)t.data);
    printf("\n");
  }

  p_xc_graph_results_free(results);
  for (size_t i = 0; i < count; ++i) free((void*)inputs[i].data);
  free(dims);
  free(inputs);
  p_xc_graph_free(graph);
  return 0;
}
