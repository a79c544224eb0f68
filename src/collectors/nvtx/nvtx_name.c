/* Names, domains and categories; see nvtx_name.h. */
#include "collectors/nvtx/nvtx_name.h"

#include <stdio.h>
#include <string.h>

#include "collectors/nvtx/nvtx_label.h"
#include "core/text.h"
#include "rank/probe/arena.h"
#include "rank/probe/ranges.h"

enum { MOST_DOMAINS = 1024, MOST_CATEGORIES = 256, MOST_WIDE = 1024 };
static_assert(MOST_DOMAINS < (1 << PW_RANGE_TYPE_SHIFT) / 2, "a domain's key is below the type");

struct pw_nvtx_category {
    uint32_t number;
    const struct pw_intern_entry *name;
    struct pw_nvtx_category *next;
};

struct pw_nvtx_domain pw_nvtx_default_domain = {
    .key = PW_KEY_NVTX_FIRST,
    .plain_key = PW_RANGE_PLAIN_KEY(PW_KEY_NVTX_FIRST, PW_REC_NVTX, 0),
};

/* ---- names ---- */

static const struct pw_intern_entry *keep(const char *text, size_t length)
{
    if (length > PW_LONGEST_NAME)
        length = pw_name_length(text, PW_LONGEST_NAME);
    return length ? pw_name_keep(text, length) : NULL;
}

void pw_nvtx_name_read(struct pw_thread *thread, const char *text, struct pw_nvtx_name *out)
{
    *out = (struct pw_nvtx_name){.kind = PW_KIND_USER};
    if (!text)
        return;
    const struct pw_nvtx_label label = pw_nvtx_label_read(text, strnlen(text, PW_LABEL_MOST));
    const struct pw_intern_entry *entry = keep(text, label.name_length);
    out->kind = (uint16_t)label.kind;
    out->sequence = (uint32_t)(label.sequence + 1);
    out->id = pw_name_use(thread, entry);
    if (label.shapes_length)
        out->shapes = pw_name_use(thread, pw_name_keep(label.shapes, label.shapes_length));
    if (entry && !label.is_part)
        pw_name_remember(pw_name_slot(thread, text), text, entry, (uint32_t)label.kind + 1);
}

size_t pw_nvtx_name_narrow(const wchar_t *text, char *out, size_t size)
{
    size_t used = 0;
    for (; text && *text && used + PW_UTF8_MOST < size; text++)
        used += pw_utf8_encode((uint32_t)*text, out + used);
    out[used] = '\0';
    return used;
}

static void read_wide(struct pw_thread *thread, const wchar_t *text, struct pw_nvtx_name *out)
{
    char narrow[MOST_WIDE];
    pw_nvtx_name_narrow(text, narrow, sizeof(narrow));
    pw_nvtx_name_read(thread, narrow, out);
}

nvtxStringHandle_t pw_nvtx_name_register(const char *text)
{
    size_t length = text ? strnlen(text, PW_LABEL_MOST) : 0;
    const struct pw_intern_entry *entry = keep(text, length);
    if (!entry)
        return NULL;
    uintptr_t kind = (uintptr_t)pw_nvtx_label_read(text, length).kind;
    return (nvtxStringHandle_t)((uintptr_t)entry | kind);
}

static void read_registered(struct pw_thread *thread, nvtxStringHandle_t handle,
                            struct pw_nvtx_name *out)
{
    if (__builtin_expect(pw_nvtx_registered_kind(handle) == PW_KIND_STEP, 0))
        pw_nvtx_name_read(thread, pw_nvtx_registered_entry(handle)->bytes, out);
    else
        *out = (struct pw_nvtx_name){.id = pw_name_use(thread, pw_nvtx_registered_entry(handle)),
                                     .kind = (uint16_t)pw_nvtx_registered_kind(handle)};
}

