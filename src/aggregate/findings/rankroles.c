/* Gathers the data about the ranks' roles, reads command lines, and chooses the source of the
 * roles; see rankroles.h. */
#include "aggregate/findings/rankroles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/roles.h"
#include "core/sort.h"

/* ---- command lines ---- */

/* Copies the next word of a command, without folders. Returns the rest; NULL after the last
 * word. */
static const char *next_word(const char *at, char word[64])
{
    at += strspn(at, " ");
    size_t length = strcspn(at, " ");
    if (!length)
        return NULL;
    size_t name = length;
    while (name > 0 && at[name - 1] != '/')
        name--;
    snprintf(word, 64, "%.*s", (int)(length - name < 63 ? length - name : 63), at + name);
    return at + length;
}

/* Writes the file name of the command's program, and with an interpreter also that of the
 * script. */
static void name_program(const char *command, char out[64])
{
    char word[64];
    const char *at = next_word(command, out);
    if (!at) {
        out[0] = '\0';
        return;
    }
    if (strncmp(out, "python", 6) != 0)
        return;
    while ((at = next_word(at, word)))
        if (word[0] != '-') {
            snprintf(out, 64, "%s", word);
            return;
        }
}

/* Returns the length of `name` when `text` begins with it, else 0. A '_' in the text also matches a
 * '-' in the name. */
static size_t match(const char *text, const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (text[n] != name[n] && !(name[n] == '-' && text[n] == '_'))
            return 0;
    return n;
}

/* The number of pipeline stages in the options of the command line, as Megatron, NeMo and GPT-NeoX
 * spell them (--pipeline-model-parallel-size 4); 0 when there are none. */
static int64_t command_stages(const char *command)
{
    static const char *const names[] = {"pipeline-model-parallel-size", "pipeline-parallel-size",
                                        "pipe-parallel-size"};
    for (const char *at = command; *at; at++)
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            size_t length = match(at, names[i]);
            int begins = at > command && strchr("-. +", at[-1]);
            if (!length || !begins || !strchr(" =", at[length]))
                continue;
            long stages = strtol(at + length + 1, NULL, 10);
            if (stages > 1 && stages < 1 << 20)
                return stages;
        }
    return 0;
}

/* ---- data from the rank files ---- */

/* Data about a rank from its file. */
struct pw_role_label {
    int32_t rank;
    char role[64], program[64];
};

/* A rank in a communicator that has only a part of the job's ranks, and had collectives. */
struct pw_role_member {
    uint64_t uid;
    int32_t rank, pad;
};

static int is_part(const struct pw_world *world, const struct pw_row_comms *comm)
{
    return comm->size > 1 && comm->size < world->nranks && comm->remote_size == 0 &&
           comm->collectives >= (int64_t)world->nsteps / 2 && comm->collectives > 0;
}

int pw_roles_gather(struct pw_roles *roles, const struct pw_job *job)
{
    size_t most = 0, n = 0;
    *roles = (struct pw_roles){0};
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct pw_role_label *labels = calloc(job->ninputs + 1, sizeof(*labels));
    struct pw_role_member *members = calloc(most + 1, sizeof(*members));
    int ok = labels && members;
    for (size_t i = 0; ok && i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        labels[i].rank = (int32_t)input->rank;
        memcpy(labels[i].role, input->role, sizeof(labels[i].role));
        name_program(input->command, labels[i].program);
        for (size_t c = 0; c < input->ncomms; c++)
            if (is_part(&job->world, &input->comms[c]))
                members[n++] =
                    (struct pw_role_member){input->comms[c].uid, (int32_t)input->rank, 0};
    }
    ok = pw_procs_all_ok(&job->procs, ok);
    if (ok) {
        void *all;
        roles->nlabels =
            pw_procs_allgather(&job->procs, labels, job->ninputs, sizeof(*labels), &all);
        roles->labels = all;
        roles->nmembers = pw_procs_allgather(&job->procs, members, n, sizeof(*members), &all);
        roles->members = all;
    }
    free(labels);
    free(members);
    return ok ? 0 : -ENOMEM;
}

/* ---- roles that were given ---- */

static void name_rank(struct pw_roles *roles, int32_t rank, const char *name, const char *how)
{
    struct pw_row_c_role *row = &roles->rows[rank];
    row->rank = rank;
    snprintf(row->role, sizeof(row->role), "%.63s", name);
    snprintf(row->how, sizeof(row->how), "%s", how);
}

