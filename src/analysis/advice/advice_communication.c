/* Rules about the ranks' work, waiting for each other and moving bytes; see rules.h. */
#include "analysis/advice/rules.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/text.h"

static int is(const char field[16], const char *name)
{
    return strncmp(field, name, 16) == 0;
}

static int is_on(const struct pw_cluster *c, int32_t rank, const char hostname[64])
{
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].rank == rank)
            return strncmp(c->ranks[r].hostname, hostname, 64) == 0;
    return 0;
}

/* 1 when a row of /network is about this pair of ranks, or about the host of one of them. */
static int covers(const struct pw_cluster *c, int32_t src, int32_t dst)
{
    for (size_t i = 0; i < c->nnetwork; i++) {
        const struct pw_row_c_network *row = &c->network[i];
        if ((row->src == src && row->dst == dst) || (row->src == dst && row->dst == src))
            return 1;
        if (is(row->scope, "host") &&
            (is_on(c, src, row->hostname) || is_on(c, dst, row->hostname)))
            return 1;
    }
    return 0;
}

int pw_judge_slow_network(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_network *row = pw_network_worst(in->cluster);
    if (!row)
        return 0;
    pw_network_say(row, &s);
    if (is(row->scope, "link")) {
        pw_advice_add_rank(advice, row->src);
        pw_advice_add_rank(advice, row->dst);
        pw_sentence_add(&text, "Check what is between the two hosts: the cable, port and switch, "
                               "and the binding of both ranks to the network card.");
    } else if (is(row->scope, "host")) {
        pw_sentence_add(&text,
                        "Check the host's network card, its cable and its port of the switch, and "
                        "what else on the host uses the network; or leave the host out.");
    }
    advice->saves_ns = row->gain_ns;
    return 1;
}

enum { SMALL_BYTES = 32768 };

static double steps_ns(const struct pw_advice_input *in)
{
    return (double)in->step_mean_ns * (double)in->measured;
}

static double share_of_step(const struct pw_advice_input *in, int64_t ns)
{
    return ns < 0 || in->mean.total_ns <= 0 ? -1 : (double)ns / (double)in->mean.total_ns;
}

/* Limits `saves` to what the replay without transfer time saves. */
static int64_t at_most_network(const struct pw_advice_input *in, int64_t saves)
{
    const int64_t all = pw_advice_whatif_gain(in, "network");
    return all >= 0 && all < saves ? all : saves;
}

int pw_judge_slow_host(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_host *worst = NULL;
    for (size_t i = 0; i < in->cluster->nhosts_slow; i++)
        if (!worst || in->cluster->hosts_slow[i].gain_ns > worst->gain_ns)
            worst = &in->cluster->hosts_slow[i];
    if (!worst)
        return 0;
    char excess[32];
    pw_sentence_add(
        &s,
        "%" PRId32 " of %" PRId32 " ranks of %.*s are slow in steps %" PRId64 "-%" PRId64 ", by %s",
        worst->slow_ranks, worst->nranks, (int)sizeof(worst->hostname), worst->hostname,
        worst->first_step, worst->last_step, pw_text_ns(excess, sizeof(excess), worst->excess_ns));
    advice->saves_ns = worst->gain_ns > 0 ? worst->gain_ns : -1;
    return 1;
}

static const struct pw_row_c_rank *find_rank(const struct pw_cluster *c, int32_t rank)
{
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].rank == rank)
            return &c->ranks[r];
    return NULL;
}

/* Whether both ranks are on one host, where no cable is between them. */
static int is_inside_host(const struct pw_cluster *c, const struct pw_row_c_link *link)
{
    const struct pw_row_c_rank *a = find_rank(c, link->src), *b = find_rank(c, link->dst);
    return a && b && a->hostname[0] && strncmp(a->hostname, b->hostname, sizeof(a->hostname)) == 0;
}

