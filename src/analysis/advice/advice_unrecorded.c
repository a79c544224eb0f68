/* Counts the rows of /completeness by reason, and has the text of each reason; see
 * advice_unrecorded.h. */
#include "analysis/advice/advice_unrecorded.h"

#include <inttypes.h>
#include <string.h>

#include "core/limits.h"
#include "core/search.h"
#include "core/text.h"

static const struct {
    const char *because, *remedy;
} words[PW_UNRECORDED_REASONS] = {
    [PW_UNRECORDED_NONE] = {"", ""},
    [PW_UNRECORDED_BYPASSED] =
        {"the program took them past preloaded libraries (dlsym on MPI's own handle as Julia and "
         "ctypes do, RTLD_DEEPBIND, or MPI inside the executable)",
         "use --audit, or make it look them up in the global scope"},
    [PW_UNRECORDED_ENVIRONMENT] =
        {"the program was started without profwrap's environment (env -i)",
         "keep LD_PRELOAD and PROFWRAP_SEGMENT in what starts it"},
    [PW_UNRECORDED_PRELOAD_REPLACED] = {"LD_PRELOAD was replaced on the way to the program",
                                        "add to it instead: LD_PRELOAD=OTHER.so:$LD_PRELOAD"},
    [PW_UNRECORDED_PRELOAD_REFUSED] = {"the loader refused to preload profwrap's library (other "
                                       "privileges, or a container without its folder)",
                                       "start profwrap inside the container, or drop the "
                                       "privileges"},
    [PW_UNRECORDED_STATIC] = {"the program is statically linked", "link it dynamically"},
    [PW_UNRECORDED_OTHER_PROCESS] = {"another process of the rank was being recorded",
                                     "put profwrap before the MPI program itself"},
    [PW_UNRECORDED_OTHER_MPI] = {"the ABI of the program's MPI library is not known",
                                 "build profwrap with it"},
    [PW_UNRECORDED_NO_MEMORY] = {"there was no shared memory to record them in",
                                 "give /dev/shm more room, or use a smaller --ring-size"},
    [PW_UNRECORDED_SPAWNED] = {"MPI_Comm_spawn started them", "start them with the job"},
};

const char *pw_unrecorded_because(enum pw_unrecorded reason)
{
    return (unsigned)reason < PW_UNRECORDED_REASONS ? words[reason].because : "";
}

const char *pw_unrecorded_remedy(enum pw_unrecorded reason)
{
    return (unsigned)reason < PW_UNRECORDED_REASONS ? words[reason].remedy : "";
}

/* Compares a text field of a file, which may have no terminating zero. */
static int is_text(const char *field, size_t size, const char *text)
{
    return strnlen(field, size) == strlen(text) && memcmp(field, text, strlen(text)) == 0;
}

enum pw_unrecorded pw_unrecorded_reason_of(const struct pw_row_c_completeness *row)
{
    static const char before[] = "unrecorded_";
    const size_t length = sizeof(before) - 1;
    if (strncmp(row->what, before, length) != 0)
        return PW_UNRECORDED_NONE;
    for (int reason = PW_UNRECORDED_NONE + 1; reason < PW_UNRECORDED_REASONS; reason++)
        if (is_text(row->what + length, sizeof(row->what) - length,
                    pw_enum_name(PW_F_UNRECORDED, reason)))
            return (enum pw_unrecorded)reason;
    return PW_UNRECORDED_NONE;
}

void pw_unrecorded_sum(const struct pw_cluster *cluster, struct pw_unrecorded_sum *sum)
{
    int32_t counted = INT32_MIN, last[PW_UNRECORDED_REASONS];
    int64_t all_silent = 0;
    *sum = (struct pw_unrecorded_sum){.ranks = 0};
    for (int i = 0; i < PW_UNRECORDED_REASONS; i++)
        last[i] = INT32_MIN;
    /* The rows are in the order of ranks. */
    for (size_t i = 0; i < cluster->ncompleteness; i++) {
        const struct pw_row_c_completeness *row = &cluster->completeness[i];
        const enum pw_unrecorded reason = pw_unrecorded_reason_of(row);
        if (is_text(row->what, sizeof(row->what), "gpu_unrecorded")) {
            sum->gpu = sum->gpu ? sum->gpu : row;
            sum->gpu_ranks++;
        }
        if (is_text(row->what, sizeof(row->what), "gpu_processes") && row->count > 0)
            sum->gpu_processes = pw_sum(sum->gpu_processes, row->count);
        if (is_text(row->what, sizeof(row->what), "no_communication"))
            *(row->rank < 0 ? &all_silent : &sum->silent_ranks) += 1;
        if (reason == PW_UNRECORDED_SPAWNED && row->count > 0 &&
            row->count < INT64_MAX - sum->spawned)
            sum->spawned += row->count;
        if (reason == PW_UNRECORDED_NONE || reason == PW_UNRECORDED_SPAWNED)
            continue;
        sum->ranks += row->rank != counted;
        sum->by_reason[reason] += row->rank != last[reason];
        counted = last[reason] = row->rank;
    }
    sum->is_silent = all_silent > 0;
}

