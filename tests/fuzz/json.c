/* See fuzz.h; of targets whose command writes JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

void fuzz_check_json(const char *path)
{
    json_error_t error;
    json_t *whole = json_load_file(path, 0, &error);
    if (!whole) {
        fprintf(stderr, "fuzz: %s, line %d: %s\n", path, error.line, error.text);
        abort();
    }
    json_decref(whole);
}
