/* Sums up FLOPs and times of steps; see mfu.h. */
#include "analysis/mfu.h"

#include "core/limits.h"

void pw_mfu_add(struct pw_mfu *mfu, double flops, int64_t ns)
{
    if (!(flops > 0 && flops < PW_MOST_FLOPS) || ns <= 0 || !pw_is_possible(ns))
        return;
    mfu->flops += flops;
    mfu->ns = pw_sum(mfu->ns, ns);
    mfu->steps++;
}

double pw_mfu_rate(const struct pw_mfu *mfu)
{
    return mfu->steps ? mfu->flops / ((double)mfu->ns / 1e9) : -1;
}

double pw_mfu_share(double rate, double peak)
{
    return rate >= 0 && peak > 0 ? rate / peak : -1;
}
