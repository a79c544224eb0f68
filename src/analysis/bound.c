/* Measures in each bin how long other processes use the CPUs that a rank may use; see bound.h. */
#include "analysis/bound.h"

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

struct measuring {
    const struct pw_bound_input *in;
    const struct pw_bound *out;
    int64_t *order, *begin; /* ranks sorted by host; [nranks + 1] where each host begins in it */
    int64_t *share, *cpus;  /* of the ranks of one host, sorted: use by others for each CPU, and
                               number of CPUs */
    size_t nhosts;
};

size_t pw_bound_scratch(const struct pw_bound_input *in)
{
    return sizeof(int64_t) * (4 * in->nranks + 2);
}

static const struct pw_row_c_bin_trace *row_at(const struct pw_bound_input *in, size_t bin,
                                               size_t rank)
{
    return &in->rows[bin * in->nranks + rank];
}

static int is_known(const struct pw_row_c_bin_trace *row)
{
    return row->cpus > 0 && row->cpus_busy_ns >= 0 && row->process_ns >= 0 && row->wait_ns >= 0;
}

static int64_t limited(double value, int64_t most)
{
    return value < 0 ? 0 : value < (double)most ? (int64_t)value : most;
}

/* Sorts the ranks by host. */
static void sort_by_host(struct measuring *m)
{
    const struct pw_bound_input *in = m->in;
    for (size_t h = 0; h <= in->nranks; h++)
        m->begin[h] = 0;
    for (size_t r = 0; r < in->nranks; r++)
        m->begin[in->host_of[r] + 1]++;
    for (size_t h = 0; h < in->nranks; h++) {
        m->nhosts = m->begin[h + 1] ? h + 1 : m->nhosts;
        m->begin[h + 1] += m->begin[h];
        m->share[h] = m->begin[h];
    }
    for (size_t r = 0; r < in->nranks; r++)
        m->order[m->share[in->host_of[r]]++] = (int64_t)r;
}

/* 1 when the rank of `row` ran on CPUs of the rank of `of`, as far as is known: all its CPUs are
 * among those, or it was sampled on one of them. */
static int was_there(const struct pw_row_c_bin_trace *row, const struct pw_row_c_bin_trace *of)
{
    if (row->cpu_lowest >= of->cpu_lowest && row->cpu_highest <= of->cpu_highest)
        return 1;
    return row->processor >= of->cpu_lowest && row->processor <= of->cpu_highest;
}

static int is_wider(const struct pw_row_c_bin_trace *row, const struct pw_row_c_bin_trace *than)
{
    return row->cpus > than->cpus && row->cpu_lowest <= than->cpu_lowest &&
           row->cpu_highest >= than->cpu_highest;
}

static int64_t others_on(const struct measuring *m, size_t bin, size_t host, size_t rank)
{
    const struct pw_row_c_bin_trace *mine = row_at(m->in, bin, rank);
    double used = 0;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const struct pw_row_c_bin_trace *row = row_at(m->in, bin, (size_t)m->order[i]);
        used += was_there(row, mine) ? (double)row->process_ns : 0;
    }
    return limited((double)mine->cpus_busy_ns - used, INT64_MAX / 2);
}

/* The least use by others of the rank's CPUs and of all larger sets that contain them: other
 * processes cannot use more of a set than of a larger set. */
static int64_t least_of_wider(const struct measuring *m, size_t bin, size_t host, size_t rank)
{
    const struct pw_row_c_bin_trace *mine = row_at(m->in, bin, rank);
    int64_t least = m->out->others_ns[bin * m->in->nranks + rank];
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i];
        const int64_t theirs = m->out->others_ns[bin * m->in->nranks + r];
        if (is_wider(row_at(m->in, bin, r), mine) && theirs < least)
            least = theirs;
    }
    return least;
}

static int64_t kept_from(const struct pw_row_c_bin_trace *row, int64_t others, int64_t bin_ns)
{
    const double own = (double)(bin_ns - row->wait_ns - row->outside_ns);
    const double throttled = row->throttled_ns > 0 ? (double)row->throttled_ns : 0;
    const double ready = (double)limited((double)row->ready_ns - throttled, bin_ns);
    const double free_for = (double)row->cpus_busy_ns - (double)row->process_ns;
    const double share = free_for > 0 ? (double)others / free_for : 0;
    return limited((ready < own ? ready : own) * (share < 1 ? share : 1), bin_ns);
}

static int64_t median_without(const int64_t *sorted, size_t n, int64_t value)
{
    return pw_median_without_i64(sorted, n, value);
}

