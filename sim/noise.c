/* Draws noise that ranks share from a stream for each kind; see noise.h. */
#include "sim/noise.h"

#include "sim/random.h"

/* A host has a burst in 2 % of the steps; a garbage collector pauses after about every 50th
 * step. */
enum { BURSTS_PER_100 = 2, GC_STEPS = 50 };
enum { HOST_STREAM = 0x686f7374, RACK_STREAM = 0x7261636b, BURST_STREAM = 0x62757273 };
enum { GC_STREAM = 0x67632020 };

static uint64_t bits_of(const struct pw_sim_params *p, uint64_t stream, int64_t who, int64_t step)
{
    return pw_sim_bits(p->seed, stream, (uint64_t)who, (uint64_t)step);
}

double pw_sim_noise_growth(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    int64_t host = pw_sim_host(p, rank);
    if (p->host_noise <= 0 && p->rack_noise <= 0)
        return 1;
    return pw_sim_lognormal(bits_of(p, HOST_STREAM, host, step), p->host_noise) *
           pw_sim_lognormal(bits_of(p, RACK_STREAM, host / PW_SIM_HOSTS_PER_RACK, step),
                            p->rack_noise);
}

/* Exponentially distributed: most are short, some are long. All ranks of the host have the burst in
 * the same phase. */
static double burst_ns(const struct pw_sim_params *p, int64_t rank, int64_t step,
                       enum pw_phase phase)
{
    uint64_t bits = bits_of(p, BURST_STREAM, pw_sim_host(p, rank), step);
    enum pw_phase hit = bits >> 32 & 1 ? PW_PHASE_FORWARD : PW_PHASE_BACKWARD;
    if (p->burst_ns <= 0 || bits % 100 >= BURSTS_PER_100 || phase != hit)
        return 0;
    return -log(pw_sim_uniform(pw_sim_mix(bits))) * (double)p->burst_ns;
}

/* Each rank pauses in another step, because ranks allocate similar but not equal amounts. */
static double gc_ns(const struct pw_sim_params *p, int64_t rank, int64_t step, enum pw_phase phase)
{
    uint64_t offset = bits_of(p, GC_STREAM, rank, -1) % GC_STEPS;
    if (p->gc_ns <= 0 || phase != PW_PHASE_FORWARD || ((uint64_t)step + offset) % GC_STEPS != 0)
        return 0;
    return (0.5 + pw_sim_uniform(bits_of(p, GC_STREAM, rank, step))) * (double)p->gc_ns;
}

double pw_sim_noise_ns(const struct pw_sim_params *p, int64_t rank, int64_t step,
                       enum pw_phase phase)
{
    return burst_ns(p, rank, step, phase) + gc_ns(p, rank, step, phase);
}

double pw_sim_noise_all(const struct pw_sim_params *p)
{
    double lengths = 0.9 * p->lengths; /* forward and backward */
    return sqrt(p->noise * p->noise + p->host_noise * p->host_noise +
                p->rack_noise * p->rack_noise + lengths * lengths);
}
