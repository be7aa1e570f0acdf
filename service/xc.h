/* The C API of the core library: compile HLO, look at it, run it. Stable: functions and fields are only added.
 *
 * Every function that can fail returns an xc_status*: NULL for success, otherwise an error that the caller reads and
 * frees. No function aborts, throws or exits on bad input. Where memory runs out, the error is of code 8 (resource
 * exhausted); functions that return a pointer give NULL, and those that return numbers 0. All functions may be called
 * from any thread; an executable may be run by any number of threads at once. Strings are UTF-8; those returned belong
 * to the object asked unless it says otherwise. */
#ifndef XC_SERVICE_XC_H_
#define XC_SERVICE_XC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one with each addition. */
#define XC_API_VERSION 7
int xc_api_version(void);

/* Errors. */
typedef struct xc_status xc_status;
/* Codes are those of absl::StatusCode: 3 invalid argument, 5 not found, 8 resource exhausted, 12 unimplemented, … */
int xc_status_code(const xc_status* status);
const char* xc_status_message(const xc_status* status);
void xc_status_free(xc_status* status);

/* An array's element type (the numbers of PrimitiveType in HLO protos: 1 pred, 2 s8, …, 11 f32, 16 bf16) and
 * dimensions. */
typedef struct xc_shape {
  int element_type;
  int rank;
  const int64_t* dims;
  /* Order of dimensions in memory, minor first. */
  const int64_t* minor_to_major;
  /* Size of the array in bytes; types narrower than a byte take a byte per element. */
  size_t bytes;
} xc_shape;

typedef struct xc_executable xc_executable;

/* Compiles a module: HLO or StableHLO text, MLIR bytecode, a file of jax.export, or a binary or text HloModuleProto or
 * HloProto. `options` is NULL or lines of key=value:
 *   platform=cpu|interpreter   cpu=NAME   disabled_passes=A,B   until_pass=NAME   dump_to=DIRECTORY
 *   keep_texts=1   profile=1   compile_threads=N   cache_dir=DIRECTORY   cache_dir_bytes=N
 *   emulate=1: platform gpu runs on the emulator in place of a device
 *   gpu_libraries=0: platform gpu makes all matrix products by kernels of its own (docs/gpu.md)
 *   excess_precision=1: what is written in f16 or bf16 is computed in f32, with fewer roundings, as XLA does by default
 *   max_memory_bytes=N   max_instructions=N   compile_timeout_s=N: limits on the compilation; 0 or absent: none
 *   argument_shapes=[8,4],[8]: a shape for each argument, where StableHLO leaves sizes open (docs/stablehlo.md)
 *   max_nesting=N   max_call_depth=N   max_elided_bytes=N: limits on the text or message (docs/limits.md)
 * A module that was compiled before with the same options comes from the cache. With a cache directory (that of the
 * environment's XC_CACHE_DIR, if the options name none) it may have been compiled by another process: its code is
 * loaded from there, and new code is written there, up to N bytes (XC_CACHE_BYTES; 2 GiB). */
xc_status* xc_compile_hlo(const char* hlo, size_t size, const char* options, xc_executable** out);
/* The same, but once *cancel, which another thread sets, is not 0, it gives up soon with an error of code 1
 * (cancelled). Between its looks at the flag lies one pass over the module or the code generation of one part of it. */
xc_status* xc_compile_hlo_cancellable(const char* hlo, size_t size, const char* options, const int* cancel,
                                      xc_executable** out);
/* Loads a program that `xla compile` (or export() in Python) wrote: no compiler is needed, and libxcrt, which has none,
 * has this function, too. The file is mapped, and must not change meanwhile. Errors: 5 no such file; 3, 15 another
 * file, or a damaged one; 9 no code for this processor; 12 another version of the format, or it calls what is not here.
 * A file runs as code: load only what you trust. */
xc_status* xc_load_program(const char* path, xc_executable** out);
/* The same for bytes in memory, which must stay as long as the executable. */
xc_status* xc_load_program_bytes(const void* bytes, size_t size, xc_executable** out);
/* A compiled file may have its program for several sizes of the inputs. xc_load_program gives the first; how many there
 * are (1 for executables that no file is of); the program at sizes number `i`; and that for inputs of these sizes,
 * those of all inputs one after the other: input(0).dims[0], input(0).dims[1], …, input(1).dims[0], … Executables of
 * one file share its code and constants, and live independently of each other. Where sizes have no end, the last also
 * gives programs for sizes that are not counted, which run in pieces. Errors: 3 with the sizes that there are. */
size_t xc_executable_num_sizes(const xc_executable* executable);
xc_status* xc_executable_at_sizes(const xc_executable* executable, size_t i, xc_executable** out);
xc_status* xc_executable_for_sizes(const xc_executable* executable, const int64_t* sizes, size_t num_sizes,
                                   xc_executable** out);
