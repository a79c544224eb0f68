/* Takes differences of the counters of each card, and keeps one rank's rows for each host; see
 * netcards.h. */
#include "aggregate/samples/netcards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/sort.h"

int pw_netcards_open(struct pw_netcard_reading *r, const struct pw_openfile *file)
{
    *r = (struct pw_netcard_reading){.input = file->input, .is_open = 1};
    return pw_cursor_open(&r->cursor, file, PW_TABLE_netcard);
}

void pw_netcards_close(struct pw_netcard_reading *r)
{
    if (r->is_open)
        pw_cursor_close(&r->cursor);
    r->is_open = 0;
}

static void read_next(struct pw_netcard_reading *r)
{
    const struct pw_row_netcard *row;
    do
        row = pw_cursor_next(&r->cursor);
    while (row && !pw_is_possible(row->time));
    r->has_coming = row != NULL;
    if (row)
        r->coming = *row;
}

/* Returns the card of a sample; a new one begins with it. NULL: there are too many. */
static struct pw_netcard *find(struct pw_netcard_reading *r, const struct pw_row_netcard *row)
{
    for (size_t i = 0; i < r->n; i++)
        if (strncmp(r->cards[i].last.card, row->card, sizeof(row->card)) == 0)
            return &r->cards[i];
    if (r->n == PW_NETCARDS_MOST)
        return NULL;
    r->cards[r->n] = (struct pw_netcard){*row, *row};
    return &r->cards[r->n++];
}

/* Returns the growth of a counter; -1: not known, as when the card was made anew. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before || !pw_is_possible(after) ? -1 : after - before;
}

/* The traffic of IP over InfiniBand counts in the port, too. */
static int is_in_port(const struct pw_netcard_reading *r, const struct pw_netcard *card)
{
    int has_ports = 0;
    for (size_t i = 0; i < r->n; i++)
        has_ports |= memchr(r->cards[i].last.card, '/', sizeof(r->cards[i].last.card)) != NULL;
    return has_ports && strncmp(card->last.card, "ib", 2) == 0 &&
           !memchr(card->last.card, '/', sizeof(card->last.card));
}

struct pw_netcard_sums pw_netcards_advance(struct pw_netcard_reading *r, int64_t local_ns)
{
    struct pw_netcard_sums sums = {-1, -1};
    if (!r->has_coming && !r->n)
        read_next(r);
    while (r->has_coming && r->coming.time <= local_ns) {
        struct pw_netcard *card = find(r, &r->coming);
        if (card)
            card->last = r->coming;
        read_next(r);
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct pw_netcard *card = &r->cards[i];
        const int64_t received = grown(card->first.recv_bytes, card->last.recv_bytes);
        const int64_t sent = grown(card->first.sent_bytes, card->last.sent_bytes);
        if (received < 0 || sent < 0 || is_in_port(r, card))
            continue;
        sums.recv_bytes = pw_sum(sums.recv_bytes < 0 ? 0 : sums.recv_bytes, received);
        sums.sent_bytes = pw_sum(sums.sent_bytes < 0 ? 0 : sums.sent_bytes, sent);
    }
    return sums;
}

static double per_second(int64_t count, int64_t ns)
{
    return count < 0 || ns <= 0 ? -1 : (double)count * 1e9 / (double)ns;
}

static struct pw_row_c_netcard make_row(const struct pw_input *input, const struct pw_netcard *card,
                                        int64_t span)
{
    const struct pw_row_netcard *a = &card->first, *b = &card->last;
    struct pw_row_c_netcard row = {
        .rank = (int32_t)input->rank,
        .span_ns = span,
        .recv_bytes = grown(a->recv_bytes, b->recv_bytes),
        .sent_bytes = grown(a->sent_bytes, b->sent_bytes),
        .recv_packets = grown(a->recv_packets, b->recv_packets),
        .sent_packets = grown(a->sent_packets, b->sent_packets),
        .errors = grown(a->errors, b->errors),
        .drops = grown(a->drops, b->drops),
    };
    row.recv_bytes_per_s = per_second(row.recv_bytes, span);
    row.sent_bytes_per_s = per_second(row.sent_bytes, span);
    memcpy(row.hostname, input->hostname, sizeof(row.hostname));
    memcpy(row.card, b->card, sizeof(row.card));
    return row;
}

int pw_netcards_add(struct pw_netcards *out, struct pw_netcard_reading *r, int64_t from,
                    int64_t until)
{
    r->n = 0;
    pw_cursor_rewind(&r->cursor);
    for (read_next(r); r->has_coming && r->coming.time <= until; read_next(r)) {
        struct pw_netcard *card = find(r, &r->coming);
        if (!card)
            continue;
        card->last = r->coming;
        if (r->coming.time <= from)
            card->first = r->coming;
    }
    struct pw_row_c_netcard *rows = realloc(out->rows, (out->n + r->n + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    out->rows = rows;
    for (size_t i = 0; i < r->n; i++)
        rows[out->n++] = make_row(r->input, &r->cards[i], until - from);
    return r->cursor.err;
}

/* By host, rank, and card. */
static int by_host(const void *a, const void *b)
{
    const struct pw_row_c_netcard *x = a, *y = b;
    const int order = strncmp(x->hostname, y->hostname, sizeof(x->hostname));
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strncmp(x->card, y->card, sizeof(x->card));
}

void pw_netcards_arrange(struct pw_netcards *cards, const struct pw_procs *procs)
{
    void *all;
    size_t kept = 0;
    const size_t n = pw_procs_allgather(procs, cards->rows, cards->n, sizeof(*cards->rows), &all);
    free(cards->rows);
    struct pw_row_c_netcard *rows = all;
    cards->rows = rows;
    pw_sort(rows, n, sizeof(*rows), by_host);
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_c_netcard *before = kept ? &rows[kept - 1] : NULL;
        if (!before || before->rank == rows[i].rank ||
            strncmp(before->hostname, rows[i].hostname, sizeof(rows[i].hostname)) != 0)
            rows[kept++] = rows[i];
    }
    cards->n = kept;
}

void pw_netcards_fini(struct pw_netcards *cards)
{
    free(cards->rows);
    *cards = (struct pw_netcards){0};
}
