/* Collects and gathers the parts of the dependency graph; see graphparts.h. */
#include "aggregate/match/graphparts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/tables.h"

/* Limit of communication events that are replayed; each takes some 130 bytes on process 0. */
enum { EVENT_BUDGET = 1 << 20 };

/* Sets until_ns by the number of steps. */
static void set_until(struct pw_graph_parts *parts, const struct pw_job *job)
{
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < job->ninputs; i++)
        for (size_t s = 0; s < job->inputs[i].nsteps; s++) {
            const struct pw_row_step *step = &job->inputs[i].steps[s];
            int64_t end = pw_input_time(&job->inputs[i], step->end) - job->world.epoch_ns;
            if ((size_t)pw_world_step_index(&job->world, step->step) < parts->nsteps && end > until)
                until = end;
        }
    pw_ex_allreduce(&until, &parts->until_ns, 1, PW_EX_INT64_T, PW_EX_MAX, job->procs.comm);
}

void pw_graph_begin(struct pw_graph_parts *parts, const struct pw_job *job)
{
    *parts = (struct pw_graph_parts){
        .ops.size = sizeof(struct pw_graph_op),
        .windows.size = sizeof(struct pw_graph_window),
        .links.size = sizeof(struct pw_graph_link),
        .flows.size = sizeof(struct pw_graph_flow),
    };
    int64_t events = 0;
    for (int64_t r = 0; r < job->world.nranks; r++)
        events += job->world.ranks[r].events;
    parts->nsteps = job->world.nsteps;
    if (events > EVENT_BUDGET)
        parts->nsteps = (size_t)((double)job->world.nsteps * EVENT_BUDGET / (double)events);
    set_until(parts, job);
}

void pw_graph_end(struct pw_graph_parts *parts, const struct pw_job *job)
{
    int64_t first = (int64_t)parts->nsteps;
    parts->is_short = parts->nsteps < job->world.nsteps;
    if (job->world.cut_ns == INT64_MAX)
        return;
    for (size_t i = 0; i < job->ninputs; i++)
        for (size_t s = 0; s < job->inputs[i].nsteps; s++) {
            const struct pw_row_step *step = &job->inputs[i].steps[s];
            const int64_t at = pw_world_step_index(&job->world, step->step);
            if (at >= 0 && at < first &&
                pw_input_time(&job->inputs[i], step->start) >= job->world.cut_ns)
                first = at;
        }
    pw_ex_allreduce(PW_EX_IN_PLACE, &first, 1, PW_EX_INT64_T, PW_EX_MIN, job->procs.comm);
    parts->nsteps = (size_t)first;
    set_until(parts, job);
}

static void append(struct pw_graph_parts *parts, struct pw_graph_items *items, const void *item)
{
    char *v = pw_grow(items->v, items->n, items->size, &items->capacity);
    parts->failed |= !v;
    if (!v)
        return;
    items->v = v;
    memcpy(items->v + items->n++ * items->size, item, items->size);
}

/* Bytes that the rank sent and received in an operation whose parts may be unequal, else 0. */
static int64_t bytes_of(const struct pw_row_comm_event *event)
{
    if (!pw_op_has_parts(pw_op_info(event->op)))
        return 0;
    return pw_sum(event->sent_bytes > 0 ? event->sent_bytes : 0,
                  event->recv_bytes > 0 ? event->recv_bytes : 0);
}