void xc_executable_free(xc_executable* executable);

/* Code for modules of one origin at different sizes: one compilation serves those that differ in numbers alone. It
 * starts from `count` modules of the origin, two at least, in the forms and with the options of xc_compile_hlo; large
 * prime sizes, different from each other, say best what may differ. Executables that it gave may outlive it. */
typedef struct xc_general_code xc_general_code;
xc_status* xc_general_code_new(const char* const* samples, const size_t* sizes, size_t count, const char* options,
                               xc_general_code** out);
void xc_general_code_free(xc_general_code* general);
/* The executable of a module, for which nothing is compiled where the code serves it (*serves is 1); the first call
 * compiles the code. Whether it does is checked for each module; others (*serves is 0) are compiled as by
 * xc_compile_hlo. `cancel` as there, or NULL; so may `serves` be. */
xc_status* xc_general_code_compile(xc_general_code* general, const char* hlo, size_t size, const int* cancel,
                                   int* serves, xc_executable** out);
/* Why it did not serve the last module that it did not serve; "" if there is none. It belongs to the caller:
 * xc_string_free. */
char* xc_general_code_refusal(const xc_general_code* general);

/* Sizes to make samples for that code with: number `which`, from 0 on, for a function that has been called with `count`
 * sizes (of all arguments, one after the other) in each of `num_signatures` signatures, two at least, which stand one
 * after the other in `signatures`. `way`, from 0 on, is how they come about: each size that was another one by itself,
 * or by what all signatures have in common, such as halves and differences; with sizes as large as they please, or no
 * larger than they were. The function need not take such sizes. Errors: 11 there are no further ways, 12 this way is
 * none here. */
xc_status* xc_sample_sizes(const int64_t* signatures, size_t num_signatures, size_t count, int which, int way,
                           int64_t* out);

/* Inputs are the array leaves of the entry parameters in order, outputs those of the result. */
size_t xc_executable_num_inputs(const xc_executable* executable);
size_t xc_executable_num_outputs(const xc_executable* executable);
/* `i` must be less than the number; the pointers live as long as the executable. */
xc_shape xc_executable_input(const xc_executable* executable, size_t i);
xc_shape xc_executable_output(const xc_executable* executable, size_t i);
size_t xc_executable_temp_bytes(const xc_executable* executable);
size_t xc_executable_code_bytes(const xc_executable* executable);
/* 1 if its code came from a cache directory, 0 if this process compiled it. */
int xc_executable_was_loaded(const xc_executable* executable);
/* "optimized_hlo", "buffer_assignment", "plan", "llvm_ir", "asm", "pass_times", "cost" of an executable compiled with
 * keep_texts=1; "" if there is none. "cost" has a line for each instruction of the optimized entry computation: name,
 * opcode, FLOPs, transcendental functions, bytes read, bytes written. "evaluated" of any executable: a line
 * "OPCODE NAME: why" for each instruction that there is no code for. The string belongs to the caller: xc_string_free.
 */
char* xc_executable_text(const xc_executable* executable, const char* name);
void xc_string_free(char* string);

/* Runs with `threads` threads at most (0: all that the process may use). inputs[i] and outputs[i] hold the bytes of
 * input and output i; they may not overlap, but for an output that the module's input_output_alias puts into an input.
 */
xc_status* xc_executable_run(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                             void* const* outputs, size_t num_outputs, int threads);

/* Where the time of a program goes that was compiled with profile=1 (other code is as it would be without profiling).
 * Makes one run that does not count and then `runs` that do. */
typedef struct xc_profile xc_profile;
xc_status* xc_executable_profile(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                                 void* const* outputs, size_t num_outputs, int threads, int runs, xc_profile** out);
/* "trace": JSON that Perfetto opens. "table": a line for each kernel, library call and loop, the longest first. "json":
 * the table as JSON. "roofline": a picture, SVG. "" for other names. The string belongs to the caller: xc_string_free.
 */
char* xc_profile_text(const xc_profile* profile, const char* name);
/* Writes the trace: to a file, compressed if its name ends with .gz, or, if `path` is a directory or ends with a slash,
 * to where TensorBoard looks for it in a log directory. */
xc_status* xc_profile_write_trace(const xc_profile* profile, const char* path);
void xc_profile_free(xc_profile* profile);

/* Arrays on their way between the host program and a running one, first in, first out. */
typedef struct xc_queue xc_queue;
xc_queue* xc_queue_new(void);
void xc_queue_free(xc_queue* queue);
/* Appends a copy of an array's bytes (row-major, as in xc_executable_run). If there is no memory for it, that is the
 * error of every later xc_queue_pop of the queue and of every run that it feeds. */