/* The first of the rank's rows: they are in the order of ranks. */
static size_t first_of(const struct pw_cluster *c, int32_t rank)
{
    return pw_search(c->completeness, c->ncompleteness,
                     PW_SEARCH_KEY(struct pw_row_c_completeness, rank), rank);
}

int pw_unrecorded_is_silent(const struct pw_cluster *c, int32_t rank)
{
    for (size_t i = first_of(c, rank); i < c->ncompleteness && c->completeness[i].rank == rank; i++)
        if (is_text(c->completeness[i].what, sizeof(c->completeness[i].what), "no_communication"))
            return 1;
    return 0;
}

int pw_unrecorded_has(const struct pw_cluster *c, int32_t rank)
{
    for (size_t i = first_of(c, rank); i < c->ncompleteness && c->completeness[i].rank == rank;
         i++) {
        const enum pw_unrecorded reason = pw_unrecorded_reason_of(&c->completeness[i]);
        if (reason != PW_UNRECORDED_NONE && reason != PW_UNRECORDED_SPAWNED)
            return 1;
    }
    return 0;
}

enum pw_unrecorded pw_unrecorded_most(const struct pw_unrecorded_sum *sum)
{
    int most = PW_UNRECORDED_NONE;
    for (int reason = 0; reason < PW_UNRECORDED_REASONS; reason++)
        if (sum->by_reason[reason] > sum->by_reason[most])
            most = reason;
    return (enum pw_unrecorded)most;
}

void pw_unrecorded_gpus(const struct pw_unrecorded_sum *sum, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    out[0] = '\0';
    if (sum->gpu)
        pw_sentence_add(&s, "GPU activity of %" PRId64 " rank%s was not recorded: %.*s",
                        sum->gpu_ranks, sum->gpu_ranks == 1 ? "" : "s",
                        (int)sizeof(sum->gpu->detail), sum->gpu->detail);
    if (sum->gpu_processes)
        pw_sentence_add(&s, "%sGPUs were used by %" PRId64 " child process%s that %s not recorded",
                        sum->gpu ? "; " : "", sum->gpu_processes,
                        sum->gpu_processes == 1 ? "" : "es",
                        sum->gpu_processes == 1 ? "was" : "were");
}

/* Returns a double, so that a damaged file cannot overflow an integer. */
static double count_nccl(const struct pw_cluster *c)
{
    double operations = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].source == PW_SOURCE_NCCL)
            operations +=
                (double)c->collective_stats[i].count * (double)c->collective_stats[i].nranks;
    return operations;
}

static double count_noted(const struct pw_cluster *c, const char *what)
{
    double n = 0;
    for (size_t i = 0; i < c->ncompleteness; i++)
        if (is_text(c->completeness[i].what, sizeof(c->completeness[i].what), what))
            n += (double)c->completeness[i].count;
    return n > 0 ? n : 0;
}

void pw_advice_nccl_unknown(const struct pw_cluster *c, struct pw_nccl_unknown *out)
{
    const double untimed = count_noted(c, "nccl_untimed"),
                 unplaced = count_noted(c, "nccl_unplaced");
    const double unmatched = count_noted(c, "waits_unknown");
    *out = (struct pw_nccl_unknown){.unmatched = unmatched < 9e18 ? (int64_t)unmatched : INT64_MAX};
    if (untimed + unplaced <= 0 || untimed + unplaced < count_nccl(c) - untimed)
        return;
    out->untimed = untimed < 9e18 ? (int64_t)untimed : INT64_MAX;
    out->unplaced = unplaced < 9e18 ? (int64_t)unplaced : INT64_MAX;
    if (untimed >= unplaced)
        out->unplaced = 0;
    else
        out->untimed = 0;
}
