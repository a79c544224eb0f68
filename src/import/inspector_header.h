/* What records of NCCL Inspector say of the communicator and the process that they are of, and
 * whose log a file is. */
#ifndef PW_IMPORT_INSPECTOR_HEADER_H
#define PW_IMPORT_INSPECTOR_HEADER_H

#include "import/formats.h"
#include "import/jsonobject.h"

struct pw_inspector_header {
    char id[32], name[64], hostname[64]; /* of the communicator; of the host */
    int64_t rank, nranks;                /* in the communicator; -1: not told */
    int64_t dump_ns;                     /* when the record was written; 0: not told */
};

/* Takes what the record has. Newer logs say it once before the records that it is of. 1: it has
 * any. */
int pw_inspector_header_read(const struct pw_json_object *record, struct pw_inspector_header *out);

/* The rank is that of the largest communicator. See struct pw_import_format. */
int pw_inspector_look(const char *path, struct pw_import_head *out);

#endif
