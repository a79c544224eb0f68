/* What every unit test needs: cmocka with the headers that it wants before it, and a directory of
 * its own to write in. */
#ifndef PW_TESTS_UNIT_H
#define PW_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

enum { UNIT_PATH = 4096 };

/* cmocka set-up and tear-down: *state is the path of a fresh directory, gone afterwards with all
 * that is in it. */
int unit_dir_create(void **state);
int unit_dir_destroy(void **state);
#define UNIT_IN_DIR(test) cmocka_unit_test_setup_teardown(test, unit_dir_create, unit_dir_destroy)

/* "<directory of state>/<name>" in `out`, which is returned. */
const char *unit_path(char out[UNIT_PATH], void **state, const char *name);

/* Writes `size` bytes as the new file `path`, with `mode`. */
void unit_write(const char *path, const void *bytes, size_t size, unsigned mode);

/* What is written to the stream is returned when it is closed; the caller frees it. One at a time.
 */
FILE *unit_open_text(void);
char *unit_close_text(void);

/* Deterministic random bits: the same sequence for the same seed on every machine. */
uint64_t unit_random(uint64_t *seed);

/* Uniform in (0, 1), and standard normal. */
double unit_uniform(uint64_t *seed);
double unit_normal(uint64_t *seed);

#endif
