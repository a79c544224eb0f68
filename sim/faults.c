/* Adds the work of faults, and finds the next time at which a fault stops a rank; see faults.h. */
#include "sim/faults.h"

#include "sim/params.h"

struct stop {
    int64_t start, end;
    size_t fault;
};

static int is_stop(const struct pw_sim_play *play, size_t i)
{
    enum pw_sim_how how = pw_sim_kind_of(play->params->faults[i].kind)->how;
    return !(play->without >> i & 1) && (how == PW_SIM_STOPS || how == PW_SIM_STOPS_ONCE);
}

static void set_anchor(struct pw_sim_play *play, size_t i)
{
    const struct pw_sim_params *p = play->params;
    const struct pw_sim_fault *f = &p->faults[i];
    int64_t at = 0;
    for (int64_t r = 0; r < p->ranks; r++)
        if (pw_sim_fault_on_rank(p, f, r) && play->now[r] > at)
            at = play->now[r];
    play->anchor[i] = at + f->delay_ns;
    play->stopping |= (uint32_t)1 << i;
}

void pw_sim_stops_step(struct pw_sim_play *play)
{
    for (size_t i = 0; i < play->params->nfaults; i++)
        if (is_stop(play, i) && play->params->faults[i].first == play->step)
            set_anchor(play, i);
}

/* Finds the first stop by fault `i` that ends after `at`. */
static int stop_of(const struct pw_sim_play *play, size_t i, int64_t at, struct stop *out)
{
    const struct pw_sim_fault *f = &play->params->faults[i];
    int64_t anchor = play->anchor[i];
    if (pw_sim_kind_of(f->kind)->how == PW_SIM_STOPS_ONCE) {
        *out = (struct stop){anchor, anchor + f->ns, i};
        return out->end > at;
    }
    int64_t round = at > anchor ? (at - anchor) / f->every_ns : 0;
    int64_t end = anchor + (round + 1) * f->every_ns, until = anchor + f->for_ns;
    *out = (struct stop){end - f->ns, end, i};
    if (!f->for_ns)
        return play->step <= f->last;
    out->end = end < until ? end : until;
    return out->start < until && out->end > at;
}

static int next_stop(const struct pw_sim_play *play, int64_t rank, int64_t at, struct stop *out)
{
    const struct pw_sim_params *p = play->params;
    int found = 0;
    for (size_t i = 0; i < p->nfaults; i++) {
        struct stop stop;
        if (!(play->stopping >> i & 1) || !pw_sim_fault_on_rank(p, &p->faults[i], rank) ||
            !stop_of(play, i, at, &stop) || (found && out->start <= stop.start))
            continue;
        *out = stop;
        found = 1;
    }
    return found;
}

int64_t pw_sim_advance(const struct pw_sim_play *play, int64_t rank, int64_t at, int64_t ns)
{
    struct stop stop;
    while (play->stopping && next_stop(play, rank, at, &stop) &&
           (ns ? stop.start < at + ns : stop.start < at)) {
        ns -= stop.start > at ? stop.start - at : 0;
        at = stop.end;
    }
    return at + ns;
}

int64_t pw_sim_advance_both(const struct pw_sim_play *play, int64_t a, int64_t b, int64_t at,
                            int64_t ns)
{
    int64_t one = pw_sim_advance(play, a, at, ns), other = pw_sim_advance(play, b, at, ns);
    return one > other ? one : other;
}

static int is_heard(const struct pw_sim_play *play, int64_t rank)
{
    const struct pw_sim_sink *sink = play->sink;
    return sink && sink->fault && rank >= sink->first && rank <= sink->last;
}

static void tell(const struct pw_sim_play *play, int64_t rank, size_t fault, int64_t start,
                 int64_t end)
{
    const struct pw_sim_sink *sink = play->sink;
    const struct pw_sim_held held = {rank, play->step, fault, start, end};
    if (end > start)
        sink->fault(sink->context, &held);
}

void pw_sim_tell_stops(struct pw_sim_play *play, int64_t rank, int64_t until)
{
    int64_t at = play->told[rank];
    struct stop stop;
    play->told[rank] = until;
    while (is_heard(play, rank) && play->stopping && next_stop(play, rank, at, &stop) &&
           stop.start < until) {
        int64_t start = stop.start > at ? stop.start : at;
        at = stop.end < until ? stop.end : until;
        tell(play, rank, stop.fault, start, at);
    }
}

void pw_sim_tell_fault(struct pw_sim_play *play, int64_t rank, size_t fault, int64_t start,
                       int64_t end)
{
    if (pw_sim_kind_of(play->params->faults[fault].kind)->state != PW_SIM_RUNNING) {
        pw_sim_tell_stops(play, rank, start);
        play->told[rank] = end;
    }
    if (is_heard(play, rank))
        tell(play, rank, fault, start, end);
}

double pw_sim_extra_of(const struct pw_sim_play *play, size_t i, int64_t rank, enum pw_phase phase,
                       double share)
{
    const struct pw_sim_params *p = play->params;
    const struct pw_sim_fault *f = &p->faults[i];
    enum pw_sim_how how = pw_sim_kind_of(f->kind)->how;
    if ((play->without >> i & 1) || f->phase != phase || f->kind == PW_SIM_SLOW_GPU ||
        (how != PW_SIM_ADDS && how != PW_SIM_ADDS_NS) || !pw_sim_fault_hits(p, f, rank, play->step))
        return 0;
    if (how == PW_SIM_ADDS_NS)
        return (double)f->ns * share;
    double extra = f->percent / 100 * (double)p->step_ns * share;
    if (f->kind == PW_SIM_DRIFT && f->last > f->first)
        extra *= (double)(play->step - f->first) / (double)(f->last - f->first);
    return extra;
}

double pw_sim_extra(const struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double share)
{
    double extra = 0;
    for (size_t i = 0; i < play->params->nfaults; i++)
        extra += pw_sim_extra_of(play, i, rank, phase, share);
    return extra;
}

static enum pw_sim_state state_of(const struct pw_sim_play *play, size_t i)
{
    return pw_sim_kind_of(play->params->faults[i].kind)->state;
}

int64_t pw_sim_extra_work(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double share,
                          int64_t own_ns)
{
    size_t n = play->params->nfaults;
    int64_t off_ns = 0;
    for (size_t i = 0; i < n; i++)
        if (state_of(play, i) != PW_SIM_RUNNING)
            off_ns += (int64_t)pw_sim_extra_of(play, i, rank, phase, share);
    int64_t at = pw_sim_advance(play, rank, play->now[rank], own_ns - off_ns);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = (int64_t)pw_sim_extra_of(play, i, rank, phase, share);
        if (!ns)
            continue;
        if (state_of(play, i) == PW_SIM_RUNNING) {
            pw_sim_tell_fault(play, rank, i, at - ns, at);
            continue;
        }
        int64_t end = at + ns;
        pw_sim_tell_fault(play, rank, i, at, end);
        at = pw_sim_advance(play, rank, end, 0);
    }
    return at;
}

void pw_sim_extra_pauses(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        if (pw_sim_kind_of(f->kind)->how != PW_SIM_PAUSES || (play->without >> i & 1))
            continue;
        for (int64_t r = 0; r < p->ranks; r++) {
            if (!pw_sim_fault_hits(p, f, r, play->step))
                continue;
            pw_sim_tell_fault(play, r, i, play->now[r], play->now[r] + f->ns);
            play->now[r] = pw_sim_advance(play, r, play->now[r] + f->ns, 0);
        }
    }
}
