/* Sorts the ends by key and pairs each head with the tail before it; see arrows.h. */
#include "timeline/arrows.h"

#include <stdlib.h>

#include "core/hash.h"

enum { MOST_MESSAGES = 1 << 23 };

static int grow(void **rows, size_t *capacity, size_t n, size_t row_size)
{
    if (n < *capacity)
        return 0;
    size_t more = *capacity ? 2 * *capacity : 1024;
    void *fresh = realloc(*rows, more * row_size);
    if (!fresh)
        return -1;
    *rows = fresh;
    *capacity = more;
    return 0;
}

void pw_arrows_add(struct pw_arrows *arrows, const struct pw_arrow_end *end, size_t most)
{
    void *rows = arrows->ends;
    if (arrows->n >= most || grow(&rows, &arrows->capacity, arrows->n, sizeof(*end))) {
        arrows->left_out++;
        return;
    }
    arrows->ends = rows;
    arrows->ends[arrows->n++] = *end;
}

/* Sorts by key, and a tail before its heads. */
static int by_key(const void *a, const void *b)
{
    const struct pw_arrow_end *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->is_head != y->is_head)
        return x->is_head - y->is_head;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

int64_t pw_arrows_draw(struct pw_arrows *arrows, pw_arrow_drawer *draw, void *context)
{
    const struct pw_arrow_end *tail = NULL;
    int64_t drawn = 0;
    if (arrows->n)
        qsort(arrows->ends, arrows->n, sizeof(*arrows->ends), by_key);
    for (size_t i = 0; i < arrows->n; i++) {
        const struct pw_arrow_end *end = &arrows->ends[i];
        if (!end->is_head)
            tail = end;
        else if (tail && tail->key == end->key && tail->time <= end->time)
            draw(context, drawn++, tail, end);
    }
    return drawn;
}

void pw_arrows_fini(struct pw_arrows *arrows)
{
    free(arrows->ends);
    *arrows = (struct pw_arrows){0};
}

void pw_message_ends_add(struct pw_message_ends *messages, const struct pw_message_end *end)
{
    void *rows = messages->ends;
    if (messages->n >= MOST_MESSAGES ||
        grow(&rows, &messages->capacity, messages->n, sizeof(*end))) {
        messages->is_too_many = 1;
        return;
    }
    messages->ends = rows;
    messages->ends[messages->n++] = *end;
}

static int by_stream(const void *a, const void *b)
{
    const struct pw_message_end *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->end.is_head != y->end.is_head)
        return x->end.is_head - y->end.is_head;
    return (x->posted > y->posted) - (x->posted < y->posted);
}

void pw_message_ends_number(struct pw_message_ends *messages, struct pw_arrows *arrows, size_t most)
{
    uint64_t number = 0;
    if (messages->n)
        qsort(messages->ends, messages->n, sizeof(*messages->ends), by_stream);
    for (size_t i = 0; i < messages->n && !messages->is_too_many; i++) {
        struct pw_message_end *m = &messages->ends[i];
        int is_first = i == 0 || m[-1].stream != m->stream || m[-1].end.is_head != m->end.is_head;
        number = is_first ? 0 : number + 1;
        m->end.key = pw_hash_mix(m->stream, number);
        if (m->is_shown)
            pw_arrows_add(arrows, &m->end, most);
    }
    if (messages->is_too_many)
        arrows->left_out += messages->n;
    messages->n = 0;
    messages->is_too_many = 0;
}

void pw_message_ends_fini(struct pw_message_ends *messages)
{
    free(messages->ends);
    *messages = (struct pw_message_ends){0};
}
