/* JSON values from table rows and figures: what is not known becomes null, never NaN or -1. Called
 * by the JSON, HTML, comparison and live reports. Makes values only: writes nothing. */
#ifndef PW_REPORT_JSON_JSON_ROW_H
#define PW_REPORT_JSON_JSON_ROW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* An object with every field of the row; enumerations by name, comm_uid as "0x…", times and
 * bandwidths with their unit in the key. Negative and non-finite numbers, and bandwidths of 0, are
 * null. NULL when memory is short. */
json_t *pw_json_row(int table, const void *row);

/* `value`, or NULL, and `value` released, when making it `failed`. */
json_t *pw_json_or_null(json_t *value, int failed);

/* An array of `count` such objects. */
json_t *pw_json_rows(int table, const void *rows, size_t count);

/* null when the value is negative or no finite number. */
json_t *pw_json_int(int64_t value);
json_t *pw_json_real(double value);

/* At most `length` bytes; null for "". Invalid UTF-8 is replaced. */
json_t *pw_json_text(const char *text, size_t length);

#endif
