/* Finds who is missing in the operations of dumps; see missing.h. */
#include "analysis/missing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "core/search.h"
#include "core/sort.h"

/* An operation in which ranks wait: a collective by communicator and number, or the messages of one
 * rank to or from another. */
struct operation {
    const struct pw_row_c_open_call *call; /* of the first rank that waits */
    size_t first, n;                       /* its rows */
    size_t of[PW_REACH_CUT_DUMP + 1];      /* number of rows by role */
    int is_mismatched;                     /* waiting ranks called different functions */
    int is_unlike;                         /* or the same with different sizes or types */
    size_t stuck; /* ranks that did not reach it because of an operation that others have ended */
};

struct search {
    struct pw_missing_input *in;
    struct operation *ops;
    size_t nops;
    struct pw_row_c_hang *rows;
    size_t n, capacity;
    uint8_t *roles; /* of each rank of the job; the last is that of all others */
    int is_short;   /* memory is short */
};

static int by_uid_and_rank(const void *a, const void *b)
{
    const struct pw_missing_member *x = a, *y = b;
    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int comm_by_uid_and_rank(const void *a, const void *b)
{
    const struct pw_missing_comm *x = a, *y = b;
    return by_uid_and_rank(&(struct pw_missing_member){x->uid, x->rank},
                           &(struct pw_missing_member){y->uid, y->rank});
}

static int is_collective(const struct pw_row_c_open_call *call)
{
    return pw_op_info(call->op)->cls == PW_CLASS_COLL;
}

/* Whether both are parts of one collective. Without a number, that may be of the same function. */
static int is_same(const struct pw_row_c_open_call *a, const struct pw_row_c_open_call *b)
{
    return is_collective(a) && is_collective(b) && a->comm_uid == b->comm_uid && a->seq == b->seq &&
           (a->seq >= 0 || a->op == b->op);
}

static size_t first_call(const struct search *s, int64_t rank)
{
    return pw_search(s->in->calls, s->in->ncalls, PW_SEARCH_KEY(struct pw_row_c_open_call, rank),
                     rank);
}

static int has_call(const struct search *s, int64_t rank)
{
    const size_t at = first_call(s, rank);
    return at < s->in->ncalls && s->in->calls[at].rank == rank;
}

/* The call of the rank in this collective; NULL: it has none. */
static const struct pw_row_c_open_call *call_in(const struct search *s, int64_t rank,
                                                const struct pw_row_c_open_call *wanted)
{
    for (size_t i = first_call(s, rank); i < s->in->ncalls && s->in->calls[i].rank == rank; i++)
        if (is_collective(&s->in->calls[i]) && s->in->calls[i].comm_uid == wanted->comm_uid &&
            s->in->calls[i].seq == wanted->seq)
            return &s->in->calls[i];
    return NULL;
}

/* Whether the other side of a message waits for it, too: then nobody is missing. */
static int has_partner(const struct search *s, const struct pw_row_c_open_call *call)
{
    const uint16_t wanted = call->op == PW_OP_Send ? PW_OP_Recv : PW_OP_Send;
    for (size_t i = first_call(s, call->peer);
         call->peer >= 0 && i < s->in->ncalls && s->in->calls[i].rank == call->peer; i++)
        if (s->in->calls[i].op == wanted && s->in->calls[i].peer == call->rank &&
            s->in->calls[i].comm_uid == call->comm_uid)
            return 1;
    return 0;
}

/* Whether an earlier call of the rank stands for this one: only the first collective of a
 * communicator that has not ended holds the rank, and the messages to a rank are told once. */
static int is_behind_another(const struct search *s, size_t at)
{
    const struct pw_row_c_open_call *call = &s->in->calls[at];
    for (size_t i = at; i-- > 0 && s->in->calls[i].rank == call->rank;) {
        const struct pw_row_c_open_call *other = &s->in->calls[i];
        if (other->comm_uid != call->comm_uid || is_collective(other) != is_collective(call))
            continue;
        if (is_collective(call) || (other->op == call->op && other->peer == call->peer))
            return 1;
    }
    return 0;
}

int pw_missing_is_alike(const struct pw_missing_size *a, const struct pw_missing_size *b)
{
    return (a->count < 0 || b->count < 0 || a->count == b->count) &&
           (!a->datatype[0] || !b->datatype[0] || strncmp(a->datatype, b->datatype, 16) == 0);
}

static void add_row(struct search *s, struct operation *op, int64_t rank, enum pw_reach role,
                    const struct pw_row_c_open_call *call)
{
    if (s->n == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 64;
        void *more = realloc(s->rows, capacity * sizeof(*s->rows));
        if (!more) {
            s->is_short = 1;
            return;
        }
        s->rows = more;
        s->capacity = capacity;
    }
    struct pw_row_c_hang *row = &s->rows[s->n++];
    *row = (struct pw_row_c_hang){
        .rank = (int32_t)rank,
        .role = (uint8_t)role,
        .op = call->op,
        .source = call->source,
        .comm_uid = call->comm_uid,
        .seq = call->seq,
        .peer = is_collective(call) ? -1 : op->call->peer,
        .count = -1,
    };
    memcpy(row->comm_name, call->comm_name, sizeof(row->comm_name));
    if (role == PW_REACH_WAITING && is_collective(call)) {
        row->count = call->count;
        memcpy(row->datatype, call->datatype, sizeof(row->datatype));
        op->is_unlike |=
            call->seq >= 0 &&
            !pw_missing_is_alike(&(struct pw_missing_size){call->count, call->datatype},
                                 &(struct pw_missing_size){op->call->count, op->call->datatype});
    }
    op->n++;
    op->of[role]++;
    op->is_mismatched |= call->op != op->call->op && call->seq >= 0;
}

/* Adds a rank that is not known to have reached the operation. */
static void add_absent(struct search *s, struct operation *op, int64_t rank)
{
    const uint8_t dump = (size_t)rank < s->in->nranks ? s->in->dumps[rank] : PW_DUMP_NONE;
    add_row(s, op, rank,
            dump == PW_DUMP_NONE    ? PW_REACH_NO_DUMP
            : dump == PW_DUMP_EMPTY ? PW_REACH_NO_OPERATIONS
            : dump == PW_DUMP_CUT   ? PW_REACH_CUT_DUMP
            : has_call(s, rank)     ? PW_REACH_HELD
                                    : PW_REACH_MISSING,
            op->call);
}

/* Whether the rank has gone past this collective. */
static int is_past(const struct search *s, int64_t rank, const struct pw_row_c_open_call *call)
{
    const struct pw_missing_comm key = {call->comm_uid, rank, 0};
    const struct pw_missing_comm *found = s->in->ncomms ? bsearch(&key, s->in->comms, s->in->ncomms,
                                                                  sizeof(key), comm_by_uid_and_rank)
                                                        : NULL;
    return found && found->reached > call->seq;
}

static size_t first_member(const struct search *s, uint64_t uid)
{
    size_t low = 0, high = s->in->nmembers;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->in->members[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows of a collective. Where its members are not known, only those of ranks that wait. A rank
 * that has enqueued it behind one of the same communicator that has not ended is held by that. */
static void add_collective(struct search *s, struct operation *op)
{
    const struct pw_row_c_open_call *call = op->call;
    const struct pw_missing_member *members = s->in->members;
    size_t at = call->seq < 0 ? s->in->nmembers : first_member(s, call->comm_uid), found = 0;
    for (; at < s->in->nmembers && members[at].uid == call->comm_uid; at++) {
        if (found++ && members[at].rank == members[at - 1].rank)
            continue;
        const struct pw_row_c_open_call *own = call_in(s, members[at].rank, call);
        if (own && is_behind_another(s, (size_t)(own - s->in->calls)))
            add_row(s, op, members[at].rank, PW_REACH_HELD, op->call);
        else if (own)
            add_row(s, op, members[at].rank, PW_REACH_WAITING, own);
        else if (!is_past(s, members[at].rank, call))
            add_absent(s, op, members[at].rank);
        else
            add_row(s, op, members[at].rank, PW_REACH_ENDED, op->call);
    }
    for (size_t i = 0; i < s->in->ncalls && !found; i++)
        if (is_same(&s->in->calls[i], call) && !is_behind_another(s, i))
            add_row(s, op, s->in->calls[i].rank, PW_REACH_WAITING, &s->in->calls[i]);
}

static void add_messages(struct search *s, struct operation *op)
{
    add_row(s, op, op->call->rank, PW_REACH_WAITING, op->call);
    if (op->call->peer >= 0 && s->in->begun && s->in->begun[op->call - s->in->calls])
        add_row(s, op, op->call->peer, PW_REACH_ENDED, op->call);
    else if (op->call->peer >= 0)
        add_absent(s, op, op->call->peer);
}

static int is_known(const struct search *s, const struct pw_row_c_open_call *call)
{
    for (size_t i = 0; i < s->nops && is_collective(call); i++)
        if (is_same(s->ops[i].call, call))
            return 1;
    return 0;
}

/* ---- the order ---- */

static int class_of(const struct operation *op)
{
    if (op->is_mismatched || op->of[PW_REACH_MISSING] || (op->is_unlike && !op->of[PW_REACH_HELD]))
        return 0;
    if (op->of[PW_REACH_NO_OPERATIONS] || op->of[PW_REACH_NO_DUMP] || op->of[PW_REACH_CUT_DUMP])
        return 1;
    if (op->stuck)
        return op->stuck == op->of[PW_REACH_HELD] ? 2 : 3;
    return op->of[PW_REACH_HELD] ? 6 : op->of[PW_REACH_ENDED] ? 4 : 5;
}

/* Which roles the rank has, in any operation. */
static uint8_t *roles_of(const struct search *s, int64_t rank)
{
    return rank >= 0 && (size_t)rank < s->in->nranks ? &s->roles[rank] : &s->roles[s->in->nranks];
}

/* A rank that waits in an operation that others have ended: its device is stuck, and it is what the
 * others wait for. */
enum { STUCK = 1 << 7 };

static void find_roles(struct search *s)
{
    for (size_t i = 0; i < s->nops; i++)
        for (size_t k = s->ops[i].first; k < s->ops[i].first + s->ops[i].n; k++) {
            const int role = s->rows[k].role;
            *roles_of(s, s->rows[k].rank) |=
                (uint8_t)(1 << role |
                          (s->ops[i].of[PW_REACH_ENDED] && role == PW_REACH_WAITING ? STUCK : 0));
        }
}

static void count_stuck(struct search *s)
{
    for (size_t i = 0; i < s->nops; i++)
        for (size_t k = s->ops[i].first; k < s->ops[i].first + s->ops[i].n; k++)
            s->ops[i].stuck +=
                s->rows[k].role == PW_REACH_HELD && *roles_of(s, s->rows[k].rank) & STUCK ? 1 : 0;
}

static int by_importance(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    const int one = class_of(x), other = class_of(y);
    if (one != other)
        return one < other ? -1 : 1;
    if (x->of[PW_REACH_WAITING] != y->of[PW_REACH_WAITING])
        return x->of[PW_REACH_WAITING] > y->of[PW_REACH_WAITING] ? -1 : 1;
    if (x->call->rank != y->call->rank)
        return x->call->rank < y->call->rank ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

/* Messages whose other side waits, too, are told only where a rank waits in nothing else, and
 * others wait for it. */
static void add_held_messages(struct search *s, size_t most)
{
    for (size_t i = 0; i < s->in->ncalls && s->nops < most; i++) {
        const struct pw_row_c_open_call *call = &s->in->calls[i];
        uint8_t *roles = roles_of(s, call->rank);
        if (is_collective(call) || !(*roles & 1 << PW_REACH_HELD) ||
            *roles & 1 << PW_REACH_WAITING || is_behind_another(s, i) || !has_partner(s, call))
            continue;
        *roles |= 1 << PW_REACH_WAITING;
        struct operation *op = &s->ops[s->nops++];
        *op = (struct operation){.call = call, .first = s->n};
        add_row(s, op, call->rank, PW_REACH_WAITING, call);
    }
}

static int finish(struct search *s, struct pw_row_c_hang **rows, size_t *n)
{
    struct pw_row_c_hang *sorted = malloc((s->n + 1) * sizeof(*sorted));
    if (!sorted || s->is_short) {
        free(sorted);
        return -ENOMEM;
    }
    pw_sort(s->ops, s->nops, sizeof(*s->ops), by_importance);
    size_t out = 0;
    for (size_t i = 0; i < s->nops; i++)
        for (size_t k = 0; k < s->ops[i].n; k++) {
            sorted[out] = s->rows[s->ops[i].first + k];
            sorted[out++].operation = (int32_t)i;
        }
    *rows = sorted;
    *n = out;
    return 0;
}

int pw_missing_find(struct pw_missing_input *input, struct pw_row_c_hang **rows, size_t *n)
{
    enum { MOST = 4096 }; /* operations; a job has few communicators that hang at once */
    struct search s = {
        .in = input, .ops = calloc(MOST, sizeof(*s.ops)), .roles = calloc(input->nranks + 1, 1)};
    pw_sort(input->members, input->nmembers, sizeof(*input->members), by_uid_and_rank);
    pw_sort(input->comms, input->ncomms, sizeof(*input->comms), comm_by_uid_and_rank);
    for (size_t i = 0; s.ops && s.roles && i < input->ncalls && s.nops < MOST; i++) {
        const struct pw_row_c_open_call *call = &input->calls[i];
        if (is_behind_another(&s, i) || is_known(&s, call) ||
            (!is_collective(call) && has_partner(&s, call)))
            continue;
        struct operation *op = &s.ops[s.nops++];
        *op = (struct operation){.call = call, .first = s.n};
        if (is_collective(call))
            add_collective(&s, op);
        else
            add_messages(&s, op);
    }
    int err = s.ops && s.roles ? 0 : -ENOMEM;
    if (!err) {
        find_roles(&s);
        add_held_messages(&s, MOST);
        count_stuck(&s);
        err = finish(&s, rows, n);
    }
    free(s.roles);
    free(s.ops);
    free(s.rows);
    return err;
}
