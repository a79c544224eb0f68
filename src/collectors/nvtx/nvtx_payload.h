/* Reads the payload of an event: a number in its attributes, or structs that a registered schema
 * describes. The structs belong to the application and are valid only during the call. Each scalar
 * and text is copied into a record of its own; arrays and other pointers are not read. Called by
 * nvtx_event.c. In-app: never exits, prints or blocks. */
#ifndef PW_NVTX_PAYLOAD_H
#define PW_NVTX_PAYLOAD_H

#include "collectors/nvtx/nvtx_name.h"

struct pw_nvtx_payload {
    uint8_t type; /* enum pw_payload */
    int64_t value;
};

/* Reads the payload in the attributes of an event. */
void pw_nvtx_payload_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                          const nvtxEventAttributes_t *event, struct pw_nvtx_payload *out);

/* Reads extended payloads and adds them to *out. A field that is marked as the event's message
 * replaces *name, which must not be NULL. */
void pw_nvtx_payload_extended(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                              const nvtxPayloadData_t *data, size_t count,
                              struct pw_nvtx_payload *out, struct pw_nvtx_name *name);

/* Register a schema or enumeration. Return its id; 0 when there is no room. */
uint64_t pw_nvtx_payload_schema(struct pw_nvtx_domain *domain, const nvtxPayloadSchemaAttr_t *attr);
uint64_t pw_nvtx_payload_enum(struct pw_nvtx_domain *domain, const nvtxPayloadEnumAttr_t *attr);

#endif
