/* Registers schemas and enumerations; see nvtx_schema.h. */
#include "collectors/nvtx/nvtx_schema.h"

#include <string.h>

#include "collectors/nvtx/nvtx_payload.h"
#include "rank/probe/arena.h"

enum { MOST_SCHEMAS = 512, MOST_FIELDS = 64, MOST_ITEMS = 1024, MOST_SIZE = 1 << 20 };

static const struct pw_intern_entry *keep(const char *text)
{
    size_t length = text ? pw_name_length(text, PW_LONGEST_NAME) : 0;
    return length ? pw_name_keep(text, length) : NULL;
}

struct pw_nvtx_type pw_nvtx_type_of(uint64_t type)
{
    static const struct pw_nvtx_type types[] = {
        [NVTX_PAYLOAD_ENTRY_TYPE_CHAR] = {sizeof(char), PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UCHAR] = {sizeof(char), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_SHORT] = {sizeof(short), PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_USHORT] = {sizeof(short), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT] = {sizeof(int), PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT] = {sizeof(int), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_LONG] = {sizeof(long), PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_ULONG] = {sizeof(long), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG] = {sizeof(long long), PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG] = {sizeof(long long), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT8] = {1, PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT8] = {1, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT16] = {2, PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT16] = {2, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT32] = {4, PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT32] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT64] = {8, PW_PAYLOAD_INT},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT64] = {8, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT] = {sizeof(float), PW_PAYLOAD_DOUBLE},
        [NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE] = {sizeof(double), PW_PAYLOAD_DOUBLE},
        [NVTX_PAYLOAD_ENTRY_TYPE_SIZE] = {sizeof(size_t), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS] = {sizeof(void *), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_WCHAR] = {sizeof(wchar_t), PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CHAR8] = {1, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CHAR16] = {2, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CHAR32] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_BYTE] = {1, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32] = {4, PW_PAYLOAD_DOUBLE},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64] = {8, PW_PAYLOAD_DOUBLE},
        [NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID] = {8, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64] = {8, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32] = {4, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64] = {8, PW_PAYLOAD_UINT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CSTRING] = {sizeof(char *), PW_PAYLOAD_TEXT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8] = {sizeof(char *), PW_PAYLOAD_TEXT},
        [NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32] = {sizeof(char *), PW_PAYLOAD_TEXT},
        [NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE] = {sizeof(void *), PW_PAYLOAD_TEXT},
    };
    return type < sizeof(types) / sizeof(types[0]) ? types[type] : (struct pw_nvtx_type){0, 0};
}

const struct pw_nvtx_schema *pw_nvtx_schema_find(const struct pw_nvtx_domain *domain, uint64_t id)
{
    const struct pw_nvtx_schema *schema = atomic_load(&domain->schemas);
    while (schema && schema->id != id)
        schema = schema->next;
    return schema;
}

static uint64_t publish(struct pw_nvtx_domain *domain, struct pw_nvtx_schema *schema, uint64_t id)
{
    static _Atomic uint64_t made;
    schema->id = id ? id : NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + atomic_fetch_add(&made, 1);
    schema->next = atomic_load(&domain->schemas);
    while (!atomic_compare_exchange_weak(&domain->schemas, &schema->next, schema))
        ;
    return schema->id;
}

/* Room for a schema and `bytes` of what it has; NULL when there is none. */
static struct pw_nvtx_schema *take_schema(struct pw_nvtx_domain *domain, size_t bytes)
{
    if (atomic_fetch_add(&domain->nschemas, 1) < MOST_SCHEMAS)
        return pw_arena_take(sizeof(struct pw_nvtx_schema) + bytes);
    atomic_fetch_sub(&domain->nschemas, 1);
    return NULL;
}

