/* Plays scripts, in rounds: in each round every rank proceeds until it has to wait for another. The
 * rounds end when all ranks have finished, or when no rank can proceed. See script.h. */
#include "sim/script.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/faults.h"

/* Before the data of an unbuffered message is sent, the sender sends a request and the receiver
 * answers; both together take HANDSHAKE_NS. */
enum { HANDSHAKE_NS = 4000, NOT_YET = -1 };

struct entry {
    struct pw_sim_op op;
    struct entry *partner; /* the other endpoint's entry of a message; NULL: there is none */
    int64_t rank;          /* the rank that has this entry in its script */
    int64_t at;            /* when this rank began it in this step, or NOT_YET */
};

struct pw_sim_script {
    int64_t ranks, most;
    int64_t *count, *position; /* [ranks] length of the script, and the entry that is next */
    struct entry *entries;     /* [ranks * most] */
    int is_matched;            /* partners are set */
    uint64_t first_draw;       /* random numbers of the step have higher indexes */
};

struct pw_sim_script *pw_sim_script_create(const struct pw_sim_params *p, int64_t most)
{
    struct pw_sim_script *script = calloc(1, sizeof(*script));
    if (!script)
        return NULL;
    script->ranks = p->ranks;
    script->most = most;
    script->count = calloc((size_t)p->ranks, sizeof(*script->count));
    script->position = calloc((size_t)p->ranks, sizeof(*script->position));
    script->entries = calloc((size_t)(p->ranks * most), sizeof(*script->entries));
    if (script->count && script->position && script->entries)
        return script;
    pw_sim_script_destroy(script);
    return NULL;
}

void pw_sim_script_destroy(struct pw_sim_script *script)
{
    if (!script)
        return;
    free(script->count);
    free(script->position);
    free(script->entries);
    free(script);
}

static struct entry *entry_of(const struct pw_sim_script *script, int64_t rank, int64_t i)
{
    return &script->entries[rank * script->most + i];
}

void pw_sim_script_add(struct pw_sim_script *script, int64_t rank, const struct pw_sim_op *op)
{
    if (script->count[rank] < script->most)
        *entry_of(script, rank, script->count[rank]++) = (struct entry){.op = *op, .rank = rank};
}

/* The other endpoint's entry of a message: same tag, the opposite kind, and each the other's peer.
 */
static struct entry *partner_of(const struct pw_sim_script *script, const struct entry *mine)
{
    for (int64_t i = 0; i < script->count[mine->op.peer]; i++) {
        struct entry *other = entry_of(script, mine->op.peer, i);
        if (other->op.kind != PW_SIM_WORKS && other->op.kind != mine->op.kind &&
            other->op.peer == mine->rank && other->op.tag == mine->op.tag)
            return other;
    }
    return NULL;
}

static void begin(struct pw_sim_script *script, uint64_t draw)
{
    script->first_draw = draw;
    for (int64_t r = 0; r < script->ranks; r++) {
        script->position[r] = 0;
        for (int64_t i = 0; i < script->count[r]; i++) {
            struct entry *entry = entry_of(script, r, i);
            entry->at = NOT_YET;
            if (!script->is_matched && entry->op.kind != PW_SIM_WORKS)
                entry->partner = partner_of(script, entry);
        }
    }
    script->is_matched = 1;
}

static void work(struct pw_sim_play *play, const struct entry *entry)
{
    int64_t start = play->now[entry->rank];
    pw_sim_work_one(play, entry->rank, entry->op.phase, entry->op.mean_ns, entry->op.share);
    const struct pw_sim_sink *sink = play->sink;
    if (sink && entry->rank >= sink->first && entry->rank <= sink->last && !play->params->bare)
        sink->phase(sink->context, entry->rank, entry->op.phase, start, play->now[entry->rank]);
}

/* Ends the rank's entry of a message at time `end`, and reports the call to the sink. */
static void finish(struct pw_sim_play *play, const struct entry *entry, int64_t end)
{
    struct pw_sim_side side = {
        .op = entry->op.kind == PW_SIM_SENDS ? PW_OP_Send : PW_OP_Recv,
        .rank = entry->rank,
        .peer = entry->op.peer,
        .tag = entry->op.tag,
        .bytes = entry->op.bytes,
        .start = entry->at,
        .end = end,
    };
    pw_sim_tell_message(play, &side);
    play->now[entry->rank] = end;
    play->script->position[entry->rank]++;
}

/* The time that the data of a message takes. The random number depends on the position of the send
 * in its rank's script, so it is the same whether the sender or the receiver comes first. */
static int64_t transfer_ns(struct pw_sim_play *play, const struct entry *send)
{
    play->draw =
        play->script->first_draw + (uint64_t)(send - entry_of(play->script, send->rank, 0)) + 1;
    return pw_sim_message_ns(play, send->rank, send->op.peer, send->op.bytes);
}

/* Completes an unbuffered message on both ranks. Returns 0 while either rank has not reached it. */
static int meet(struct pw_sim_play *play, const struct entry *send, const struct entry *recv)
{
    if (send->at == NOT_YET || recv->at == NOT_YET)
        return 0;
    int64_t both = send->at > recv->at ? send->at : recv->at;
    int64_t end = pw_sim_advance_both(play, send->rank, recv->rank, both,
                                      HANDSHAKE_NS + transfer_ns(play, send));
    finish(play, send, end);
    finish(play, recv, end);
    return 1;
}

/* Completes the receive of a buffered message. Returns 0 while the sender has not begun it. */
static int receive(struct pw_sim_play *play, const struct entry *recv)
{
    const struct entry *send = recv->partner;
    if (send->at == NOT_YET)
        return 0;
    int64_t came = send->at + PW_SIM_CALL_NS + transfer_ns(play, send);
    int64_t end = recv->at + PW_SIM_CALL_NS;
    finish(play, recv, pw_sim_advance(play, recv->rank, came > end ? came : end, 0));
    return 1;
}

/* Plays the rank's next entry. Returns 1 when the rank has finished it, 0 when it has to wait. */
static int go_on(struct pw_sim_play *play, struct entry *entry)
{
    int64_t rank = entry->rank, i = play->script->position[rank];
    if (entry->op.kind == PW_SIM_WORKS) {
        play->draw = play->script->first_draw + (uint64_t)i + 1;
        work(play, entry);
        play->script->position[rank]++;
        return 1;
    }
    if (!entry->partner)
        return 0;
    entry->at = entry->at == NOT_YET ? play->now[rank] : entry->at;
    if (!entry->op.is_buffered && entry->op.bytes > play->params->eager)
        return entry->op.kind == PW_SIM_SENDS ? meet(play, entry, entry->partner)
                                              : meet(play, entry->partner, entry);
    if (entry->op.kind == PW_SIM_RECVS)
        return receive(play, entry);
    finish(play, entry, pw_sim_advance(play, rank, entry->at, PW_SIM_CALL_NS));
    return 1;
}

void pw_sim_script_step(struct pw_sim_play *play)
{
    struct pw_sim_script *script = play->script;
    int went_on = 1, waits = script != NULL;
    if (!script)
        play->failed = -ENOMEM;
    else
        begin(script, play->draw);
    while (waits && went_on) {
        went_on = waits = 0;
        for (int64_t r = 0; r < script->ranks; r++) {
            while (script->position[r] < script->count[r] &&
                   go_on(play, entry_of(script, r, script->position[r])))
                went_on = 1;
            waits |= script->position[r] < script->count[r];
        }
    }
    if (waits)
        play->failed = -EDEADLK;
    if (script)
        play->draw = script->first_draw + (uint64_t)script->most;
}
