/* Keeps a queue for each channel; it holds either sends or receives, never both; see channels.h. */
#include "aggregate/match/channels.h"

#include <errno.h>
#include <stdlib.h>

#include "core/grow.h"

enum { NOBODY = -1 };

struct pw_channel {
    uint64_t comm_uid;
    int32_t src, dst, tag, window;
    int32_t receives;    /* 1: receives wait; 0: sends do */
    int32_t first, last; /* of the queue; first NOBODY: it is empty */
};

struct pw_waiting {
    struct pw_endpoint endpoint;
    int32_t next; /* next in the queue of the channel, or in the list of free entries */
};

struct pw_channels pw_channels_make(pw_channel_match *match, pw_channel_alone *alone, void *context)
{
    return (struct pw_channels){.match = match,
                                .alone = alone,
                                .context = context,
                                .impossible_ns = INT64_MAX,
                                .first_free = NOBODY};
}

static int is_same(const void *items, int32_t item, const void *key)
{
    const struct pw_channel *channel = (const struct pw_channel *)items + item;
    const struct pw_endpoint *endpoint = key;
    return channel->src == endpoint->src && channel->dst == endpoint->dst &&
           channel->tag == endpoint->tag && channel->window == endpoint->window &&
           channel->comm_uid == endpoint->comm_uid;
}

static uint32_t hash_of(uint64_t comm_uid, int32_t src, int32_t dst, int32_t tag, int32_t window)
{
    uint64_t pair = (uint64_t)(uint32_t)src << 32 | (uint32_t)dst;
    uint64_t which = (uint64_t)(uint32_t)window << 32 | (uint32_t)tag;
    return (uint32_t)pw_hash_mix(pw_hash_mix(comm_uid, pair), which);
}

/* Makes room for one more of n items. Returns the array; NULL when memory is short, or there are
 * INT32_MAX items. */
static void *make_room(void *v, int32_t n, size_t *capacity, size_t size)
{
    return n == INT32_MAX ? NULL : pw_grow(v, (size_t)n, size, capacity);
}

/* Returns the endpoint's channel, which it makes if needed; NULL when memory is short. */
static struct pw_channel *find_channel(struct pw_channels *c, const struct pw_endpoint *endpoint)
{
    uint32_t hash =
        hash_of(endpoint->comm_uid, endpoint->src, endpoint->dst, endpoint->tag, endpoint->window);
    struct pw_channel *v = make_room(c->v, c->n, &c->capacity, sizeof(*v));
    c->v = v ? v : c->v;
    if (!v || pw_hash_reserve(&c->by_key))
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&c->by_key, hash, is_same, c->v, endpoint);
    if (slot->item == PW_HASH_NONE) {
        c->v[c->n] = (struct pw_channel){.comm_uid = endpoint->comm_uid,
                                         .src = endpoint->src,
                                         .dst = endpoint->dst,
                                         .tag = endpoint->tag,
                                         .window = endpoint->window,
                                         .first = NOBODY,
                                         .last = NOBODY};
        pw_hash_take(&c->by_key, slot, hash, c->n++);
    }
    return &c->v[slot->item];
}

static int push(struct pw_channels *c, struct pw_channel *channel,
                const struct pw_endpoint *endpoint, int receives)
{
    int32_t at = c->first_free;
    if (at == NOBODY) {
        struct pw_waiting *endpoints =
            make_room(c->endpoints, c->nendpoints, &c->endpoints_capacity, sizeof(*c->endpoints));
        if (!endpoints)
            return -ENOMEM;
        c->endpoints = endpoints;
        at = c->nendpoints++;
    } else {
        c->first_free = c->endpoints[at].next;
    }
    c->endpoints[at] = (struct pw_waiting){*endpoint, NOBODY};
    if (channel->first == NOBODY)
        channel->first = at;
    else
        c->endpoints[channel->last].next = at;
    channel->last = at;
    channel->receives = receives;
    c->waiting++;
    return 0;
}

/* Removes the first endpoint of the queue. The result is valid until the next push(). */
static const struct pw_endpoint *pop(struct pw_channels *c, struct pw_channel *channel)
{
    struct pw_waiting *first = &c->endpoints[channel->first];
    int32_t at = channel->first;
    channel->first = first->next;
    first->next = c->first_free;
    c->first_free = at;
    c->waiting--;
    return &first->endpoint;
}

static int is_too_early(const struct pw_channels *c, const struct pw_endpoint *receive,
                        const struct pw_endpoint *send)
{
    return c->impossible_ns != INT64_MAX && receive->at.leave < send->at.enter &&
           send->at.enter - receive->at.leave > c->impossible_ns;
}

int pw_channels_add(struct pw_channels *c, const struct pw_endpoint *endpoint, int receives)
{
    struct pw_channel *channel = find_channel(c, endpoint);
    if (!channel)
        return -ENOMEM;
    while (channel->first != NOBODY && channel->receives && !receives &&
           is_too_early(c, &c->endpoints[channel->first].endpoint, endpoint))
        c->alone(c->context, pop(c, channel), 1);
    if (channel->first == NOBODY || channel->receives == receives)
        return push(c, channel, endpoint, receives);
    if (receives && is_too_early(c, endpoint, &c->endpoints[channel->first].endpoint)) {
        c->alone(c->context, endpoint, 1);
        return 0;
    }
    const struct pw_endpoint *other = pop(c, channel);
    c->match(c->context, receives ? other : endpoint, receives ? endpoint : other);
    return 0;
}

void pw_channels_end(struct pw_channels *c, const int64_t *ends, int64_t time)
{
    int32_t kept = 0;
    pw_hash_clear(&c->by_key);
    for (int32_t i = 0; i < c->n; i++) {
        struct pw_channel *channel = &c->v[i];
        int32_t other = channel->receives ? channel->src : channel->dst;
        int over = ends[other] < time || time == INT64_MAX;
        while (channel->first != NOBODY && over)
            c->alone(c->context, pop(c, channel), channel->receives);
        if (channel->first == NOBODY)
            continue;
        uint32_t hash =
            hash_of(channel->comm_uid, channel->src, channel->dst, channel->tag, channel->window);
        c->v[kept] = *channel;
        pw_hash_take(&c->by_key, pw_hash_free_slot(&c->by_key, hash), hash, kept++);
    }
    c->n = kept;
}

void pw_channels_fini(struct pw_channels *c)
{
    pw_hash_fini(&c->by_key);
    free(c->v);
    free(c->endpoints);
}
