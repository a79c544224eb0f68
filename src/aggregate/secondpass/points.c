/* Decides what names say, and which of the operators of a step bound forward and backward; see
 * points.h, and docs/method.md, "Bounds of forward and backward". */
#include "aggregate/secondpass/points.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/log.h"

static const struct pw_point nowhere = {INT64_MAX, INT64_MIN};

/* ---- what a name says ---- */

static int begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* 1 for the names that PyTorch gives to functions of backward: "autograd::engine::...", and
 * "AddmmBackward0". */
static int is_torch_backward(const char *name)
{
    static const char backward[] = "Backward";
    size_t length = strlen(name);
    if (begins_with(name, "autograd::engine::evaluate_function"))
        return 1;
    while (length && isdigit((unsigned char)name[length - 1]))
        length--;
    return length > sizeof(backward) - 1 && name[length] &&
           strncmp(name + length - (sizeof(backward) - 1), backward, sizeof(backward) - 1) == 0;
}

/* The role by MindSpore's scopes: "Gradients/Default/..." are backward, other operators of the
 * network "Default/network/...". Those of the optimizer and of the input are neither. In PyNative
 * mode all operators, also backward's, may be "Default/MatMul-op1": these say nothing. */
static unsigned scope_role(const char *name)
{
    const char *last = strrchr(name, '/');
    if (!last)
        return 0;
    if (begins_with(name, "Gradients/") || strstr(name, "/Gradients/"))
        return PW_POINT_BACKWARD;
    const int is_input = begins_with(last, "/GetNext") || begins_with(last, "/InitDataSetQueue");
    const int is_optimizer = strstr(name, "/optimizer-") != NULL;
    const int is_scoped = begins_with(name, "Default/") && last > name + strlen("Default/");
    return is_scoped && !is_input && !is_optimizer ? PW_POINT_FORWARD : 0;
}

unsigned pw_point_roles(const char *name, const struct pw_point_names *names)
{
    unsigned roles = is_torch_backward(name) ? PW_POINT_BACKWARD : scope_role(name);
    if (names->first[0] && strcmp(name, names->first) == 0)
        roles |= PW_POINT_FIRST;
    if (names->last[0] && strcmp(name, names->last) == 0)
        roles |= PW_POINT_LAST;
    return roles;
}

static unsigned role_of(const struct pw_points *p, uint32_t text)
{
    return text < p->nroles ? p->roles[text] : 0;
}

int pw_points_init(struct pw_points *p, const struct pw_input *input,
                   const struct pw_point_names *names)
{
    *p = (struct pw_points){.input = input, .names = names, .near = -1};
    p->host = malloc(sizeof(*p->host) * (input->nsteps + 1));
    p->device = malloc(sizeof(*p->device) * (input->nsteps + 1));
    if (!p->host || !p->device)
        return -ENOMEM;
    for (size_t i = 0; i < input->nsteps; i++)
        p->host[i] = p->device[i] = nowhere;
    if (!input->range_rows.rows && !input->kernel_rows.rows)
        return 0;
    int err = pw_input_texts(input, &p->texts);
    if (err)
        return err;
    p->roles = malloc(p->texts.n + 1);
    if (!p->roles)
        return -ENOMEM;
    p->nroles = p->texts.n;
    for (size_t i = 0; i < p->nroles; i++)
        p->roles[i] = (uint8_t)pw_point_roles(p->texts.v[i], names);
    return 0;
}

/* ---- the operators of a step ---- */

static void extend(struct pw_point *point, unsigned roles, int64_t start, int64_t end)
{
    if (roles & PW_POINT_FIRST && start < point->first)
        point->first = start;
    if (roles & PW_POINT_LAST && end > point->last)
        point->last = end;
}

/* Of the roles by name and by scope, those that decide: a name that the user gave, else the
 * scope. */
static unsigned deciding(const struct pw_points *p, unsigned roles)
{
    const unsigned first = p->names->first[0] ? PW_POINT_FIRST : PW_POINT_FORWARD;
    const unsigned last = p->names->last[0] ? PW_POINT_LAST : PW_POINT_BACKWARD;
    return (roles & first ? PW_POINT_FIRST : 0U) | (roles & last ? PW_POINT_LAST : 0U);
}

/* A forward operator of PyTorch has a sequence number, which it has only where gradients are
 * computed. */
