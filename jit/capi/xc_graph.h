/* The C API of the embedded host runtime: load a GraphDef or a SavedModel, look at its inputs and outputs, run it, free
 * it. Part of the core library beside service/xc.h, whose rules hold here: errors are xc_status objects, nothing
 * aborts, any thread. */
#ifndef XC_JIT_CAPI_XC_GRAPH_H_
#define XC_JIT_CAPI_XC_GRAPH_H_

#include "service/xc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xc_graph xc_graph;
typedef struct xc_graph_results xc_graph_results;

/* One element of a string tensor. */
typedef struct xc_bytes {
  const char* data;
  size_t size;
} xc_bytes;

/* A dense tensor in row-major order. `dtype` is TensorFlow's DataType number (1 float32, 3 int32, 7 string, 9 int64, 10
 * bool, ...). `data` holds `bytes` bytes; of a string tensor it points to an array of xc_bytes. */
typedef struct xc_tensor {
  int dtype;
  int rank;
  const int64_t* dims;
  const void* data;
  size_t bytes;
} xc_tensor;

/* Loads a GraphDef. `options` is NULL or lines of key=value:
 *   mode=jit|host   platform=cpu|interpreter   inputs=x:0,y:0   outputs=Identity:0   threads=N   text=1 (a textual one)
 *   min_cluster_size=N   allow=Op,Op   deny=Op,Op   policy=atonce|lazy|background (when clusters are compiled)
 *   max_signatures=N (of clusters whose shapes change more often, the host runs further ones)
 *   buckets=0|1 (whether code for a larger batch may serve calls of smaller ones, where that is exact; 1)
 *   targets=train,step (nodes that every run runs for what they do alone)   initializers=init (nodes run once, now)
 * Without inputs and outputs: all placeholders, and all results that no node uses. */
xc_status* xc_graph_load(const char* graph_def, size_t size, const char* options, xc_graph** out);
/* Loads a signature of a SavedModel directory, with the variables of its checkpoint. Inputs and outputs have the
 * signature's names, in their alphabetical order. Options as above but for inputs, outputs, targets,
 * initializers and text; and
 *   signature=serving_default   tag=serve */
xc_status* xc_graph_load_saved_model(const char* directory, const char* options, xc_graph** out);
void xc_graph_free(xc_graph* graph);

size_t xc_graph_num_inputs(const xc_graph* graph);
size_t xc_graph_num_outputs(const xc_graph* graph);
/* Names live as long as the graph; `i` must be less than the number. */
const char* xc_graph_input_name(const xc_graph* graph, size_t i);
const char* xc_graph_output_name(const xc_graph* graph, size_t i);
int xc_graph_input_dtype(const xc_graph* graph, size_t i);
int xc_graph_output_dtype(const xc_graph* graph, size_t i);
/* The rank of an input, or -1 if the graph does not say; its sizes, -1 where they may vary (NULL without a rank). */
int xc_graph_input_rank(const xc_graph* graph, size_t i);
const int64_t* xc_graph_input_dims(const xc_graph* graph, size_t i);

/* Runs the graph: one tensor per input, in order. May be called by any number of threads at once. */
xc_status* xc_graph_run(xc_graph* graph, const xc_tensor* inputs, size_t num_inputs, xc_graph_results** out);
size_t xc_graph_results_size(const xc_graph_results* results);
/* The tensor lives as long as the results. */
xc_tensor xc_graph_results_get(const xc_graph_results* results, size_t i);
void xc_graph_results_free(xc_graph_results* results);

/* Clusters, and why every other op is in none. The string belongs to the caller: xc_string_free. */
char* xc_graph_explain(const xc_graph* graph);

typedef struct xc_graph_stats {
  int64_t clusters, compilations, cache_hits, fallbacks;
  double compile_seconds;
} xc_graph_stats;
xc_graph_stats xc_graph_get_stats(const xc_graph* graph);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* XC_JIT_CAPI_XC_GRAPH_H_ */
