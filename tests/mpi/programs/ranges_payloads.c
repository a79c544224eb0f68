/* Structs that ranges carry; see ranges.h. */
#include "ranges.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <string.h>

struct inner {
    int16_t small;
    double ratio;
};

struct outer {
    uint64_t bytes;
    struct inner inner;
    uint8_t colour;
    char text[8];
    const char *pointer;
    uint32_t array[3];
};

uint64_t register_schemas(nvtxDomainHandle_t domain)
{
    static const nvtxPayloadEnum_t colours[] = {{"red", 1, 0}, {"green", 2, 0}};
    const nvtxPayloadEnumAttr_t colour = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                       NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                       NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                          .entries = colours,
                                          .numEntries = 2,
                                          .sizeOfEnum = 1};
    const nvtxPayloadSchemaEntry_t inner[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT16, .name = "small"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "ratio"}};
    const uint64_t mask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    nvtxPayloadSchemaAttr_t a = {.fieldMask = mask,
                                 .name = "inner",
                                 .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                 .entries = inner,
                                 .numEntries = 2};
    uint64_t inner_id = nvtxPayloadSchemaRegister(domain, &a);
    uint64_t colour_id = nvtxPayloadEnumRegister(domain, &colour);
    check(inner_id && colour_id, "schemas are registered");
    const nvtxPayloadSchemaEntry_t outer[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE, .name = "bytes"},
        {.type = inner_id, .name = "inner", .offset = offsetof(struct outer, inner)},
        {.type = colour_id, .name = "colour", .offset = offsetof(struct outer, colour)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         .name = "text",
         .arrayOrUnionDetail = 8,
         .offset = offsetof(struct outer, text)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         .name = "pointer",
         .offset = offsetof(struct outer, pointer)},
        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
         .type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
         .name = "array",
         .arrayOrUnionDetail = 3,
         .offset = offsetof(struct outer, array)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "beyond", .offset = 4096},
        {.type = 999999999, .name = "of no known type"},
    };
    a.name = "outer";
    a.entries = outer;
    a.numEntries = sizeof(outer) / sizeof(outer[0]);
    return nvtxPayloadSchemaRegister(domain, &a);
}

void payloads(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
    check(nvtxDomainIsEnabled(domain), "the domain is enabled");
    uint64_t id = register_schemas(domain), number = 42;
    struct outer outer = {1 << 20, {-3, 0.25}, 2, "inside", "pointed to", {1, 2, 3}};
    nvtxPayloadData_t data[] = {{id, sizeof(outer), &outer},
                                {NVTX_PAYLOAD_ENTRY_TYPE_UINT64, sizeof(number), &number}};
    nvtxEventAttributes_t e = event("with a struct");
    e.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    e.reserved0 = 1;
    e.payload.ullValue = (uintptr_t)data;
    nvtxDomainRangePushEx(domain, &e);
    memset(&outer, 0xff, sizeof(outer)); /* it is read at once or never */
    nvtxDomainRangePop(domain);
    outer = (struct outer){.colour = 9};
    e.message.ascii = "with one number";
    e.payload.ullValue = (uintptr_t)&data[1];
    nvtxDomainRangePushEx(domain, &e);
    nvtxRangePopPayload(domain, data, 1);
    data[1].schemaId = 1 << 30; /* of no schema */
    nvtxDomainMarkEx(domain, &e);
    data[0].size = 4; /* less than the first field */
    e.payload.ullValue = (uintptr_t)&data[0];
    nvtxDomainMarkEx(domain, &e);
    e.payload.ullValue = 0;
    nvtxDomainMarkEx(domain, &e);
    nvtxRangePushPayload(domain, NULL, 3);
    nvtxDomainRangePop(domain);
    nvtxRangeId_t range = nvtxRangeStartPayload(domain, data, 0);
    nvtxRangeEndPayload(domain, range, NULL, 0);
    nvtxMarkPayload(domain, NULL, 0);
    check(nvtxPayloadSchemaRegister(domain, NULL) == 0, "no schema is no schema");
}
