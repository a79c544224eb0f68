/* Adds up samples one at a time; see gpusamples.h. */
#include "analysis/gpusamples.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/limits.h"

void pw_gpu_clocks_add(struct pw_gpu_clocks *c, const struct pw_row_gpu *sample)
{
    enum { HIGHEST_MHZ = 1000000 };
    uint64_t reasons = sample->clock_reasons;
    if (sample->sm_clock_mhz <= 0 || sample->sm_clock_mhz > HIGHEST_MHZ)
        return;
    if (reasons == UINT64_MAX) /* the reasons could not be read */
        reasons = 0;
    if (reasons & PW_CLOCKS_IDLE)
        return;
    c->samples++;
    c->mhz += sample->sm_clock_mhz;
    c->slowed += (reasons & PW_CLOCKS_SLOWED) != 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        c->by_bit[bit] += (int64_t)(reasons >> bit & 1);
}

double pw_gpu_clocks_mean(const struct pw_gpu_clocks *c)
{
    return c->samples ? (double)c->mhz / (double)c->samples : -1;
}

uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *c)
{
    uint64_t reasons = 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        if (c->by_bit[bit] > 0 && 10 * c->by_bit[bit] >= c->samples)
            reasons |= (uint64_t)1 << bit;
    return reasons & PW_CLOCKS_SLOWED;
}

const char *pw_gpu_clocks_word(uint64_t reasons)
{
    if (reasons & (PW_CLOCKS_THERMAL | PW_CLOCKS_HARDWARE_THERMAL))
        return "heat";
    if (reasons & PW_CLOCKS_POWER_BRAKE)
        return "the power brake";
    if (reasons & PW_CLOCKS_HARDWARE)
        return "the hardware's slowdown";
    return reasons & PW_CLOCKS_POWER_CAP ? "the power cap" : "";
}

/* Offsets of each metric in a sample and in the row of a GPU. */
#define FIELD(type, name, unit, meaning) \
    {offsetof(struct pw_row_gpu, name), offsetof(struct pw_row_c_gpu_device, name)},
static const struct {
    size_t sample, row;
} gpm_fields[] = {PW_GPM_FIELDS(FIELD)};
#undef FIELD
static_assert(sizeof(gpm_fields) / sizeof(gpm_fields[0]) == PW_GPM_METRICS,
              "each metric has a mean");

static void count(struct pw_gpu_counter *c, int64_t value)
{
    if (value < 0 || !pw_is_possible(value))
        return;
    c->first = c->is_known ? c->first : value;
    c->last = value;
    c->is_known = 1;
}

static int64_t rise(const struct pw_gpu_counter *c)
{
    if (!c->is_known)
        return -1;
    return c->last > c->first ? c->last - c->first : 0;
}

static int64_t most(int64_t a, int64_t b)
{
    return b > a && pw_is_possible(b) ? b : a;
}

static void add_measured(struct pw_gpu_samples *s, const struct pw_row_gpu *sample)
{
    if (sample->gpm_ns <= 0 || !pw_is_possible(sample->gpm_ns))
        return;
    s->gpm_ns = pw_sum(s->gpm_ns, sample->gpm_ns);
    for (int i = 0; i < PW_GPM_METRICS; i++) {
        double value;
        memcpy(&value, (const char *)sample + gpm_fields[i].sample, sizeof(value));
        if (!(value >= 0 && value < 1e18))
            continue;
        s->gpm[i].sum += value * (double)sample->gpm_ns;
        s->gpm[i].weight += (double)sample->gpm_ns;
    }
}

void pw_gpu_samples_add(struct pw_gpu_samples *s, const struct pw_row_gpu *sample)
{
    pw_gpu_clocks_add(&s->clocks, sample);
    if (sample->power_mw >= 0 && pw_is_possible(sample->power_mw)) {
        s->power_mw.sum += (double)sample->power_mw;
        s->power_mw.weight++;
    }
    s->power_most_mw = most(s->power_most_mw, sample->power_mw);
    s->power_most_mw = most(s->power_most_mw, sample->power_instant_mw);
    s->memory_most = most(s->memory_most, sample->memory_used_bytes);
    s->temperature_most = most(s->temperature_most, sample->temperature_c);
    count(&s->power_capped, sample->power_capped_ns);
    count(&s->heat, sample->heat_slowed_ns);
    count(&s->brake, sample->brake_slowed_ns);
    add_measured(s, sample);
}

double pw_gpu_mean_value(const struct pw_gpu_mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : -1;
}

void pw_gpu_samples_fill(const struct pw_gpu_samples *s, struct pw_row_c_gpu_device *out)
{
    const double power = pw_gpu_mean_value(&s->power_mw);
    out->samples = s->clocks.samples;
    out->sm_clock_mhz = pw_gpu_clocks_mean(&s->clocks);
    out->slowed_share =
        s->clocks.samples ? (double)s->clocks.slowed / (double)s->clocks.samples : -1;
    out->memory_most_bytes = s->memory_most > 0 ? s->memory_most : -1;
    out->power_w = power < 0 ? -1 : power / 1e3;
    out->power_most_w = s->power_most_mw > 0 ? (double)s->power_most_mw / 1e3 : -1;
    out->temperature_most_c = s->temperature_most > 0 ? (double)s->temperature_most : -1;
    out->power_capped_ns = rise(&s->power_capped);
    out->heat_slowed_ns = rise(&s->heat);
    out->brake_slowed_ns = rise(&s->brake);
    out->gpm_ns = s->gpm_ns;
    for (int i = 0; i < PW_GPM_METRICS; i++) {
        const double value = pw_gpu_mean_value(&s->gpm[i]);
        memcpy((char *)out + gpm_fields[i].row, &value, sizeof(value));
    }
}
