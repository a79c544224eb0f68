/* Gives ids to the names of ranges, domains and categories that an application passes to NVTX in
 * any form (ASCII, wide, registered). Called by the other in-app files of this folder. In-app:
 * memory is the probe's own (rank/probe/arena.h) and is never given back. */
#ifndef PW_NVTX_NAME_H
#define PW_NVTX_NAME_H

/* NVTX's types and numbers, without its functions: these are in the application, and call the
 * probe's. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#include "rank/probe/intern.h"

/* The name of a range. */
struct pw_nvtx_name {
    uint32_t id, shapes; /* of pw_probe_intern() */
    uint32_t sequence;   /* 1 + the number, 0 none */
    uint16_t kind;       /* enum pw_kind */
};

struct pw_nvtx_category;
struct pw_nvtx_schema;

/* A domain. It is never freed, not even when the application destroys it, because it may have open
 * ranges. */
struct pw_nvtx_domain {
    const struct pw_intern_entry *name; /* NULL for the default domain */
    uint32_t key;                       /* see rank/probe/ranges.h */
    uint64_t plain_key;                 /* key of a range that has only a name (ranges.h) */
    _Atomic uint32_t ncategories, nschemas;
    struct pw_nvtx_category *_Atomic categories; /* newest first */
    struct pw_nvtx_schema *_Atomic schemas;      /* newest first; see nvtx_payload.h */
    struct pw_nvtx_domain *_Atomic next;
};

/* The slow path of pw_nvtx_name_find(): for a text that is not in the thread's cache, or has
 * changed. */
void pw_nvtx_name_read(struct pw_thread *thread, const char *text, struct pw_nvtx_name *out);

/* Fills *out for a text, which may be NULL. */
static inline void pw_nvtx_name_find(struct pw_thread *thread, const char *text,
                                     struct pw_nvtx_name *out)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    if (__builtin_expect(text && pw_name_is_recent(slot, text) && slot->kind, 1))
        *out = (struct pw_nvtx_name){.id = slot->entry->id, .kind = (uint16_t)(slot->kind - 1)};
    else
        pw_nvtx_name_read(thread, text, out);
}

/* As pw_nvtx_name_find(), for an NVTX message, which has wide characters or one of these types. */
void pw_nvtx_name_message(struct pw_thread *thread, int32_t type, nvtxMessageValue_t message,
                          struct pw_nvtx_name *out);

/* Returns the number of the step that a message names; -1: none. */
int64_t pw_nvtx_message_step(int32_t type, nvtxMessageValue_t message);

/* Converts wide characters to UTF-8, cut to `size`. Returns the length. */
size_t pw_nvtx_name_narrow(const wchar_t *text, char *out, size_t size);

/* Returns a handle for a text; needs no ring. The handle is the address of the text's entry; the
 * lowest bits, which are free because entries are aligned, have the kind of ranges with this
 * name. */
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

/* Returns the domain of this name, and creates it if it is new; the default domain when there are
 * too many. */
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

/* Names a category, for later events. */
void pw_nvtx_category_set(struct pw_nvtx_domain *domain, uint32_t number, const char *name);

/* Returns the id of the category's name, or of its number when it has no name; 0 for category 0. */
uint32_t pw_nvtx_category_find(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                               uint32_t number);

#endif