int pw_judge_slow_link(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_link *worst = NULL;
    double most = 0;
    for (size_t i = 0; i < in->cluster->nlinks_slow; i++) {
        const struct pw_row_c_link *link = &in->cluster->links_slow[i];
        if (covers(in->cluster, link->src, link->dst))
            continue; /* the advice slow_network covers this link */
        double lost =
            (double)link->messages * ((double)link->transfer_ns - (double)link->others_ns);
        if (!worst || lost > most) {
            worst = link;
            most = lost;
        }
    }
    if (!worst || pw_nocpu_find(in->cluster).worst >= 0)
        return 0;
    char mine[32], others[32];
    pw_sentence_add(
        &s, "from rank %" PRId32 " to %" PRId32 ": %s a message, others %s, %" PRId64 " messages",
        worst->src, worst->dst, pw_text_ns(mine, sizeof(mine), worst->transfer_ns),
        pw_text_ns(others, sizeof(others), worst->others_ns), worst->messages);
    pw_advice_add_rank(advice, worst->src);
    pw_advice_add_rank(advice, worst->dst);
    pw_sentence_add(&text,
                    "Messages from rank %" PRId32 " to rank %" PRId32
                    " take longer than others of their size, whichever rank waits: check %s.",
                    worst->src, worst->dst,
                    is_inside_host(in->cluster, worst)
                        ? "where both are bound (cores, NUMA domain), and how they share the "
                          "memory of their host"
                        : "the cable, port and switch between their hosts, and the binding to the "
                          "network card");
    advice->saves_ns = at_most_network(in, most > 0 ? pw_whole(most) : -1);
    return 1;
}

static int is_straggler(const struct pw_cluster *c, int32_t rank)
{
    for (size_t i = 0; i < c->nstragglers; i++)
        if (c->stragglers[i].rank == rank)
            return 1;
    return 0;
}

/* The time that receivers waited for late sends, and the rank whose sends caused most of it. */
struct late {
    double all_ns, worst_ns;
    int32_t worst;
};

/* Rows of /p2p are sorted by sender. */
static struct late sum_late(const struct pw_cluster *c)
{
    struct late late = {.worst = -1};
    double sum = 0;
    for (size_t i = 0; i < c->np2p; i++) {
        sum = i > 0 && c->p2p[i - 1].src == c->p2p[i].src ? sum : 0;
        if (c->p2p[i].late_sender_ns <= 0)
            continue;
        late.all_ns += (double)c->p2p[i].late_sender_ns;
        sum += (double)c->p2p[i].late_sender_ns;
        if (sum > late.worst_ns) {
            late.worst_ns = sum;
            late.worst = c->p2p[i].src;
        }
    }
    return late;
}

/* The root of the waits: the rank whose replay with the others' work makes the run shortest. In a
 * chain of messages every sender is late, but only the root is late by its own work. NULL when no
 * rank was replayed. */
static const struct pw_row_c_whatif *find_root(const struct pw_cluster *c)
{
    const struct pw_row_c_whatif *root = NULL;
    for (size_t i = 0; i < c->nwhatif; i++)
        if (strncmp(c->whatif[i].scope, "rank", sizeof(c->whatif[i].scope)) == 0 &&
            (!root || c->whatif[i].gain_ns > root->gain_ns))
            root = &c->whatif[i];
    return root;
}

/* 1 when, by the replay, most waits begin at the root. */
static int explains(const struct pw_advice_input *in, const struct pw_row_c_whatif *root,
                    double per_rank)
{
    const double run = root->elapsed_ns > 0 ? (double)root->elapsed_ns : steps_ns(in);
    return (double)root->gain_ns >= PW_LATE_ROOT_SHARE * steps_ns(in) &&
           (double)root->gain_ns / run >= PW_LATE_ROOT_WAITS * per_rank / steps_ns(in);
}

/* Writes the evidence and the saving, which is at most the replay's. Returns 0 when the rank is a
 * straggler, because that has advice of its own. */
