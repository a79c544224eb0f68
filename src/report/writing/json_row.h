/* Makes JSON values from table rows and figures: unknown values become null, never NaN or -1.
 * Called by the JSON, HTML, comparison and live reports. Writes nothing. */
#ifndef PW_REPORT_WRITING_JSON_ROW_H
#define PW_REPORT_WRITING_JSON_ROW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pw_field;

enum { PW_JSON_KEY = 64 };

/* The key of a field: its name, with the unit where the name lacks it. Returns `out`. */
const char *pw_json_key(const struct pw_field *field, char out[PW_JSON_KEY]);

/* Returns an object with every field of the row: enumerations by name, comm_uid as "0x…", times and
 * bandwidths with the unit in the key. Negative and non-finite numbers, and bandwidths of 0, become
 * null. NULL when memory is short. */
json_t *pw_json_row(int table, const void *row);

/* Returns `value`; if `failed`, releases `value` and returns NULL. */
json_t *pw_json_or_null(json_t *value, int failed);

/* Returns an array of `count` such objects. */
json_t *pw_json_rows(int table, const void *rows, size_t count);

/* The same, but null for more than `most` rows. */
json_t *pw_json_rows_up_to(size_t most, int table, const void *rows, size_t count);

/* Return the number; null when it is negative or not finite. */
json_t *pw_json_int(int64_t value);
json_t *pw_json_real(double value);

/* Returns the text, at most `length` bytes; null for "". Invalid UTF-8 is replaced. */
json_t *pw_json_text(const char *text, size_t length);

#endif
