/* What an application has registered of the layout of its payloads: copies, for it may unload the
 * code that they were in. In-app code. */
#ifndef PW_NVTX_SCHEMA_H
#define PW_NVTX_SCHEMA_H

#include "collectors/nvtx/nvtx_name.h"

struct pw_nvtx_field {
    uint64_t flags, type, detail; /* as registered */
    size_t offset;                /* in the payload, bytes */
    const struct pw_intern_entry *name;
};

struct pw_nvtx_item {
    uint64_t value;
    const struct pw_intern_entry *name;
};

struct pw_nvtx_schema {
    uint64_t id;
    const struct pw_intern_entry *name;
    struct pw_nvtx_schema *next;
    size_t size; /* of a payload, bytes; 0 not known */
    size_t n;    /* of one of these, the other is NULL: */
    const struct pw_nvtx_field *fields;
    const struct pw_nvtx_item *items; /* of an enumeration */
};

/* How a predefined type is read. */
struct pw_nvtx_type {
    uint8_t size;    /* bytes, 0: not read */
    uint8_t payload; /* enum pw_payload; PW_PAYLOAD_TEXT: a pointer to text, or a handle */
};

struct pw_nvtx_type pw_nvtx_type_of(uint64_t type);

/* NULL when it was not registered. */
const struct pw_nvtx_schema *pw_nvtx_schema_find(const struct pw_nvtx_domain *domain, uint64_t id);

#endif
