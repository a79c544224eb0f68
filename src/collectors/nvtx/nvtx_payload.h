/* What is attached to a range: a number in its attributes, or structs that a registered schema
 * describes. They belong to the application and are valid only during the call: scalars and texts
 * are copied field by field, as records of their own; arrays, and what other pointers point to, are
 * not read. Called by nvtx_range.c and nvtx_extension.c. In-app: never exits, prints or blocks. */
#ifndef PW_NVTX_PAYLOAD_H
#define PW_NVTX_PAYLOAD_H

#include "collectors/nvtx/nvtx_name.h"

struct pw_nvtx_payload {
    uint8_t type; /* enum pw_payload */
    int64_t value;
};

/* Attached by the attributes of an event. */
void pw_nvtx_payload_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                          const nvtxEventAttributes_t *event, struct pw_nvtx_payload *out);

/* The same of extended payloads, beside what *out says already. A field that is the event's message
 * replaces *name (not NULL). */
void pw_nvtx_payload_extended(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                              const nvtxPayloadData_t *data, size_t count,
                              struct pw_nvtx_payload *out, struct pw_nvtx_name *name);

/* The id of the schema or enumeration, 0 when there is no room for it. */
uint64_t pw_nvtx_payload_schema(struct pw_nvtx_domain *domain, const nvtxPayloadSchemaAttr_t *attr);
uint64_t pw_nvtx_payload_enum(struct pw_nvtx_domain *domain, const nvtxPayloadEnumAttr_t *attr);

#endif