static int judge_root(const struct pw_advice_input *in, const struct late *late, double per_rank,
                      struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_whatif *root = find_root(in->cluster);
    const int is_named = root && explains(in, root, per_rank);
    const int32_t rank = is_named ? root->rank : root ? -1 : late->worst;
    char waited[32], by[32];
    if (rank >= 0 && is_straggler(in->cluster, rank))
        return 0;
    pw_sentence_add(&s, "a rank waits %s on average",
                    pw_text_ns(waited, sizeof(waited), pw_whole(per_rank)));
    if (is_named) {
        pw_sentence_add(&s,
                        "; most of it begins at rank %" PRId32
                        ": with work like the others' the replay is %s shorter",
                        rank, pw_text_ns(by, sizeof(by), root->gain_ns));
        advice->saves_ns = root->gain_ns;
    } else if (root) {
        int64_t job = pw_advice_whatif_gain(in, "job");
        pw_sentence_add(&s, "; no single rank's work explains it");
        advice->saves_ns = job < pw_whole(per_rank) ? job : pw_whole(per_rank);
    } else {
        pw_sentence_add(&s, "; most waits are for rank %" PRId32 " (%s), which may wait in turn",
                        rank, pw_text_ns(by, sizeof(by), pw_whole(late->worst_ns)));
    }
    if (rank >= 0)
        pw_advice_add_rank(advice, rank);
    return 1;
}

/* What a rank waited for messages on average, ns. It may wait for several at once, so it is at most
 * what it waited in all. */
static double wait_of_rank(const struct pw_advice_input *in, const struct late *late)
{
    const double summed = in->present > 0 ? late->all_ns / (double)in->present : 0;
    const double share = share_of_step(in, in->mean.wait_ns), waited = share * steps_ns(in);
    return share >= 0 && waited < summed ? waited : summed;
}

/* Waits that a straggler causes belong to the advice about that rank. */
int pw_judge_late_senders(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct late late = sum_late(in->cluster);
    const double per_rank = wait_of_rank(in, &late);
    if (late.worst < 0 || !(steps_ns(in) > 0) || !(per_rank > PW_LATE_SENDERS_SHARE * steps_ns(in)))
        return 0;
    return judge_root(in, &late, per_rank, advice);
}

int pw_judge_load_imbalance(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    double balance = in->cluster->nefficiency ? in->cluster->efficiency->load_balance : -1;
    pw_sentence_add(&s, "ranks work on average for %.0f %% of the busiest rank's time",
                    100 * balance);
    advice->saves_ns = pw_advice_whatif_gain(in, "job");
    if (in->verdict.kind == PW_VERDICT_UNKNOWN) /* a rank may be late enough */
        pw_sentence_add(&text, "The work is uneven: balance it %s.",
                        in->is_training ? "(equal batches, sequence lengths and domains; sort or "
                                          "bucket what varies)"
                                        : "(parts of the problem of equal cost)");
    return in->cluster->nstragglers == 0 && !in->verdict.imbalance && in->expected > 1 &&
           balance >= 0 && !pw_advice_is_balanced(in);
}

int pw_judge_wait_roams(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    double wait = share_of_step(in, in->mean.wait_ns);
    pw_sentence_add(&s, "ranks wait for others in %.0f %% of a step", 100 * wait);
    advice->saves_ns = pw_advice_whatif_gain(in, "job");
    return pw_advice_is_unnamed(in) && wait > PW_ROAMING_SHARE && pw_advice_is_balanced(in);
}

int pw_judge_transfer_exposed(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    double wait = share_of_step(in, in->mean.wait_ns);
    double exposed = share_of_step(in, in->mean.comm_exposed_ns) - (wait > 0 ? wait : 0);
    pw_sentence_add(&s, "%.0f %% of a step is exposed communication, %s", 100 * exposed,
                    in->mean.wait_ns < 0 ? "of which it is not known how much is waiting"
                                         : "without waiting");
    advice->saves_ns = pw_advice_whatif_gain(in, "network");
    if (advice->saves_ns < 0)
        advice->saves_ns = pw_advice_of_all_steps(in, exposed * (double)in->mean.total_ns);
    return in->expected > 1 && exposed > PW_EXPOSED_SHARE && pw_nocpu_find(in->cluster).worst < 0;
}