/* Sets `beside` for the ranks of a host, all of which must be known in the bin. */
static void compare(struct measuring *m, size_t bin, size_t host)
{
    const struct pw_bound_input *in = m->in;
    const int64_t *order = m->order + m->begin[host];
    const size_t n = (size_t)(m->begin[host + 1] - m->begin[host]);
    for (size_t i = 0; i < n; i++) {
        const size_t cell = bin * in->nranks + (size_t)order[i];
        m->share[i] = m->out->others_ns[cell] / in->rows[cell].cpus;
        m->cpus[i] = in->rows[cell].cpus;
    }
    pw_sort_i64(m->share, n);
    pw_sort_i64(m->cpus, n);
    for (size_t i = 0; i < n && n > 1; i++) {
        const size_t cell = bin * in->nranks + (size_t)order[i];
        const int64_t cpus = in->rows[cell].cpus, share = m->out->others_ns[cell] / cpus;
        const double usual = (double)median_without(m->share, n, share);
        const int is_narrow = 2 * cpus <= median_without(m->cpus, n, cpus);
        if ((double)share >= PW_BOUND_SHARE * (double)in->bin_ns &&
            (double)share >= (is_narrow ? PW_BOUND_FEWER_CPUS : PW_BOUND_MORE) * usual)
            m->out->beside[cell] = is_narrow ? PW_BESIDE_NARROW : PW_BESIDE;
    }
}

static void measure_host(struct measuring *m, size_t bin, size_t host)
{
    const struct pw_bound_input *in = m->in;
    int known = 1;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++)
        known &= is_known(row_at(in, bin, (size_t)m->order[i]));
    if (!known)
        return;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i];
        m->out->others_ns[bin * in->nranks + r] = others_on(m, bin, host, r);
    }
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i], cell = bin * in->nranks + r;
        m->out->others_ns[cell] = least_of_wider(m, bin, host, r);
        m->out->kept_ns[cell] = kept_from(row_at(in, bin, r), m->out->others_ns[cell], in->bin_ns);
    }
    compare(m, bin, host);
}

void pw_bound_measure(const struct pw_bound_input *in, void *scratch, const struct pw_bound *out)
{
    int64_t *room = scratch;
    const size_t n = in->nranks;
    struct measuring m = {in, out, room, room + n, room + 2 * n + 2, room + 3 * n + 2, 0};
    int all = 1;
    for (size_t i = 0; i < in->nbins * n; i++) {
        out->others_ns[i] = out->kept_ns[i] = -1;
        out->beside[i] = PW_BESIDE_NOT;
    }
    for (size_t r = 0; in->nbins && r < n; r++)
        all &= row_at(in, 0, r)->wait_ns >= 0;
    if (!all)
        return; /* the processes of a rank without a file would count as others */
    sort_by_host(&m);
    for (size_t i = 0; i < in->nbins; i++)
        for (size_t h = 0; h < m.nhosts; h++)
            measure_host(&m, i, h);
}

/* The first bin from which on the rank may use the same CPUs as in `bin`; -1: not known. */
static ptrdiff_t bound_since(const struct pw_bound_input *in, size_t rank, size_t bin)
{
    const uint64_t set = row_at(in, bin, rank)->cpu_set;
    for (size_t i = bin; i > 0; i--) {
        const struct pw_row_c_bin_trace *before = row_at(in, i - 1, rank);
        if (before->cpus <= 0)
            return -1;
        if (before->cpu_set != set)
            return (ptrdiff_t)i;
    }
    return -1;
}

int pw_bound_look(const struct pw_bound_input *in, const struct pw_bound *bound,
                  struct pw_bound_where where, int64_t *scratch, struct pw_bound_found *found)
{
    const size_t rank = where.rank, first = where.first, last = where.last;
    size_t bins = 0, middle = first;
    double others = 0, time = 0;
    for (size_t i = first; i <= last && i < in->nbins; i++) {
        if (!bound->beside[i * in->nranks + rank])
            continue;
        others += (double)bound->others_ns[i * in->nranks + rank];
        time += (double)row_at(in, i, rank)->cpus * (double)in->bin_ns;
        bins++;
        if (i <= first + (last - first) / 2 || bins == 1)
            middle = i;
    }
    if (!bins || 2 * bins < last - first + 1)
        return 0;
    const struct pw_row_c_bin_trace *row = row_at(in, middle, rank);
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (r != rank && in->host_of[r] == in->host_of[rank])
            scratch[n++] = row_at(in, middle, r)->cpus;
    *found = (struct pw_bound_found){
        .cpus = row->cpus,
        .lowest = row->cpu_lowest,
        .highest = row->cpu_highest,
        .others_cpus = n ? (int)pw_median_i64(scratch, n) : 0,
        .share = others / time < 1 ? others / time : 1,
        .since = bound_since(in, rank, middle),
    };
    return 1;
}