void pw_graph_add_event(struct pw_graph_parts *parts, const struct pw_world *world,
                        const struct pw_input *input, const struct pw_row_comm_event *event,
                        const struct pw_instances *instances)
{
    int64_t enter = pw_input_time(input, event->start) - world->epoch_ns;
    if (enter >= parts->until_ns)
        return;
    parts->asynchronous |= pw_source_is_on_device(event->source);
    const enum pw_op_class cls = pw_op_info(event->op)->cls;
    const enum pw_op_shape shape = pw_op_info(event->op)->shape;
    int is_root = (event->flags & PW_FLAG_ROOT) != 0;
    int64_t stands = event->flags & PW_FLAG_NONBLOCKING ? event->wait_start : event->start;
    if (stands && stands < event->start)
        stands = event->start; /* it waited for its own GPU before */
    struct pw_graph_op op = {
        .local_enter = event->start,
        .enter = enter,
        .stands = stands ? pw_input_time(input, stands) - world->epoch_ns : INT64_MAX,
        .leave = pw_input_time(input, event->end) - world->epoch_ns,
        .instance = pw_instances_find(instances, input, event),
        .bytes = bytes_of(event),
        .rank = (int32_t)input->rank,
        .peer = cls == PW_CLASS_SEND || cls == PW_CLASS_RECV ? event->peer : -1,
        .receives = cls == PW_CLASS_RECV || (event->flags & PW_FLAG_RECV_PART),
        .op = event->op,
    };
    op.size = op.receives ? event->recv_bytes : event->sent_bytes;
    op.adds = shape == PW_SHAPE_ALL || shape == PW_SHAPE_TO_ROOT ||
              (shape == PW_SHAPE_FROM_ROOT && is_root);
    op.waits = shape == PW_SHAPE_ALL || (shape == PW_SHAPE_TO_ROOT && is_root) ||
               (shape == PW_SHAPE_FROM_ROOT && !is_root);
    append(parts, &parts->ops, &op);
}

void pw_graph_add_window(struct pw_graph_parts *parts, const struct pw_graph_window *window)
{
    append(parts, &parts->windows, window);
}

void pw_graph_add_link(struct pw_graph_parts *parts, const struct pw_graph_link *link)
{
    append(parts, &parts->links, link);
}

void pw_graph_add_flow(struct pw_graph_parts *parts, const struct pw_graph_flow *flow)
{
    append(parts, &parts->flows, flow);
}

void pw_graph_parts_fini(struct pw_graph_parts *parts)
{
    free(parts->ops.v);
    free(parts->windows.v);
    free(parts->links.v);
    free(parts->flows.v);
    *parts = (struct pw_graph_parts){0};
}

static int gather_items(struct pw_graph_items *items, const struct pw_procs *procs)
{
    if (procs->processes == 1)
        return 0; /* they are on process 0 already: no copy */
    int *counts = calloc(2 * (size_t)procs->processes, sizeof(*counts));
    int *starts = counts + procs->processes, mine = (int)items->n, err = counts ? 0 : -ENOMEM;
    size_t total = 0;
    pw_ex_type type;
    pw_ex_type_contiguous((int)items->size, PW_EX_BYTE, &type);
    pw_ex_gather(&mine, 1, PW_EX_INT, counts, 1, PW_EX_INT, 0, procs->comm);
    for (int p = 0; p < procs->processes && procs->process == 0; p++) {
        starts[p] = (int)total;
        total += (size_t)counts[p];
    }
    char *all = malloc(total * items->size + 1);
    err = all ? err : -ENOMEM;
    pw_ex_allreduce(PW_EX_IN_PLACE, &err, 1, PW_EX_INT, PW_EX_MIN, procs->comm);
    if (!err)
        pw_ex_gatherv(items->v, mine, type, all, counts, starts, type, 0, procs->comm);
    pw_ex_type_free(&type);
    free(counts);
    free(items->v);
    items->v = all;
    items->n = items->capacity = err ? 0 : total;
    return err;
}

int pw_graph_gather(struct pw_graph_parts *parts, const struct pw_procs *procs)
{
    int err = parts->failed ? -ENOMEM : 0;
    pw_ex_allreduce(PW_EX_IN_PLACE, &err, 1, PW_EX_INT, PW_EX_MIN, procs->comm);
    pw_ex_allreduce(PW_EX_IN_PLACE, &parts->asynchronous, 1, PW_EX_INT, PW_EX_MAX, procs->comm);
    err = err ? err : gather_items(&parts->ops, procs);
    err = err ? err : gather_items(&parts->windows, procs);
    err = err ? err : gather_items(&parts->links, procs);
    return err ? err : gather_items(&parts->flows, procs);
}