int64_t pw_nvtx_message_step(int32_t type, nvtxMessageValue_t message)
{
    char narrow[MOST_WIDE];
    const char *text = NULL;
    if (type == NVTX_MESSAGE_TYPE_ASCII) {
        text = message.ascii;
    } else if (type == NVTX_MESSAGE_TYPE_REGISTERED &&
               pw_nvtx_registered_kind(message.registered) == PW_KIND_STEP) {
        text = pw_nvtx_registered_entry(message.registered)->bytes;
    } else if (type == NVTX_MESSAGE_TYPE_UNICODE && message.unicode &&
               pw_nvtx_label_may_be_step((uint32_t)message.unicode[0])) {
        pw_nvtx_name_narrow(message.unicode, narrow, sizeof(narrow));
        text = narrow;
    }
    return text && pw_nvtx_label_may_be_step((unsigned char)text[0])
               ? pw_nvtx_label_step(text, strnlen(text, PW_LABEL_MOST))
               : -1;
}

void pw_nvtx_name_message(struct pw_thread *thread, int32_t type, nvtxMessageValue_t message,
                          struct pw_nvtx_name *out)
{
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        pw_nvtx_name_find(thread, message.ascii, out);
        break;
    case NVTX_MESSAGE_TYPE_UNICODE:
        read_wide(thread, message.unicode, out);
        break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
        read_registered(thread, message.registered, out);
        break;
    default:
        *out = (struct pw_nvtx_name){.kind = PW_KIND_USER};
        break;
    }
}

/* ---- domains ---- */

/* Returns the domain of this name, or the last domain of the chain. */
static struct pw_nvtx_domain *walk(struct pw_nvtx_domain *from, const struct pw_intern_entry *name)
{
    for (;;) {
        struct pw_nvtx_domain *next = atomic_load(&from->next);
        if (!next || from->name == name)
            return from;
        from = next;
    }
}

struct pw_nvtx_domain *pw_nvtx_domain_find(const char *name)
{
    static _Atomic uint32_t ndomains;
    const struct pw_intern_entry *entry = keep(name, name ? strnlen(name, PW_LABEL_MOST) : 0);
    struct pw_nvtx_domain *fresh = NULL, *last = &pw_nvtx_default_domain, *end = NULL;
    while (entry) {
        last = walk(last, entry);
        if (last->name == entry)
            return last;
        if (!fresh && atomic_load(&ndomains) < MOST_DOMAINS &&
            (fresh = pw_arena_take(sizeof(*fresh)))) {
            fresh->name = entry;
            fresh->key = PW_KEY_NVTX_FIRST + 1 + atomic_fetch_add(&ndomains, 1);
            fresh->plain_key = PW_RANGE_PLAIN_KEY(fresh->key, PW_REC_NVTX, entry->id);
        }
        if (!fresh)
            break;
        end = NULL;
        if (atomic_compare_exchange_strong(&last->next, &end, fresh))
            return fresh;
    }
    return &pw_nvtx_default_domain;
}

/* ---- categories ---- */

static const struct pw_intern_entry *find_category(const struct pw_nvtx_domain *domain,
                                                   uint32_t number)
{
    for (const struct pw_nvtx_category *c = atomic_load(&domain->categories); c; c = c->next)
        if (c->number == number)
            return c->name;
    return NULL;
}

static void add_category(struct pw_nvtx_domain *domain, uint32_t number,
                         const struct pw_intern_entry *name)
{
    if (atomic_fetch_add(&domain->ncategories, 1) >= MOST_CATEGORIES) {
        atomic_fetch_sub(&domain->ncategories, 1);
        return;
    }
    struct pw_nvtx_category *c = pw_arena_take(sizeof(*c));
    if (!c)
        return;
    c->number = number;
    c->name = name;
    c->next = atomic_load(&domain->categories);
    while (!atomic_compare_exchange_weak(&domain->categories, &c->next, c))
        ;
}

void pw_nvtx_category_set(struct pw_nvtx_domain *domain, uint32_t number, const char *name)
{
    const struct pw_intern_entry *entry = keep(name, name ? strnlen(name, PW_LABEL_MOST) : 0);
    if (entry && find_category(domain, number) != entry)
        add_category(domain, number, entry);
}

uint32_t pw_nvtx_category_find(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                               uint32_t number)
{
    if (number == 0)
        return 0;
    const struct pw_intern_entry *name = find_category(domain, number);
    if (!name) {
        char text[16];
        int length = snprintf(text, sizeof(text), "%u", (unsigned)number);
        name = pw_name_keep(text, (size_t)length);
        if (name)
            add_category(domain, number, name);
    }
    return pw_name_use(thread, name);
}