/* Blocking collectives of less than 32 KiB: their transfer is latency, paid once per call. */
static int is_small(const struct pw_row_c_collective_stat *stat)
{
    return stat->count > 0 && stat->bytes > 0 && stat->bytes / stat->count < SMALL_BYTES &&
           stat->transfer_mean_ns > 0 && !pw_advice_is_nonblocking(stat->op);
}

static double best_bandwidth(const struct pw_cluster *c)
{
    double best = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].busbw_p50 > best)
            best = c->collective_stats[i].busbw_p50;
    return best;
}

int pw_judge_small_collectives(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_cluster *c = in->cluster;
    double ns = 0, known_ns = 0, at_best_ns = 0, count = 0, bytes = 0, seen = 0;
    const double best = best_bandwidth(c);
    for (size_t i = 0; i < c->ncollective_stats; i++) {
        const struct pw_row_c_collective_stat *stat = &c->collective_stats[i];
        if (!is_small(stat))
            continue;
        double all = (double)stat->count * (double)stat->transfer_mean_ns;
        ns += all;
        if (stat->busbw_p50 > 0) { /* without a bandwidth there is nothing to compare with */
            known_ns += all;
            at_best_ns += all * stat->busbw_p50 / best;
            seen += all * stat->busbw_p50;
        }
        count += (double)stat->count;
        bytes += (double)stat->bytes;
    }
    if (!(steps_ns(in) > 0) || !(ns > PW_SMALL_SHARE * steps_ns(in)) || pw_nocpu_find(c).worst >= 0)
        return 0;
    char mean[32], time[32], busbw[32], most[32];
    pw_sentence_add(&s, "%.0f with %s on average take %s", count,
                    pw_text_bytes(mean, sizeof(mean), pw_whole(bytes / count)),
                    pw_text_ns(time, sizeof(time), pw_whole(ns)));
    if (known_ns > 0)
        pw_sentence_add(&s, "; at %s, the best measured is %s",
                        pw_text_rate(busbw, sizeof(busbw), seen / known_ns),
                        pw_text_rate(most, sizeof(most), best));
    if (known_ns > 0)
        advice->saves_ns = at_most_network(in, pw_whole(known_ns - at_best_ns));
    return 1;
}

/* Work that differs by design, and time in which all ranks were slower. */

/* What to do about a role that has more work, by what its name says that it is; "": the text of the
 * rule. */
static const char *role_advice(const struct pw_row_c_imbalance *row)
{
    if (strncmp(row->name, "stage", strlen("stage")) == 0)
        return "Move work between the pipeline's stages: layers from the heavy stages to the "
               "others.";
    if (strstr(row->name, "expert"))
        return "Move work between the roles: experts' capacity to where the tokens go, or more "
               "ranks for the heavy role.";
    return "";
}

int pw_judge_unequal_work(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_imbalance *row = in->verdict.imbalance;
    if (!row)
        return 0;
    pw_imbalance_write(row, &evidence);
    if (row->first_rank >= 0)
        pw_advice_add_rank(advice, row->first_rank);
    advice->saves_ns = row->gain_ns;
    if (is(row->kind, "role"))
        pw_sentence_add(&text, "%s", role_advice(row));
    else
        pw_sentence_add(&text, "Share the work out evenly: %s.",
                        in->is_training ? "batches of equal tokens (sort or bucket what varies)"
                                        : "parts of the problem of equal cost");
    return 1;
}

int pw_judge_no_peers(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_imbalance *row = in->verdict.alone;
    if (!row)
        return 0;
    pw_imbalance_write(row, &evidence);
    pw_advice_add_rank(advice, row->first_rank);
    return 1;
}

int pw_judge_all_slower(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_trend *trend = pw_trends_leading(in->cluster);
    if (!trend)
        return 0;
    pw_trends_say(in->cluster, trend, &s);
    advice->saves_ns = trend->cost_ns;
    return 1;
}
