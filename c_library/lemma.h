#pragma once
/* Lemma for other languages: optimize, compare, compile and prove, on bytes. The interface is stable within a major version
 * (docs/library.md, "Versions"); functions and keys of options are only added.
 *
 * Every function may be called from several threads at once. Bytes that a function gives are the caller's, who gives
 * them back to lemma_free. An output that is not wanted may be null. Outputs are empty where the status does not say otherwise.
 * Nothing is printed, and no exception leaves a function.
 *
 * `options` is a JSON object in UTF-8 that ends with a zero byte, or null for none. A key that a function does not have is
 * LEMMA_BAD_INPUT. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lemma_code {
  LEMMA_OK = 0,
  LEMMA_INTERNAL_ERROR = 1, /* a fault of Lemma's */
  LEMMA_BAD_INPUT = 2,
  LEMMA_UNSUPPORTED = 3,  /* Lemma does not do this, or a limit was met */
  LEMMA_CHECK_FAILED = 4, /* models differ; not all rules are proved; no result passed its check */
  LEMMA_UNPROVED = 7      /* the result uses rules without proof */
} lemma_code;

typedef struct lemma_bytes {
  unsigned char* data; /* a zero byte follows them */
  size_t size;
} lemma_bytes;

/* "0.1.0". */
const char* lemma_version(void);

/* Makes it empty. */
void lemma_free(lemma_bytes* bytes);

/* A cheaper ONNX model that computes the same, as `lemma optimize` finds it; the model itself where there is none.
 * LEMMA_OK, LEMMA_UNPROVED and LEMMA_CHECK_FAILED give a result (of the last one, the model itself) and a report: the JSON of
 * `lemma optimize --json`. Otherwise `error` has one line. Costs are predicted, and ONNX Runtime is not asked.
 *
 * Options: "time_limit" (seconds, 20), "threads" (0: all processors), "strategy" and "rounding_class" (as on the command line),
 * "device" ("cpu"; a shipped name or a file), "rules" (folders; those of Lemma), "unproved" (text of rules that are used without
 * proof), "shapes" ("x:1,3,224,224" for each input whose sizes are fixed). */
lemma_code lemma_optimize(const void* model, size_t size, const char* options, lemma_bytes* result,
                          lemma_bytes* report, lemma_bytes* error);

/* Whether two ONNX models compute the same. LEMMA_OK: no difference was found; LEMMA_CHECK_FAILED: they differ. The
 * report is the JSON of `lemma compare --json`.
 *
 * Options: "time_limit" (seconds, 60), "threads", "samples", "seed", "shapes". */
lemma_code lemma_compare(const void* original, size_t original_size, const void* other,
                         size_t other_size, const char* options, lemma_bytes* report,
                         lemma_bytes* error);

/* Compiles a model for this processor into a new directory: a shared library with the weights beside it (docs/compile.md). It
 * needs a C++ compiler. The report is the JSON of `lemma compile --json`.
 *
 * Options: "name" (of files and functions), "threads", "shapes". */
lemma_code lemma_compile(const void* model, size_t size, const char* directory, const char* options,
                         lemma_bytes* report, lemma_bytes* error);

/* Proves or refutes rules, given as text (docs/rules.md). LEMMA_OK: all are proved, each twice; LEMMA_CHECK_FAILED: not all are.
 * Both give a report: a JSON object for each rule, on a line of its own, as `lemma rules verify --verdicts` writes it, and
 * certificates that lemma-check replays.
 *
 * Options: "threads", "axioms" (a folder; those of Lemma). */
lemma_code lemma_prove(const char* rules, const char* options, lemma_bytes* report,
                       lemma_bytes* certificates, lemma_bytes* error);

#ifdef __cplusplus
}
#endif