static unsigned range_roles(const struct pw_points *p, const struct pw_row_range *range)
{
    unsigned roles = role_of(p, range->name);
    if (range->kind != PW_KIND_OPERATOR)
        return roles & (PW_POINT_FIRST | PW_POINT_LAST);
    if (range->sequence >= 0 && !(roles & PW_POINT_BACKWARD))
        roles |= PW_POINT_FORWARD;
    return roles;
}

void pw_points_add_range(struct pw_points *p, const struct pw_row_range *range)
{
    if (range->kind == PW_KIND_STEP || range->kind == PW_KIND_MARK)
        return;
    const int is_data = pw_input_phase(p->input, range->name) == PW_PHASE_DATA;
    const unsigned roles = deciding(p, range_roles(p, range));
    if ((!roles && !is_data) || range->end < range->start || !pw_is_possible(range->start) ||
        !pw_is_possible(range->end))
        return;
    ptrdiff_t at = pw_input_step_near(p->input, range->start, &p->near);
    if (at < 0)
        return;
    struct pw_point *point = &p->host[at];
    extend(point, roles, range->start, range->end);
    /* What runs while a batch is made is no forward operator. A range comes after those in it. */
    if (is_data && !p->names->first[0] && point->first >= range->start && point->first < range->end)
        point->first = INT64_MAX;
}

void pw_points_add_kernel(struct pw_points *p, const struct pw_row_kernel *kernel)
{
    unsigned roles = deciding(p, role_of(p, kernel->name));
    const unsigned launcher = role_of(p, kernel->launched_by);
    roles |= launcher & (PW_POINT_FIRST | PW_POINT_LAST);
    const int64_t time = kernel->launch >= 0 ? kernel->launch : kernel->start;
    ptrdiff_t at = roles ? pw_input_step_near(p->input, time, &p->near) : -1;
    if (at < 0)
        return;
    extend(&p->device[at], roles, kernel->start, kernel->end);
    p->on_device |= roles;
}

/* ---- the bounds ---- */

struct applying {
    const struct pw_points *p;
    const struct pw_row_step *step;
    struct pw_row_c_step_trace *row;
    struct pw_points_lack *lack;
    int64_t from[2]; /* the last run of steps in the list of each lack */
    int64_t to[2];
    int is_open[2];
};

static void close_list(struct applying *a, int which)
{
    struct pw_points_lack *lack = &a->lack[which];
    size_t n = strlen(lack->list);
    char run[64];
    if (!a->is_open[which])
        return;
    a->is_open[which] = 0;
    int length =
        a->from[which] == a->to[which]
            ? snprintf(run, sizeof(run), "%" PRId64, a->from[which])
            : snprintf(run, sizeof(run), "%" PRId64 "-%" PRId64, a->from[which], a->to[which]);
    if (n && strcmp(lack->list + n - 1, ".") == 0)
        return;
    if (n + (size_t)length + 8 >= sizeof(lack->list))
        snprintf(lack->list + n, sizeof(lack->list) - n, ", ...");
    else
        snprintf(lack->list + n, sizeof(lack->list) - n, "%s%s", n ? ", " : "", run);
}

static void note_lack(struct applying *a, int which)
{
    const int64_t step = a->step->step;
    a->lack[which].steps++;
    if (a->is_open[which] && step == a->to[which] + 1) {
        a->to[which] = step;
        return;
    }
    close_list(a, which);
    a->is_open[which] = 1;
    a->from[which] = a->to[which] = step;
}

/* Whether the operators of the device decide: those that were named, if the device has any of them;
 * and always in place of operators of the host that only launch them. */
static int uses_device(const struct pw_points *p, unsigned which, const char *name)
{
    return (p->on_device & which) || (!name[0] && pw_input_has_gpu(p->input));
}

/* The start of forward: by name, by phase, by scope. INT64_MAX: not known. */
static int64_t first_of(struct applying *a, size_t i)
{
    const struct pw_points *p = a->p;
    const char *name = p->names->first;
    const struct pw_point *points = uses_device(p, PW_POINT_FIRST, name) ? p->device : p->host;
    if (!name[0] && a->row->interval_ns >= 0)
        return a->step->start + a->row->interval_ns;
    if (name[0] && points[i].first == INT64_MAX)
        note_lack(a, 0);
    return points[i].first <= a->step->end && points[i].first >= a->step->start ? points[i].first
                                                                                : INT64_MAX;
}

