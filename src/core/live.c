/* Frees a struct pw_live and finds threads and communicators in it; see live.h. */
#include "core/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

/* MPI names all collective operations that transfer data so. */
static int is_collective_transfer(const char *name)
{
    return !strstr(name, "_iread") && !strstr(name, "_iwrite") &&
           (strstr(name, "_all") || strstr(name, "_ordered"));
}

int pw_live_is_unnumbered(uint32_t op)
{
    const struct pw_op_info *info = pw_op_info(op);
    if (info->cls == PW_CLASS_COMM)
        return op != PW_OP_Comm_create_group; /* some members of the communicator only */
    return info->cls == PW_CLASS_IO &&
           (op == PW_OP_File_open || op == PW_OP_File_close || op == PW_OP_File_sync ||
            op == PW_OP_File_set_size || op == PW_OP_File_set_view ||
            is_collective_transfer(info->name));
}

int pw_live_is_counted(uint32_t op)
{
    /* Its record is written when it is complete, which each rank chooses for itself. */
    return pw_live_is_unnumbered(op) && op != PW_OP_Comm_idup && op != PW_OP_Comm_idup_with_info;
}

int pw_live_is_partitioned(uint32_t op)
{
    return op == PW_OP_Psend_init || op == PW_OP_Precv_init;
}

void pw_live_fini(struct pw_live *live)
{
    for (size_t i = 0; i < live->nstacks; i++)
        free(live->stacks[i].text);
    free(live->stacks);
    free(live->threads);
    free(live->comms);
    free(live->requests);
    free(live->pairs);
    free(live->queued);
    free(live->last_steps);
    live->last_steps = NULL;
    live->nlast_steps = 0;
    live->requests = NULL;
    live->pairs = NULL;
    live->queued = NULL;
    live->nrequests = live->npairs = live->nqueued = 0;
    live->stacks = NULL;
    live->threads = NULL;
    live->comms = NULL;
    live->nstacks = live->nthreads = live->ncomms = 0;
}

const struct pw_live_comm *pw_live_comm(const struct pw_live *live, uint64_t uid)
{
    for (size_t i = 0; uid && i < live->ncomms; i++)
        if (live->comms[i].uid == uid)
            return &live->comms[i];
    return NULL;
}

void pw_live_add_comm(struct pw_live *live, const struct pw_live_comm *comm, const char *name)
{
    if (!live->comms || pw_live_comm(live, comm->uid) || live->ncomms >= PW_LIVE_COMMS)
        return;
    struct pw_live_comm *out = &live->comms[live->ncomms++];
    *out = *comm;
    snprintf(out->name, sizeof(out->name), "%s", name);
}

static int has_twin(const struct pw_live *live, size_t i)
{
    for (size_t k = 0; live->comms[i].name[0] && k < live->ncomms; k++)
        if (k != i && strcmp(live->comms[k].name, live->comms[i].name) == 0)
            return 1;
    return 0;
}

void pw_live_distinguish(struct pw_live *live)
{
    uint8_t twins[PW_LIVE_COMMS];
    for (size_t i = 0; i < live->ncomms; i++)
        twins[i] = (uint8_t)has_twin(live, i);
    for (size_t i = 0; i < live->ncomms; i++) {
        char *name = live->comms[i].name;
        const size_t length = strnlen(name, PW_LIVE_NAME - 8);
        if (twins[i])
            snprintf(name + length, 8, " 0x%04x", (unsigned)(live->comms[i].uid & 0xffff));
    }
}

static int is_later(const struct pw_live_thread *a, const struct pw_live_thread *b)
{
    return a->since_ns >= 0 && (b->since_ns < 0 || a->since_ns < b->since_ns);
}

/* Whether `a` rather than `b`, which comes before it, stands for the rank. */
static int is_nearer(const struct pw_live_thread *a, const struct pw_live_thread *b)
{
    if (a->queue == PW_LIVE_QUEUE || b->queue == PW_LIVE_QUEUE)
        return a->queue != PW_LIVE_QUEUE || (b->queue == PW_LIVE_QUEUE && is_later(a, b));
    if (a->queue == b->queue)
        return a->queue == PW_LIVE_HELD ? a->since_ns > b->since_ns : is_later(a, b);
    if (a->queue == PW_LIVE_HELD)
        return b->op == PW_OP_None || is_later(a, b);
    return a->op != PW_OP_None && is_later(a, b);
}

const struct pw_live_thread *pw_live_main(const struct pw_live *live)
{
    const struct pw_live_thread *best = NULL;
    for (size_t i = 0; i < live->nthreads; i++)
        if (!best || is_nearer(&live->threads[i], best))
            best = &live->threads[i];
    return best;
}
