/* The rules for queues and the operators between them; see pipeline.h. */
#include "analysis/pipeline.h"

#include <string.h>

#include "analysis/thresholds.h"

enum { WINDOW_STEPS = 10 }; /* fewer are the first ones of an epoch, or chance */

#define LEAST_INTERVAL_NS 500000
#define LEAST_INTERVAL_PARTS 100 /* the gap before forward must be longer than the step / this */

static int is_device(const struct pw_row_c_queue *queue)
{
    return strncmp(queue->side, "device", sizeof(queue->side)) == 0;
}

double pw_pipeline_usage(const struct pw_pipeline *p, const struct pw_row_c_queue *queue)
{
    return p->is_of_steps && queue->starved_steps > 0 ? queue->starved_usage : queue->usage;
}

int pw_pipeline_has_window(const struct pw_row_c_queue *queue)
{
    const double steps = (double)queue->last_empty_step - (double)queue->first_empty_step + 1;
    return queue->rank >= 0 && queue->steps_empty >= WINDOW_STEPS && steps > 0 &&
           (double)queue->steps_empty > PW_QUEUE_EMPTY * steps;
}

/* 1 when the operator is too slow. A queue of unlimited size is never full, so it tells nothing
 * about its operators. */
static int is_suspect(const struct pw_pipeline *p, const struct pw_pipeline_operator *op)
{
    const double left = op->left ? pw_pipeline_usage(p, op->left) : -1;
    const double right = op->right ? pw_pipeline_usage(p, op->right) : -1;
    if ((op->left && left < 0) || (op->right && right < 0))
        return 0;
    if (!op->left)
        return right < PW_QUEUE_RIGHT_LOW;
    if (!op->right)
        return left >= PW_QUEUE_LEFT_FULL;
    return left - right > PW_QUEUE_DROP &&
           (left >= PW_QUEUE_LEFT_FULL || right <= PW_QUEUE_RIGHT_LOW);
}

static void add_operator(struct pw_pipeline *p, const char *name, const struct pw_row_c_queue *left,
                         const struct pw_row_c_queue *right)
{
    struct pw_pipeline_operator *op = &p->operators[p->noperators++];
    *op = (struct pw_pipeline_operator){name, left, right, 0};
}

/* Once the last queues are known. */
static enum pw_pipeline_verdict find_verdict(struct pw_pipeline *p,
                                             const struct pw_row_c_queue *last)
{
    const struct pw_row_c_queue *host = p->host;
    if (host && host->empty_share > PW_QUEUE_EMPTY)
        return PW_PIPELINE_PROCESSING;
    p->is_of_steps = last->starved_steps > 0;
    if (p->device && p->device->steps_empty > 0)
        return host && host->starved_steps > 0 &&
                       (double)host->starved_empty > PW_QUEUE_EMPTY * (double)host->starved_steps
                   ? PW_PIPELINE_PROCESSING
                   : PW_PIPELINE_TRANSFER;
    if (!p->device && host && pw_pipeline_has_window(host))
        return PW_PIPELINE_PROCESSING;
    p->is_of_steps = 0;
    return PW_PIPELINE_FINE;
}

void pw_pipeline_judge(const struct pw_row_c_queue *queues, size_t n, struct pw_pipeline *p)
{
    const struct pw_row_c_queue *left = NULL;
    *p = (struct pw_pipeline){.verdict = PW_PIPELINE_UNKNOWN};
    n = n < PW_PIPELINE_QUEUES ? n : PW_PIPELINE_QUEUES;
    for (size_t i = 0; i < n; i++) {
        if (queues[i].samples <= 0)
            continue;
        if (is_device(&queues[i]))
            p->device = &queues[i];
        else
            p->host = &queues[i];
        add_operator(p, queues[i].filled_by, left, &queues[i]);
        left = &queues[i];
    }
    if (!left)
        return;
    /* Without an operator behind it, the training loop itself empties the last queue, which may
     * then be full. */
    if (left->emptied_by[0])
        add_operator(p, left->emptied_by, left, NULL);
    p->verdict = find_verdict(p, left);
    for (size_t i = 0; i < p->noperators; i++)
        p->operators[i].suspect = is_suspect(p, &p->operators[i]);
}

const struct pw_row_c_queue *pw_pipeline_of_rank(const struct pw_row_c_queue *queues, size_t total,
                                                 int32_t rank, size_t *n)
{
    size_t low = 0, high = total;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queues[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < total && queues[low + *n].rank == rank;)
        ++*n;
    return total ? queues + low : queues; /* NULL: there are none */
}

const struct pw_pipeline_operator *pw_pipeline_culprit(const struct pw_pipeline *p)
{
    const struct pw_row_c_queue *queue = p->verdict == PW_PIPELINE_PROCESSING ? p->host
                                         : p->verdict == PW_PIPELINE_TRANSFER ? p->device
                                                                              : NULL;
    const struct pw_pipeline_operator *filler = NULL;
    for (size_t i = 0; queue && i < p->noperators; i++) {
        const struct pw_pipeline_operator *op = &p->operators[i];
        if (op->right && op->right->place <= queue->place && op->suspect)
            return op;
        if (op->right == queue)
            filler = op;
    }
    return filler;
}

int pw_pipeline_hurts(int64_t interval_ns, int64_t total_ns)
{
    return interval_ns > LEAST_INTERVAL_NS && interval_ns > total_ns / LEAST_INTERVAL_PARTS;
}

enum pw_pipeline_kind pw_pipeline_kind_of(const char *name)
{
    static const struct {
        const char *word;
        enum pw_pipeline_kind kind;
    } words[] = {
        {"generator", PW_PIPELINE_GENERATOR}, {"batch", PW_PIPELINE_BATCH},
        {"transfer", PW_PIPELINE_COPY},       {"copy", PW_PIPELINE_COPY},
        {"device", PW_PIPELINE_COPY},         {"map", PW_PIPELINE_MAP},
        {"decode", PW_PIPELINE_MAP},          {"augment", PW_PIPELINE_MAP},
        {"source", PW_PIPELINE_SOURCE},       {"read", PW_PIPELINE_SOURCE},
        {"load", PW_PIPELINE_SOURCE},         {"dataset", PW_PIPELINE_SOURCE},
    };
    char copy[65] = "";
    memcpy(copy, name, strnlen(name, sizeof(copy) - 1));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(copy, words[i].word))
            return words[i].kind;
    return PW_PIPELINE_OTHER;
}

const char *pw_pipeline_remedy(enum pw_pipeline_kind kind)
{
    static const char *const remedies[] = {
        [PW_PIPELINE_OTHER] = "Give it more workers, or do less in it.",
        [PW_PIPELINE_SOURCE] = "Give it more workers, and check its storage.",
        [PW_PIPELINE_MAP] = "Give it more workers, or do its work before the run.",
        [PW_PIPELINE_GENERATOR] = "Give it more workers, or store the data in an indexed format.",
        [PW_PIPELINE_BATCH] = "Prefetch more batches ahead of it.",
        [PW_PIPELINE_COPY] = "Copy from pinned memory, asynchronously and ahead of use.",
    };
    return remedies[kind];
}