void xc_queue_push(xc_queue* queue, const void* data, size_t bytes);
/* Bytes of the oldest array, or -1 if there is none. */
int64_t xc_queue_next_bytes(const xc_queue* queue);
/* Takes the oldest array, which must have `bytes` bytes. */
xc_status* xc_queue_pop(xc_queue* queue, void* data, size_t bytes);
/* xc_executable_run for programs with infeed and outfeed instructions, or with recv and send to the host: each takes
 * the next arrays of `infeed`, which must be there already, or appends to `outfeed`, one for each leaf of its shape.
 * Either may be NULL. The queues may be used by other threads meanwhile. */
xc_status* xc_executable_run_with_queues(const xc_executable* executable, const void* const* inputs, size_t num_inputs,
                                         void* const* outputs, size_t num_outputs, int threads, xc_queue* infeed,
                                         xc_queue* outfeed);

/* The process-wide cache of executables. */
typedef struct xc_cache_stats {
  int64_t entries, bytes, budget_bytes, hits, misses, waits, evictions;
  double compile_seconds;
  /* Of the misses in memory, those loaded from a cache directory; programs written there. */
  int64_t disk_hits, disk_writes;
} xc_cache_stats;
xc_cache_stats xc_cache_get_stats(void);
void xc_cache_clear(void);
void xc_cache_set_budget(int64_t bytes);

/* Custom calls of the caller's own. As in XLA, inputs are the leaves of the operands in order, and outputs those of the
 * result: a tuple, however deep, stands for its elements from left to right. A leaf is an array, in the memory order
 * that its shape names (operand_layout_constraints, or the default: last dimension innermost), or a token (element type
 * 17, rank 0), which has a place among the leaves and no bytes: its pointer is NULL. An output that
 * output_to_operand_aliasing joins with an input in the same layout is that input's memory: the pointers are equal, and
 * what is there at first is the input's value. Everything else is apart. Whatever api_version the instruction has, the
 * function is called as it was registered. */

/* Computes the outputs from the inputs and returns NULL, or a message that becomes the run's error and must live until
 * the thread's next call. It runs on any thread, several at once. `config` is the instruction's backend_config. */
typedef const char* (*xc_custom_call)(void* user_data, const void* const* inputs, const xc_shape* input_shapes,
                                      size_t num_inputs, void* const* outputs, const xc_shape* output_shapes,
                                      size_t num_outputs, const char* config);
/* Registers `function` for custom calls to `name`, for as long as the process lives. A name can be taken once. */
xc_status* xc_register_custom_call(const char* name, xc_custom_call function, void* user_data);

/* Functions written for one of XLA's untyped conventions, by API version: 1 (API_VERSION_ORIGINAL), 2
 * (STATUS_RETURNING) or 3 (STATUS_RETURNING_UNIFIED). `in` has a pointer per input; `out` is the output's memory, or
 * for a tuple, even of one element, an array with a pointer per output. A function fails by xc_call_status_fail, XLA's
 * XlaCustomCallStatusSetFailure; the message is copied. */
typedef struct xc_call_status xc_call_status;
void xc_call_status_fail(xc_call_status* status, const char* message, size_t size);
typedef void (*xc_untyped_call_1)(void* out, const void** in);
typedef void (*xc_untyped_call_2)(void* out, const void** in, xc_call_status* status);
typedef void (*xc_untyped_call_3)(void* out, const void** in, const char* config, size_t config_size,
                                  xc_call_status* status);
xc_status* xc_register_untyped_call(const char* name, void (*function)(void), int api_version);

/* The table of functions of a PJRT plugin (const PJRT_Api*), which lives as long as the process. */
const void* xc_pjrt_api(void);

/* Handlers of XLA's typed FFI (version 0.2 or 0.3 of its C API, xla/ffi/api/c_api.h), as jax.ffi's users write them.
 * Each is an XLA_FFI_Handler*; those of the stages instantiate, prepare and initialize may be NULL. `platform` is
 * "Host" or "cpu": handlers for others are accepted and never called, as are those for targets that the compiler has
 * itself. */
xc_status* xc_register_ffi_handler(const char* name, const char* platform, void* instantiate, void* prepare,
                                   void* initialize, void* execute);
/* Gives a type of handlers' states or of a run's data a number: *type_id if that is not 0, else a new one. `deleter`
 * may be NULL. */
xc_status* xc_register_ffi_type(const char* name, int64_t* type_id, void (*deleter)(void* object));
/* The XLA_FFI_Api* that handlers are called with; it lives as long as the process. */
const void* xc_ffi_api(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* XC_SERVICE_XC_H_ */
