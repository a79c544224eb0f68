/* Reads payloads; see nvtx_payload.h. */
#include "collectors/nvtx/nvtx_payload.h"

#include <string.h>

#include "collectors/nvtx/nvtx_name.h"
#include "rank/probe/arena.h"

/* The layouts of payloads that the application has registered. They are copies, because the
 * application may unload the code that has the originals. In-app code. */

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
    size_t n;    /* number of fields or items; one of the two arrays is NULL */
    const struct pw_nvtx_field *fields;
    const struct pw_nvtx_item *items; /* of an enumeration */
};

/* Size and meaning of a predefined type. */
struct pw_nvtx_type {
    uint8_t size;    /* bytes, 0: not read */
    uint8_t payload; /* enum pw_payload; PW_PAYLOAD_TEXT: a pointer to text, or a handle */
};

enum { MOST_SCHEMAS = 512, MOST_SCHEMA_FIELDS = 64, MOST_ITEMS = 1024, MOST_SIZE = 1 << 20 };

static const struct pw_intern_entry *keep(const char *text)
{
    size_t length = text ? pw_name_length(text, PW_LONGEST_NAME) : 0;
    return length ? pw_name_keep(text, length) : NULL;
}

static struct pw_nvtx_type pw_nvtx_type_of(uint64_t type)
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

/* Returns the schema with this id, or NULL. */
static const struct pw_nvtx_schema *pw_nvtx_schema_find(const struct pw_nvtx_domain *domain,
                                                        uint64_t id)
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

/* Returns room for a schema followed by `n` entries of `bytes` each; NULL when memory is short or
 * there are too many schemas. */
static struct pw_nvtx_schema *take_schema(struct pw_nvtx_domain *domain, size_t n, size_t bytes)
{
    struct pw_nvtx_schema *schema = NULL;
    if (atomic_fetch_add(&domain->nschemas, 1) < MOST_SCHEMAS)
        schema = pw_arena_take(sizeof(struct pw_nvtx_schema) + n * bytes);
    else
        atomic_fetch_sub(&domain->nschemas, 1);
    if (schema)
        schema->n = n;
    return schema;
}