/* Numbers the names in the order of their first ranks. With fewer than two names there are no
 * roles. */
static void number_names(struct pw_roles *roles, const struct pw_world *world)
{
    size_t nranks = (size_t)world->nranks;
    roles->nroles = 0;
    for (size_t r = 0; r < nranks; r++) {
        const struct pw_row_c_role *row = &roles->rows[r];
        size_t first = 0;
        while (memcmp(roles->rows[first].role, row->role, sizeof(row->role)) != 0)
            first++;
        roles->role_of[r] = first == r ? (int32_t)roles->nroles : roles->role_of[first];
        roles->nroles += first == r;
    }
    roles->n = roles->nroles > 1 ? nranks : 0;
    roles->nroles = roles->n ? roles->nroles : 0;
}

/* Takes the roles given with profwrap_role(), else the programs when these differ. */
static int use_labels(struct pw_roles *roles, const struct pw_world *world)
{
    int said = 0;
    for (size_t i = 0; i < roles->nlabels; i++)
        said |= roles->labels[i].role[0] != '\0';
    for (int64_t r = 0; r < world->nranks; r++)
        name_rank(roles, (int32_t)r, said ? "none" : "", said ? "given" : "program");
    for (size_t i = 0; i < roles->nlabels; i++) {
        const struct pw_role_label *label = &roles->labels[i];
        const char *name = said ? label->role : label->program;
        if (label->rank >= 0 && label->rank < world->nranks && name[0])
            name_rank(roles, label->rank, name, said ? "given" : "program");
    }
    if (!said) /* a rank without a file gets its neighbour's name, and so no role of its own */
        for (int64_t r = 1; r < world->nranks; r++)
            if (!roles->rows[r].role[0])
                memcpy(roles->rows[r].role, roles->rows[r - 1].role, sizeof(roles->rows[r].role));
    number_names(roles, world);
    return roles->n != 0;
}

static void name_stages(struct pw_roles *roles, const struct pw_world *world, int32_t nstages,
                        const char *how)
{
    for (int64_t r = 0; r < world->nranks; r++) {
        char name[64];
        snprintf(name, sizeof(name), "stage %d of %d", (int)roles->role_of[r] + 1, (int)nstages);
        name_rank(roles, (int32_t)r, name, how);
    }
    roles->n = (size_t)world->nranks;
    roles->nroles = (size_t)nstages;
}

/* Takes the stages in the command line. In Megatron and DeepSpeed, the ranks of a stage are
 * consecutive. */
static int use_command(struct pw_roles *roles, const struct pw_world *world)
{
    int64_t nstages = command_stages(world->command);
    if (nstages < 2 || nstages > world->nranks || world->nranks % nstages)
        return 0;
    for (int64_t r = 0; r < world->nranks; r++)
        roles->role_of[r] = (int32_t)(r / (world->nranks / nstages));
    name_stages(roles, world, (int32_t)nstages, "command");
    return 1;
}

/* ---- roles from communication ---- */

static int by_uid(const void *a, const void *b)
{
    const struct pw_role_member *x = a, *y = b;
    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* A call, and its time: the start of a send, the end of a receive. */
struct timed_call {
    struct pw_roles_call call;
    int64_t time;
};

static int by_rank_and_time(const void *a, const void *b)
{
    const struct timed_call *x = a, *y = b;
    if (x->call.rank != y->call.rank)
        return x->call.rank < y->call.rank ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return y->call.receives - x->call.receives;
}

static int by_rank_and_enter(const void *a, const void *b)
{
    const struct pw_graph_op *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->local_enter != y->local_enter)
        return x->local_enter < y->local_enter ? -1 : 1;
    return x->receives - y->receives;
}

static const struct pw_graph_op *find_op(const struct pw_graph_op *ops, size_t n, int32_t rank,
                                         int64_t enter, int receives)
{
    struct pw_graph_op key = {.rank = rank, .local_enter = enter, .receives = (uint8_t)receives};
    return bsearch(&key, ops, n, sizeof(key), by_rank_and_enter);
}

/* Returns 1 when messages from one neighbour arrive before messages go to the other, else 0; or
 * -ENOMEM. */
