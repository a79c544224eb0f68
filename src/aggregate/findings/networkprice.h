/* What slow transfers between hosts cost the job. */
#ifndef PW_AGGREGATE_FINDINGS_NETWORKPRICE_H
#define PW_AGGREGATE_FINDINGS_NETWORKPRICE_H

#include "aggregate/findings/networklist.h"

/* Which of them are slow: those of a link, a host, or all, in some steps. */
struct pw_net_choice {
    int32_t link, host; /* -1: any */
    int is_collective;  /* 1: only collectives, 0: only messages, -1: both */
    int32_t first, last;
    int is_to_fast; /* compared with the fastest of their kind, not with others */
};

struct pw_net_price {
    int64_t gain_ns, elapsed_ns;
    int64_t transfers;
    double mean_ns, usual_ns;
};

int pw_net_is_chosen(const struct pw_net_choice *choice, const struct pw_net_transfer *transfer);

/* Replays the run with the chosen transfers as long as the others of their kind: in the same steps
 * where the choice is of a link or host, else in the other steps. Of kinds that have no others, 1 /
 * ratio as long. With is_to_fast, at most as long as the fastest of their kind. 0 or -ENOMEM. */
int pw_net_price(const struct pw_graph *graph, const struct pw_net_list *list,
                 const struct pw_net_choice *choice, double ratio, struct pw_net_price *out);

#endif