/* The fields that registrations of schemas and of enumerations have in common. */
struct registration {
    bool is_whole; /* all required attributes are there */
    uint64_t id;   /* 0: the probe chooses one */
    size_t n;
    const char *name;
};
#define REGISTRATION(attr, mask, BIT, most)                                                  \
    ((struct registration){.is_whole = (mask & BIT##ENTRIES) && (mask & BIT##NUM_ENTRIES) && \
                                       attr->entries,                                        \
                           .id = mask & BIT##SCHEMA_ID ? attr->schemaId : 0,                 \
                           .n = !(mask & BIT##NUM_ENTRIES) ? 0                               \
                                : attr->numEntries < most  ? attr->numEntries                \
                                                           : most,                            \
                           .name = mask & BIT##NAME ? attr->name : NULL})

/* Creates an empty schema with room for its entries. Returns NULL when there is no room, or when
 * another object has registered the same id before: the first registration is used. Sets r->id to
 * the id that the registration returns. */
static struct pw_nvtx_schema *begin_schema(struct pw_nvtx_domain *domain, struct registration *r,
                                           size_t entry_bytes)
{
    if (r->is_whole && r->id && pw_nvtx_schema_find(domain, r->id))
        return NULL;
    struct pw_nvtx_schema *schema = r->is_whole ? take_schema(domain, r->n, entry_bytes) : NULL;
    if (schema)
        schema->name = keep(r->name);
    else
        r->id = 0;
    return schema;
}

/* Returns the bytes of an entry in the payload; 0: not known. */
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

/* Returns the offset of an entry. When none was given, it follows from the sizes and natural
 * alignment of the entries before. */
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
    struct registration r =
        REGISTRATION(attr, mask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_, MOST_SCHEMA_FIELDS);
    struct pw_nvtx_schema *schema = begin_schema(domain, &r, sizeof(struct pw_nvtx_field));
    if (!schema)
        return r.id;
    schema->size = mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE ? attr->payloadStaticSize : 0;
    copy_entries(domain, attr,
                 mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT ? attr->packAlign : 0, schema,
                 (struct pw_nvtx_field *)(schema + 1));
    return publish(domain, schema, r.id);
}

uint64_t pw_nvtx_payload_enum(struct pw_nvtx_domain *domain, const nvtxPayloadEnumAttr_t *attr)
{
    const uint64_t mask = attr ? attr->fieldMask : 0;
    struct registration r = REGISTRATION(attr, mask, NVTX_PAYLOAD_ENUM_ATTR_FIELD_, MOST_ITEMS);
    struct pw_nvtx_schema *schema = begin_schema(domain, &r, sizeof(struct pw_nvtx_item));
    if (!schema)
        return r.id;
    struct pw_nvtx_item *items = (struct pw_nvtx_item *)(schema + 1);
    for (size_t i = 0; i < r.n; i++)
        items[i] = (struct pw_nvtx_item){attr->entries[i].value, keep(attr->entries[i].name)};
    schema->items = items;
    schema->size = mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE ? attr->sizeOfEnum : sizeof(int);
    return publish(domain, schema, r.id);
}

enum { MOST_DATA = 16, MOST_DEPTH = 4, MOST_FIELDS = 64 };

/* State while the payloads of one event are read. */
struct reading {
    struct pw_thread *thread;
    const struct pw_nvtx_domain *domain;
    const struct pw_nvtx_schema *schema; /* the innermost */
    struct pw_nvtx_name *name;           /* of the event; may be NULL */
    int64_t id;                          /* 0 before the first field */
    int n;
};

static int64_t next_id(void)
{
    static _Atomic int64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

static void record_field(struct reading *r, const struct pw_intern_entry *field, uint8_t type,
                         int64_t value)
{
    uint32_t schema_id = pw_name_use(r->thread, r->schema ? r->schema->name : NULL);
    uint32_t field_id = pw_name_use(r->thread, field);
    if (r->n++ >= MOST_FIELDS)
        return;
    r->id = r->id ? r->id : next_id();
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&r->thread->ring, now, PW_LOST_RANGE);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_NVTX_PAYLOAD,
        .op = type,
        .start = now,
        .end = now,
        .payload = {.id = r->id, .schema = schema_id, .field = field_id, .value = value},
    };
    pw_probe_commit_record(r->thread, record);
}

static uint32_t text_id(struct pw_thread *thread, const char *text, size_t most)
{
    size_t length = strnlen(text, most < PW_LONGEST_NAME ? most : PW_LONGEST_NAME);
    return length ? pw_name_use(thread, pw_name_keep(text, length)) : 0;
}

/* Reads an integer of 1, 2, 4 or 8 bytes; returns 0 for other sizes. */
static int64_t read_integer(const char *at, size_t size, bool is_signed)
{
    uint64_t value = 0;
    if (size > sizeof(value))
        return 0;
    memcpy(&value, at, size);
    int unused = (int)(sizeof(value) - size) * 8;
    return is_signed && unused < 64 ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static int64_t read_double(const char *at, size_t size)
{
    float single = 0;
    double value = 0;
    int64_t bits;
    if (size == sizeof(single)) {
        memcpy(&single, at, sizeof(single));
        value = single;
    } else {
        memcpy(&value, at, sizeof(value));
    }
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Returns the id of the text that a field points to. The pointer cannot be checked: the schema says
 * that it is valid. */
static uint32_t read_pointer(struct pw_thread *thread, const char *at, uint64_t type)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof(pointer));
    struct pw_nvtx_name name = {0};
    nvtxMessageValue_t message = {.ascii = pointer};
    if (!pointer)
        return 0;
    if (type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        pw_nvtx_name_message(thread, NVTX_MESSAGE_TYPE_REGISTERED, message, &name);
        return name.id;
    }
    if (type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32) {
        char narrow[PW_LONGEST_NAME + 1];
        pw_nvtx_name_narrow(pointer, narrow, sizeof(narrow));
        return text_id(thread, narrow, sizeof(narrow));
    }
    return text_id(thread, pointer, SIZE_MAX);
}

/* Reads a value of a predefined type; the caller has checked that its bytes are within the
 * payload. */
static int64_t read_value(struct pw_thread *thread, const char *at, uint64_t type)
{
    const struct pw_nvtx_type what = pw_nvtx_type_of(type);
    if (what.payload == PW_PAYLOAD_DOUBLE)
        return read_double(at, what.size);
    if (what.payload == PW_PAYLOAD_TEXT)
        return read_pointer(thread, at, type);
    return read_integer(at, what.size, what.payload == PW_PAYLOAD_INT);
}

static void read_enum(struct reading *r, const struct pw_nvtx_field *field,
                      const struct pw_nvtx_schema *items, const char *at)
{
    uint64_t value = (uint64_t)read_integer(at, items->size, false);
    for (size_t i = 0; i < items->n; i++)
        if (items->items[i].value == value && items->items[i].name) {
            record_field(r, field->name, PW_PAYLOAD_TEXT,
                         pw_name_use(r->thread, items->items[i].name));
            return;
        }
    record_field(r, field->name, PW_PAYLOAD_INT, read_integer(at, items->size, true));
}

/* Reads a text inside the payload, of fixed length or up to its NUL. Returns false when the field
 * is no text. */
static bool read_embedded(struct reading *r, const struct pw_nvtx_field *field, const char *at,
                          size_t left)
{
    const uint64_t array = field->flags & (7 << 4);
    const bool is_text = field->type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING ||
                         field->type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8 ||
                         (field->type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR && array);
    size_t most = left;
    if (!is_text || (field->flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER))
        return false;
    if (array == 0 || array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
        most = field->detail < left ? field->detail : left;
    else if (array != NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED || field->detail)
        return false;
    if (most == 0)
        return false;
    record_field(r, field->name, PW_PAYLOAD_TEXT, text_id(r->thread, at, most));
    return true;
}

static void read_message(struct reading *r, const struct pw_nvtx_field *field, const char *at)
{
    if (!(field->flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) || !r->name ||
        pw_nvtx_type_of(field->type).payload != PW_PAYLOAD_TEXT)
        return;
    nvtxMessageValue_t message;
    memcpy(&message, at, sizeof(message));
    pw_nvtx_name_message(r->thread,
                         field->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE
                             ? NVTX_MESSAGE_TYPE_REGISTERED
                         : field->type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32
                             ? NVTX_MESSAGE_TYPE_UNICODE
                             : NVTX_MESSAGE_TYPE_ASCII,
                         message, r->name);
}

static void read_schema(struct reading *r, const struct pw_nvtx_schema *schema, const char *base,
                        size_t size, int depth);

static void read_field(struct reading *r, const struct pw_nvtx_field *field, const char *base,
                       size_t size, int depth)
{
    const uint64_t unread = 7 << 4 | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                            NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
    if (field->offset >= size)
        return;
    const char *at = base + field->offset;
    size_t left = size - field->offset;
    if (read_embedded(r, field, at, left) || (field->flags & unread))
        return;
    const struct pw_nvtx_type what = pw_nvtx_type_of(field->type);
    if ((field->flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) && what.payload != PW_PAYLOAD_TEXT)
        return;
    if (what.size) {
        if (what.size > left)
            return;
        read_message(r, field, at);
        record_field(r, field->name, what.payload, read_value(r->thread, at, field->type));
        return;
    }
    const struct pw_nvtx_schema *nested = pw_nvtx_schema_find(r->domain, field->type);
    if (nested && nested->items && nested->size <= left)
        read_enum(r, field, nested, at);
    else if (nested && nested->fields && depth < MOST_DEPTH)
        read_schema(r, nested, at, nested->size && nested->size < left ? nested->size : left,
                    depth + 1);
}

static void read_schema(struct reading *r, const struct pw_nvtx_schema *schema, const char *base,
                        size_t size, int depth)
{
    const struct pw_nvtx_schema *outer = r->schema;
    r->schema = schema;
    for (size_t i = 0; i < schema->n && r->n < MOST_FIELDS; i++)
        read_field(r, &schema->fields[i], base, size, depth);
    r->schema = outer;
}

/* Reads a payload that is a single value of a predefined type. Returns false when it is not. */
static bool read_single(struct reading *r, const nvtxPayloadData_t *data,
                        struct pw_nvtx_payload *out)
{
    const struct pw_nvtx_type what = pw_nvtx_type_of(data->schemaId);
    if (!what.size)
        return false;
    if (data->schemaId == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING ||
        data->schemaId == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8) {
        out->type = PW_PAYLOAD_TEXT;
        out->value = text_id(r->thread, data->payload, data->size);
    } else if (data->size >= what.size) {
        out->type = what.payload;
        out->value = read_value(r->thread, data->payload, data->schemaId);
    }
    return true;
}

void pw_nvtx_payload_extended(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                              const nvtxPayloadData_t *data, size_t count,
                              struct pw_nvtx_payload *out, struct pw_nvtx_name *name)
{
    struct reading r = {.thread = thread, .domain = domain, .name = name};
    r.id = out->type == PW_PAYLOAD_FIELDS ? out->value : 0;
    struct pw_nvtx_payload single = {0};
    count = data && count <= MOST_DATA ? count : 0;
    for (size_t i = 0; i < count; i++) {
        if (!data[i].payload)
            continue;
        if (data[i].schemaId < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
            if (read_single(&r, &data[i], &single) && single.type && count > 1)
                record_field(&r, NULL, single.type, single.value);
            continue;
        }
        const struct pw_nvtx_schema *schema = pw_nvtx_schema_find(domain, data[i].schemaId);
        size_t size = data[i].size == SIZE_MAX && schema ? schema->size : data[i].size;
        if (schema && schema->fields && size != SIZE_MAX)
            read_schema(&r, schema, data[i].payload, size, 1);
    }
    if (r.id)
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_FIELDS, r.id};
    else if (single.type)
        *out = single;
}

void pw_nvtx_payload_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                          const nvtxEventAttributes_t *event, struct pw_nvtx_payload *out)
{
    *out = (struct pw_nvtx_payload){PW_PAYLOAD_NONE, 0};
    switch (event->payloadType) {
    case NVTX_PAYLOAD_UNKNOWN:
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_UINT, event->payload.llValue};
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_INT, event->payload.llValue};
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_DOUBLE, event->payload.llValue};
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_UINT, event->payload.uiValue};
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        *out = (struct pw_nvtx_payload){PW_PAYLOAD_INT, event->payload.iValue};
        break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
        *out = (struct pw_nvtx_payload){
            PW_PAYLOAD_DOUBLE, read_double((const char *)&event->payload.fValue, sizeof(float))};
        break;
    case NVTX_PAYLOAD_TYPE_EXT:
        pw_nvtx_payload_extended(
            thread, domain,
            (const nvtxPayloadData_t *)(uintptr_t)event->payload.ullValue, /* NVTX passes extended
                                                                            * payloads as a pointer
                                                                            * there */
            (size_t)event->reserved0, out, NULL);
        break;
    default:
        break;
    }
}
