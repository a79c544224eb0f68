/* Rows of tables that are put in order before they are written: records for sorter.h. */
#ifndef PW_IMPORT_ROWS_H
#define PW_IMPORT_ROWS_H

#include <string.h>

#include "core/tables.h"
#include "import/sorter.h"
#include "rank/file/rankfile.h"

/* A row behind its key. */
#define PW_KEYED_ROW(table)            \
    struct pw_keyed_##table {          \
        int64_t key[3];                \
        union {                        \
            struct pw_row_##table row; \
            int64_t whole;             \
        };                             \
    }

PW_KEYED_ROW(range);
PW_KEYED_ROW(step);
PW_KEYED_ROW(cuda_api);
PW_KEYED_ROW(cuda_sync);
PW_KEYED_ROW(memory);

/* What waits of calls and categories both have: their order. */
enum { PW_ROWS_MEMORY = 12 << 20, PW_ROWS_MEMORY_SMALL = 1 << 20 };

#endif
