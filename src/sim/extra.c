/* Adds the faults' work; see extra.h. */
#include "sim/extra.h"

#include "sim/kinds.h"
#include "sim/stops.h"

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
                          int64_t start, int64_t own_ns)
{
    size_t n = play->params->nfaults;
    int64_t off_ns = 0;
    for (size_t i = 0; i < n; i++)
        if (state_of(play, i) != PW_SIM_RUNNING)
            off_ns += (int64_t)pw_sim_extra_of(play, i, rank, phase, share);
    int64_t at = pw_sim_advance(play, rank, start, own_ns - off_ns);
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
