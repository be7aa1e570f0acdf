/* The C API for a host framework that runs graphs itself and hands its clusters over: rewrite a graph so that clusters
 * become launch nodes, and run those nodes on the host's own buffers. Part of the core library; the rules of
 * service/xc.h hold here. */
#ifndef XC_JIT_CAPI_XC_PLUGIN_H_
#define XC_JIT_CAPI_XC_PLUGIN_H_

#include "jit/capi/xc_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Settings, process-wide, as lines of key=value; docs/tensorflow.md lists them. At first they come from the environment
 * (XC_TF_<KEY in capitals>). Settings of clustering hold for graphs rewritten from then on. */
xc_status* xc_plugin_configure(const char* settings);
/* `changed` is called after each change of settings, on the thread that makes it. */
void xc_plugin_on_configure(void (*changed)(void));
/* All settings as lines of key=value. The string belongs to the caller: xc_string_free. */
char* xc_plugin_settings(void);

/* Rewrites a serialized GraphDef. `preserve` names the nodes that must be found under their name afterwards (and, as
 * "NODE:OUTPUT", results that are wanted), `fed` the tensors whose values the caller gives. *out is NULL if nothing
 * changes; otherwise the caller frees it with xc_string_free. */
xc_status* xc_plugin_rewrite(const char* graph_def, size_t size, const char* const* preserve, size_t num_preserve,
                             const char* const* fed, size_t num_fed, char** out, size_t* out_size);

/* The serialized cluster of one launch node, with all that was compiled for it. Equal clusters share one object. */
typedef struct xc_cluster xc_cluster;
xc_status* xc_cluster_create(const char* bytes, size_t size, const char* name, xc_cluster** out);
void xc_cluster_free(xc_cluster* cluster);

/* The cluster as a GraphDef that the host can run by itself: argument i is the placeholder `xla_arg_<i>`, result i the
 * node `xla_result_<i>`. Both strings live as long as the cluster. */
xc_status* xc_cluster_host_graph(xc_cluster* cluster, const char** bytes, size_t* size);

/* How a run gets its results' memory. Each function gets `context` first and says whether it worked. */
typedef struct xc_cluster_results {
  void* context;
  /* Memory of `bytes` bytes for result `result`. If `tentative`, the result must not be visible before commit(). */
  void* (*allocate)(void* context, int result, int dtype, const int64_t* dims, int rank, size_t bytes, int tentative);
  /* Result `result` is argument `argument`, or result `other`. */
  int (*forward)(void* context, int result, int argument);
  int (*share)(void* context, int result, int other);
  /* All tentative results are right. */
  int (*commit)(void* context);
} xc_cluster_results;

/* What became of a run. */
enum {
  XC_CLUSTER_RAN = 0,     /* the results are set */
  XC_CLUSTER_ON_HOST = 1, /* nothing was set: the host must run xc_cluster_host_graph's graph and report the time */
};

/* Runs the cluster on the arguments. `*ticket` is to be handed to xc_cluster_host_ran after a run on the host.
 * `threads` bounds the threads (0: as the settings say). An error is that of a host function or of memory. */
xc_status* xc_cluster_run(xc_cluster* cluster, const xc_tensor* args, size_t num_args,
                          const xc_cluster_results* results, int threads, int* outcome, void** ticket);
void xc_cluster_host_ran(xc_cluster* cluster, void* ticket, int64_t nanoseconds);

/* Notes once per message on standard error, where the settings do not forbid it. */
void xc_plugin_log(const char* message);
/* Whether functions of one launch are to run in the thread that calls them. */
int xc_plugin_caller_thread(void);

typedef struct xc_plugin_stats {
  /* Counts since the start. Of the ops that compute something in all graphs that came, how many are in clusters; sets
   * of shapes that were slower than the host's kernels; arguments of all launches. */
  int64_t graphs, clusters, launches, host_runs, compilations, failures;
  int64_t ops, clustered_ops, given_back, launch_arguments;
  /* Time inside xc_cluster_run, and the part of it in compiled code. */
  int64_t launch_nanoseconds, compiled_nanoseconds;
  double compile_seconds;
  int64_t pending_compilations;
  /* Of the launches, those with code for a larger batch than their arguments have; of the compilations, those that took
   * the place of such code for a batch size that came often. */
  int64_t shared_launches, own_codes;
} xc_plugin_stats;
xc_plugin_stats xc_plugin_get_stats(void);
/* Waits until no compilation is queued or running, at most `seconds`; whether that was reached. */
int xc_plugin_wait(double seconds);
/* What was clustered, compiled and left out, as "text" or "html". The string belongs to the caller: xc_string_free. */
char* xc_plugin_report(const char* format);
/* Records all launches from now on, and what happens inside of those whose code is compiled from now on. The second
 * function ends that, and gives a trace (JSON that Perfetto opens), which belongs to the caller: xc_string_free. */
void xc_plugin_profile_start(void);
char* xc_plugin_profile_stop(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* XC_JIT_CAPI_XC_PLUGIN_H_ */