static int is_passed_on(const struct pw_roles *roles, int32_t nstages,
                        const struct pw_graph_parts *parts)
{
    const struct pw_graph_link *links = (const void *)parts->links.v;
    const size_t nops = parts->ops.n, nlinks = parts->links.n;
    struct pw_graph_op *ops = malloc(sizeof(*ops) * (nops + 1));
    struct timed_call *timed = malloc(sizeof(*timed) * (2 * nlinks + 1));
    struct pw_roles_call *calls = malloc(sizeof(*calls) * (2 * nlinks + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * 2 * (size_t)nstages);
    size_t n = 0;
    int found = -ENOMEM;
    if (ops && timed && calls && scratch) {
        memcpy(ops, parts->ops.v, sizeof(*ops) * nops);
        pw_sort(ops, nops, sizeof(*ops), by_rank_and_enter);
        for (size_t i = 0; i < nlinks; i++) {
            const struct pw_graph_link *l = &links[i];
            const struct pw_graph_op *sent = find_op(ops, nops, l->src, l->sent, 0);
            const struct pw_graph_op *received = find_op(ops, nops, l->dst, l->received, 1);
            if (!sent || !received)
                continue;
            timed[n++] = (struct timed_call){{l->src, l->dst, 0}, sent->enter};
            timed[n++] = (struct timed_call){{l->dst, l->src, 1}, received->leave};
        }
        pw_sort(timed, n, sizeof(*timed), by_rank_and_time);
        for (size_t i = 0; i < n; i++)
            calls[i] = timed[i].call;
        found = pw_roles_are_passed_on(calls, n, roles->role_of, nstages, scratch);
    }
    free(ops);
    free(timed);
    free(calls);
    free(scratch);
    return found;
}

/* Fills the pairs of ranks that share a communicator, and the pairs with messages in half of the
 * steps or more. `room` is for one pair for each member, then one for each of `pairs`. */
static void fill_pairs(const struct pw_roles *roles, const struct pw_world *world,
                       const struct pw_pairs *pairs, struct pw_roles_input *in,
                       struct pw_roles_pair *room)
{
    struct pw_roles_pair *joins = room, *messages = room + roles->nmembers;
    for (size_t i = 1; i < roles->nmembers; i++)
        if (roles->members[i].uid == roles->members[i - 1].uid)
            joins[in->njoins++] =
                (struct pw_roles_pair){roles->members[i - 1].rank, roles->members[i].rank};
    for (size_t i = 0; i < pairs->n; i++)
        if (2 * pairs->rows[i].messages >= (int64_t)world->nsteps)
            messages[in->nmessages++] =
                (struct pw_roles_pair){pairs->rows[i].src, pairs->rows[i].dst};
    in->joins = joins;
    in->messages = messages;
}

static int use_messages(struct pw_roles *roles, const struct pw_world *world,
                        const struct pw_pairs *pairs, const struct pw_graph_parts *parts)
{
    struct pw_roles_input in = {.nranks = (size_t)world->nranks};
    struct pw_roles_pair *room = malloc(sizeof(*room) * (roles->nmembers + pairs->n + 1));
    int32_t *scratch = malloc(sizeof(*scratch) * (pw_roles_scratch(in.nranks) + 1));
    int err = room && scratch ? 0 : -ENOMEM;
    if (!err && pairs->n) {
        pw_sort(roles->members, roles->nmembers, sizeof(*roles->members), by_uid);
        fill_pairs(roles, world, pairs, &in, room);
        struct pw_roles_stages found = pw_roles_stages(&in, roles->role_of, scratch);
        int is_one = found.nstages > 1;
        if (is_one && found.is_single)
            is_one = is_passed_on(roles, found.nstages, parts);
        err = is_one < 0 ? is_one : 0;
        if (is_one > 0)
            name_stages(roles, world, found.nstages, "messages");
    }
    free(room);
    free(scratch);
    return err;
}

int pw_roles_find(struct pw_roles *roles, const struct pw_world *world,
                  const struct pw_pairs *pairs, const struct pw_graph_parts *parts)
{
    roles->rows = calloc((size_t)world->nranks + 1, sizeof(*roles->rows));
    roles->role_of = calloc((size_t)world->nranks + 1, sizeof(*roles->role_of));
    if (!roles->rows || !roles->role_of)
        return -ENOMEM;
    roles->is_given = use_labels(roles, world) || use_command(roles, world);
    return roles->is_given ? 0 : use_messages(roles, world, pairs, parts);
}

void pw_roles_fini(struct pw_roles *roles)
{
    free(roles->rows);
    free(roles->role_of);
    free(roles->labels);
    free(roles->members);
    *roles = (struct pw_roles){0};
}
