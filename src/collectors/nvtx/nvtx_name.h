/* Texts that an application gives to NVTX, in any of its forms (ASCII, wide, registered): the ids
 * of names, and of domains and categories. Called by the other in-app files of this folder. In-app:
 * memory is the probe's own (rank/probe/arena.h) and is never given back. */
#ifndef PW_NVTX_NAME_H
#define PW_NVTX_NAME_H

#include "collectors/nvtx/nvtx_api.h"
#include "rank/probe/intern.h"

/* What a range is called. */
struct pw_nvtx_name {
    uint32_t id, shapes; /* of pw_probe_intern() */
    uint32_t sequence;   /* 1 + the number, 0 none */
    uint16_t kind;       /* enum pw_kind */
};

struct pw_nvtx_category;
struct pw_nvtx_schema;

/* One that was destroyed stays: ranges of it may be open. */
struct pw_nvtx_domain {
    const struct pw_intern_entry *name; /* NULL for the default domain */
    uint32_t key;                       /* see rank/probe/ranges.h */
    uint64_t plain_key;                 /* the same of a range with a name only */
    _Atomic uint32_t ncategories, nschemas;
    struct pw_nvtx_category *_Atomic categories; /* newest first */
    struct pw_nvtx_schema *_Atomic schemas;      /* newest first; see nvtx_payload.h */
    struct pw_nvtx_domain *_Atomic next;
};

/* A text seen for the first time at its address, or lately changed. */
void pw_nvtx_name_read(struct pw_thread *thread, const char *text, struct pw_nvtx_name *out);

/* `text` may be NULL. */
static inline void pw_nvtx_name_find(struct pw_thread *thread, const char *text,
                                     struct pw_nvtx_name *out)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    if (__builtin_expect(text && pw_name_is_recent(slot, text) && slot->kind, 1))
        *out = (struct pw_nvtx_name){.id = slot->entry->id, .kind = (uint16_t)(slot->kind - 1)};
    else
        pw_nvtx_name_read(thread, text, out);
}

/* The same of wide characters, and of what NVTX calls a message. */
void pw_nvtx_name_wide(struct pw_thread *thread, const wchar_t *text, struct pw_nvtx_name *out);
void pw_nvtx_name_message(struct pw_thread *thread, int32_t type, nvtxMessageValue_t message,
                          struct pw_nvtx_name *out);

/* The number of the step that a message names, -1 when it names none. */
int64_t pw_nvtx_message_step(int32_t type, nvtxMessageValue_t message);

/* UTF-8 of wide characters, cut to fit; its length. */
size_t pw_nvtx_name_narrow(const wchar_t *text, char *out, size_t size);

/* A handle for a text; needs no ring. It is the address of its entry; entries are aligned, and what
 * kind of range it is the name of is in the lowest bits. */
nvtxStringHandle_t pw_nvtx_name_register(const char *text);

enum { PW_NVTX_KIND_BITS = 7 };

static inline const struct pw_intern_entry *pw_nvtx_registered_entry(nvtxStringHandle_t handle)
{
    return (const void *)((uintptr_t)handle & ~(uintptr_t)PW_NVTX_KIND_BITS);
}

static inline enum pw_kind pw_nvtx_registered_kind(nvtxStringHandle_t handle)
{
    return (enum pw_kind)((uintptr_t)handle & PW_NVTX_KIND_BITS);
}

/* The domain of this name, made if need be; the default domain where there are too many. */
struct pw_nvtx_domain *pw_nvtx_domain_find(const char *name);

extern struct pw_nvtx_domain pw_nvtx_default_domain;

/* The domain of a handle. */
static inline struct pw_nvtx_domain *pw_nvtx_domain_of(nvtxDomainHandle_t handle)
{
    return handle ? (struct pw_nvtx_domain *)handle : &pw_nvtx_default_domain;
}

static inline uint32_t pw_nvtx_domain_name(struct pw_thread *thread,
                                           const struct pw_nvtx_domain *domain)
{
    return domain->name ? pw_name_use(thread, domain->name) : 0;
}

/* Names a category, for what comes. */
void pw_nvtx_category_set(struct pw_nvtx_domain *domain, uint32_t number, const char *name);

/* The id of the category's name, or of its number where it has none; 0 for category 0. */
uint32_t pw_nvtx_category_find(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                               uint32_t number);

#endif
