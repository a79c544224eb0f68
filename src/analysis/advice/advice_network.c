/* The network's verdict and rule; see advice_network.h. */
#include "analysis/advice/advice_network.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "core/text.h"

#define STARVED_THROTTLED 0.01 /* of a rank's time */
#define STARVED_READY 0.05     /* likewise, beyond the least of all ranks */

static int is(const struct pw_row_c_network *row, const char *scope)
{
    return strncmp(row->scope, scope, sizeof(row->scope)) == 0;
}

/* A rank that waits for a CPU inside MPI makes every transfer longer in which it takes part. */
static int is_starved(const struct pw_cluster *c)
{
    double least = 1, most = 0, throttled = 0;
    for (size_t i = 0; i < c->nutilisation; i++) {
        const struct pw_row_c_utilisation *row = &c->utilisation[i];
        if (row->runq_share >= 0) {
            least = row->runq_share < least ? row->runq_share : least;
            most = row->runq_share > most ? row->runq_share : most;
        }
        throttled = row->throttled_share > throttled ? row->throttled_share : throttled;
    }
    return throttled > STARVED_THROTTLED || most - least > STARVED_READY;
}

const struct pw_row_c_network *pw_network_worst(const struct pw_cluster *c)
{
    return c->nnetwork && !is_starved(c) ? &c->network[0] : NULL;
}

int pw_network_explains(const struct pw_row_c_network *row, const struct pw_row_c_trend *trend)
{
    return row->first_step <= trend->last_step && trend->first_step <= row->last_step &&
           (double)row->gain_ns >= (double)trend->cost_ns / 2;
}

static int is_on(const struct pw_cluster *c, int32_t rank, const char hostname[64])
{
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].rank == rank)
            return strncmp(c->ranks[r].hostname, hostname, 64) == 0;
    return 0;
}

int pw_network_covers(const struct pw_cluster *c, int32_t src, int32_t dst)
{
    for (size_t i = 0; i < c->nnetwork; i++) {
        const struct pw_row_c_network *row = &c->network[i];
        if ((row->src == src && row->dst == dst) || (row->src == dst && row->dst == src))
            return 1;
        if (is(row, "host") && (is_on(c, src, row->hostname) || is_on(c, dst, row->hostname)))
            return 1;
    }
    return 0;
}

static void say_unsteady(const struct pw_row_c_network *row, struct pw_sentence *s)
{
    char mean[32], fast[32], gain[32];
    pw_sentence_add(s,
                    "The network between all hosts was unsteady: %" PRId64
                    " transfers took %s in the mean; if all were as fast as the fastest 2 %% of "
                    "their kind, %s in the mean, the job would save %s",
                    row->transfers, pw_text_ns(mean, sizeof(mean), row->mean_ns),
                    pw_text_ns(fast, sizeof(fast), row->usual_ns),
                    pw_text_ns(gain, sizeof(gain), row->gain_ns));
    pw_sentence_add(s, row->share < 0.1 ? " (%.1f %%)" : " (%.0f %%)", 100 * row->share);
    pw_sentence_add(s, " by the replay");
}

void pw_network_say(const struct pw_row_c_network *row, struct pw_sentence *s)
{
    char mean[32], usual[32], cost[32];
    if (is(row, "unsteady")) {
        say_unsteady(row, s);
        return;
    }
    if (is(row, "link"))
        pw_sentence_add(s, "The link between ranks %" PRId32 " and %" PRId32 " (%.64s, %.64s) was",
                        row->src, row->dst, row->hostname, row->peer_hostname);
    else if (is(row, "host"))
        pw_sentence_add(s, "The network at host %.64s was", row->hostname);
    else
        pw_sentence_add(s, "The network between all hosts was");
    pw_sentence_add(s,
                    " slow in steps %" PRId64 "-%" PRId64 ": %" PRId64
                    " transfers took %s in the mean, usual is %s; by the replay that cost the job "
                    "%s",
                    row->first_step, row->last_step, row->transfers,
                    pw_text_ns(mean, sizeof(mean), row->mean_ns),
                    pw_text_ns(usual, sizeof(usual), row->usual_ns),
                    pw_text_ns(cost, sizeof(cost), row->gain_ns));
    pw_sentence_add(s, row->share < 0.1 ? " (%.1f %%)" : " (%.0f %%)", 100 * row->share);
}

int pw_judge_slow_network(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_network *row = pw_network_worst(in->cluster);
    if (!row)
        return 0;
    pw_network_say(row, &s);
    if (is(row, "link")) {
        pw_advice_add_rank(advice, row->src);
        pw_advice_add_rank(advice, row->dst);
        pw_sentence_add(&text, "Check what is between the two hosts: the cable, port and switch, "
                               "and the binding of both ranks to the network card.");
    } else if (is(row, "host")) {
        pw_sentence_add(&text,
                        "Check the host's network card, its cable and its port of the switch, and "
                        "what else on the host uses the network; or leave the host out.");
    } else {
        pw_sentence_add(&text, "%s", rule->text);
    }
    advice->saves_ns = row->gain_ns;
    return 1;
}