/* The end of backward; INT64_MIN: not known. */
static int64_t last_of(struct applying *a, size_t i)
{
    const struct pw_points *p = a->p;
    const char *name = p->names->last;
    const struct pw_point *points = uses_device(p, PW_POINT_LAST, name) ? p->device : p->host;
    if (!name[0] && a->row->tail_ns >= 0)
        return a->step->end - a->row->tail_ns;
    if (name[0] && points[i].last == INT64_MIN)
        note_lack(a, 1);
    return points[i].last <= a->step->end && points[i].last >= a->step->start ? points[i].last
                                                                              : INT64_MIN;
}

static void apply_to_step(struct applying *a, size_t i)
{
    struct pw_row_c_step_trace *row = a->row;
    const int is_named = a->p->names->first[0] || a->p->names->last[0];
    if (!is_named && row->interval_ns >= 0 && row->fp_bp_ns >= 0)
        return;
    const int64_t first = first_of(a, i), last = last_of(a, i);
    const int is_found =
        (row->interval_ns < 0 && first != INT64_MAX) || (row->tail_ns < 0 && last != INT64_MIN);
    if (!is_named && !is_found)
        return;
    row->interval_ns = first == INT64_MAX ? -1 : first - a->step->start;
    row->tail_ns = last == INT64_MIN ? -1 : a->step->end - last;
    row->fp_bp_ns = first == INT64_MAX || last < first ? -1 : last - first;
}

int pw_points_apply(const struct pw_points *p, const struct pw_world *world,
                    struct pw_row_c_step_trace *steps, struct pw_points_lack lack[2])
{
    struct applying a = {.p = p, .lack = lack};
    unsigned char *is_done = calloc(world->nsteps + 1, 1);
    memset(lack, 0, 2 * sizeof(*lack));
    if (!is_done)
        return -ENOMEM;
    for (size_t i = 0; i < p->input->nsteps; i++) {
        a.step = &p->input->steps[i];
        ptrdiff_t s = pw_world_step_index(world, a.step->step);
        if (s < 0 || is_done[s] || steps[s].total_ns < 0)
            continue; /* a number that came twice: the first counts */
        is_done[s] = 1;
        a.row = &steps[s];
        lack[0].of++;
        lack[1].of++;
        apply_to_step(&a, i);
    }
    close_list(&a, 0);
    close_list(&a, 1);
    free(is_done);
    return 0;
}

/* ---- what is said of names that steps lack ---- */

static const char *const whats[2] = {"no_fp_point", "no_bp_point"};
static const char *const options[2] = {"fp-point", "bp-point"};

static const char *name_of(const struct pw_point_names *names, int which)
{
    return which ? names->last : names->first;
}

void pw_points_note(struct pw_job *job, int64_t rank, const struct pw_point_names *names,
                    const struct pw_points_lack lack[2])
{
    char detail[256];
    for (int which = 0; which < 2; which++) {
        if (!lack[which].steps)
            continue;
        if (lack[which].steps == lack[which].of)
            snprintf(detail, sizeof(detail), "%.180s did not run in any step",
                     name_of(names, which));
        else
            snprintf(detail, sizeof(detail), "%.64s did not run in step%s %s",
                     name_of(names, which), lack[which].steps == 1 ? "" : "s", lack[which].list);
        pw_job_note(job, rank, whats[which], lack[which].steps, detail);
    }
}

void pw_points_say(const struct pw_job *job)
{
    for (int which = 0; which < 2; which++) {
        const struct pw_row_c_completeness *one = NULL;
        int64_t ranks = 0;
        for (size_t i = 0; i < job->nnotes; i++)
            if (strcmp(job->notes[i].what, whats[which]) == 0)
                one = ranks++ ? one : &job->notes[i];
        if (!one)
            continue;
        char others[64] = "";
        if (ranks > 1)
            snprintf(others, sizeof(others), " (nor in all steps of %" PRId64 " other ranks)",
                     ranks - 1);
        pw_say("--%s: on rank %" PRId32 ", %s%s: %s and fp+bp are n/a there", options[which],
               one->rank, one->detail, others, which ? "tail" : "interval");
    }
}

void pw_points_fini(struct pw_points *p)
{
    free(p->roles);
    free(p->texts.v);
    free(p->host);
    free(p->device);
    *p = (struct pw_points){0};
}