/* Bytes of an entry in the payload, 0 not known. */
static size_t entry_size(const struct pw_nvtx_domain *domain, const nvtxPayloadSchemaEntry_t *entry)
{
    const uint64_t behind = NVTX_PAYLOAD_ENTRY_FLAG_POINTER |
                            NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                            NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
    const struct pw_nvtx_type type = pw_nvtx_type_of(entry->type);
    if (entry->flags & behind)
        return sizeof(void *);
    const struct pw_nvtx_schema *nested = pw_nvtx_schema_find(domain, entry->type);
    size_t one = type.size ? type.size : nested ? nested->size : 0;
    uint64_t array = entry->flags & (7 << 4);
    if (type.payload == PW_PAYLOAD_TEXT && entry->arrayOrUnionDetail && array <= 1 << 4)
        return entry->arrayOrUnionDetail < MOST_SIZE ? entry->arrayOrUnionDetail : 0;
    if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
        return entry->arrayOrUnionDetail < MOST_SIZE ? one * entry->arrayOrUnionDetail : 0;
    return array ? 0 : one;
}

/* Offsets that were left out follow from the sizes and their natural alignment. */
static size_t place(const nvtxPayloadSchemaEntry_t *entry, size_t index, size_t after, size_t size,
                    size_t pack)
{
    if (entry->offset || index == 0)
        return entry->offset;
    size_t align = size >= 8 ? 8 : size == 0 || size == 3 || size > 4 ? 1 : size;
    align = pack && pack < align ? pack : align;
    return (after + align - 1) / align * align;
}

static void copy_entries(const struct pw_nvtx_domain *domain, const nvtxPayloadSchemaAttr_t *attr,
                         size_t pack, struct pw_nvtx_schema *schema, struct pw_nvtx_field *fields)
{
    size_t after = 0;
    for (size_t i = 0; i < schema->n; i++) {
        const nvtxPayloadSchemaEntry_t *entry = &attr->entries[i];
        size_t size = entry_size(domain, entry);
        fields[i] = (struct pw_nvtx_field){
            .flags = entry->flags,
            .type = entry->type,
            .detail = entry->arrayOrUnionDetail,
            .offset = place(entry, i, after, size, pack),
            .name = keep(entry->name),
        };
        after = fields[i].offset + size;
    }
    schema->size = schema->size ? schema->size : after;
    schema->fields = fields;
}

uint64_t pw_nvtx_payload_schema(struct pw_nvtx_domain *domain, const nvtxPayloadSchemaAttr_t *attr)
{
    const uint64_t mask = attr ? attr->fieldMask : 0;
    const uint64_t needed =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    uint64_t id = mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID ? attr->schemaId : 0;
    if ((mask & needed) != needed || !attr->entries)
        return 0;
    if (id && pw_nvtx_schema_find(domain, id))
        return id; /* each object that has it registers it */
    const size_t n = attr->numEntries < MOST_FIELDS ? attr->numEntries : MOST_FIELDS;
    struct pw_nvtx_schema *schema = take_schema(domain, n * sizeof(struct pw_nvtx_field));
    if (!schema)
        return 0;
    schema->n = n;
    schema->name = mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME ? keep(attr->name) : NULL;
    schema->size = mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE ? attr->payloadStaticSize : 0;
    copy_entries(domain, attr,
                 mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT ? attr->packAlign : 0, schema,
                 (struct pw_nvtx_field *)(schema + 1));
    return publish(domain, schema, id);
}

uint64_t pw_nvtx_payload_enum(struct pw_nvtx_domain *domain, const nvtxPayloadEnumAttr_t *attr)
{
    const uint64_t mask = attr ? attr->fieldMask : 0;
    const uint64_t needed =
        NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES;
    uint64_t id = mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID ? attr->schemaId : 0;
    if ((mask & needed) != needed || !attr->entries)
        return 0;
    if (id && pw_nvtx_schema_find(domain, id))
        return id;
    const size_t n = attr->numEntries < MOST_ITEMS ? attr->numEntries : MOST_ITEMS;
    struct pw_nvtx_schema *schema = take_schema(domain, n * sizeof(struct pw_nvtx_item));
    if (!schema)
        return 0;
    struct pw_nvtx_item *items = (struct pw_nvtx_item *)(schema + 1);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct pw_nvtx_item){attr->entries[i].value, keep(attr->entries[i].name)};
    schema->n = n;
    schema->items = items;
    schema->name = mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME ? keep(attr->name) : NULL;
    schema->size = mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE ? attr->sizeOfEnum : sizeof(int);
    return publish(domain, schema, id);
}
