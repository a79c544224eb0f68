/* Tables of words, and functions that make short texts; see words.h. */
#include "report/writing/words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "core/ops.h"
#include "report/writing/page.h"

const char *pw_words_saves(const struct pw_advice *advice, double share, char *out, size_t size)
{
    struct pw_sentence s = pw_sentence_on(out, size);
    out[0] = '\0';
    if (advice->saves_ns <= 0)
        return out;
    pw_words_add_ns(&s, "Would save up to ", advice->saves_ns);
    if (share >= 0)
        pw_words_add_percent(&s, " (", share, ")");
    pw_sentence_add(&s, ". ");
    return out;
}

void pw_words_add_ns(struct pw_sentence *s, const char *before, int64_t ns)
{
    char time[32];
    pw_sentence_add(s, "%s%s", before, pw_text_ns(time, sizeof(time), ns));
}

void pw_words_add_percent(struct pw_sentence *s, const char *before, double share,
                          const char *after)
{
    char percent[32];
    pw_sentence_add(s, "%s%s%s", before, pw_page_percent(percent, sizeof(percent), share), after);
}

const char *pw_call_comm(const char *name, uint64_t uid, char *out, size_t size)
{
    if (name[0])
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "communicator 0x%" PRIx64, uid);
    return out;
}

static uint32_t op_of(const struct pw_call_words *call)
{
    return call->awaited ? call->awaited : call->op;
}

/* Writes " from rank 3 (tag 7)", " to rank 2 (tag 0)", " with root 0", or "". */
static void write_partner(const struct pw_call_words *call, char *out, size_t size)
{
    const struct pw_op_info *info = pw_op_info(op_of(call));
    int is_message =
        info->cls == PW_CLASS_RECV || info->cls == PW_CLASS_PROBE || info->cls == PW_CLASS_SEND;
    int is_both = op_of(call) == PW_OP_Sendrecv || op_of(call) == PW_OP_Sendrecv_replace;
    const char *way = info->cls == PW_CLASS_SEND && !is_both ? "to" : "from";
    char tag[32] = "";
    out[0] = '\0';
    if (is_message && call->tag >= 0)
        snprintf(tag, sizeof(tag), " (tag %" PRId32 ")", call->tag);
    if (is_message && call->peer >= 0)
        snprintf(out, size, " %s rank %" PRId32 "%s", way, call->peer, tag);
    else if (is_message && call->comm_uid && info->cls != PW_CLASS_SEND &&
             call->source != PW_SOURCE_NCCL)
        snprintf(out, size, " from any rank%s", tag);
    else if (call->peer >= 0)
        snprintf(out, size, " with %s %" PRId32, info->cls == PW_CLASS_COLL ? "root" : "rank",
                 call->peer);
}

/* NCCL's own names, where they differ by more than the first letters. */
static const char *nccl_name(uint32_t op)
{
    switch (op) {
    case PW_OP_Bcast:
        return "Broadcast";
    case PW_OP_Allreduce:
        return "AllReduce";
    case PW_OP_Allgather:
        return "AllGather";
    case PW_OP_Reduce_scatter:
    case PW_OP_Reduce_scatter_block:
        return "ReduceScatter";
    case PW_OP_Alltoall:
        return "AlltoAll";
    default:
        return pw_op_info(op)->name;
    }
}

/* "MPI_Allreduce", "ncclAllReduce", "gloo allreduce", "mccl allreduce". */
static const char *write_name(uint32_t source, uint32_t op, char *out, size_t size)
{
    const char *prefix = pw_source_prefix(source);
    const size_t length = strlen(prefix);
    if (source == PW_SOURCE_NCCL && (op == PW_OP_Init || op == PW_OP_Comm_create)) {
        snprintf(out, size, "ncclCommInitRank%s", op == PW_OP_Init ? " of all ranks" : "");
    } else if (source == PW_SOURCE_NCCL || source == PW_SOURCE_HCCL) {
        snprintf(out, size, "%s%s", prefix, nccl_name(op));
    } else if (source == PW_SOURCE_GLOO && (op == PW_OP_Init || op == PW_OP_Comm_create)) {
        snprintf(out, size, "the creation of a gloo group%s",
                 op == PW_OP_Init ? " of all ranks" : "");
    } else if (source == PW_SOURCE_GLOO && op == PW_OP_Init_thread) {
        snprintf(out, size, "the connection to PyTorch's TCPStore");
    } else if (source == PW_SOURCE_MCCL && op == PW_OP_Init) {
        snprintf(out, size, "%s", pw_source_init(source));
    } else {
        snprintf(out, size, "%s%s", prefix, pw_op_info(op)->name);
        if (length && prefix[length - 1] == ' ')
            out[length] = (char)tolower((unsigned char)out[length]);
    }
    return out;
}

const char *pw_call_write(const struct pw_call_words *call, char *out, size_t size)
{
    char seq[32] = "", partner[80], name[96], on[112] = "", function[64], awaited[64];
    char others[40] = "";
    if (call->seq >= 0 && call->comm_uid)
        snprintf(seq, sizeof(seq), " #%" PRId64, call->seq);
    write_partner(call, partner, sizeof(partner));
    if (call->comm_uid)
        snprintf(on, sizeof(on), " on %s",
                 pw_call_comm(call->comm_name, call->comm_uid, name, sizeof(name)));
    write_name(call->source, call->op, function, sizeof(function));
    if (call->others > 0)
        snprintf(others, sizeof(others), ", and %" PRId64 " more", call->others);
    if (call->awaited)
        snprintf(out, size, "%s (for %s%s%s%s%s)", function,
                 write_name(call->source, call->awaited, awaited, sizeof(awaited)), seq, partner,
                 on, others);
    else
        snprintf(out, size, "%s%s%s%s", function, seq, partner, on);
    return out;
}

const char *pw_call_ranks(const int32_t *ranks, size_t n, char *out, size_t size)
{
    enum { ROOM = 40 }; /* bytes for ", and 123456 more" */
    size_t used = (size_t)snprintf(out, size, n == 1 ? "rank " : "ranks "), last;
    for (size_t first = 0; first < n; first = last + 1) {
        for (last = first; last + 1 < n && ranks[last + 1] == ranks[last] + 1; last++)
            ;
        if (used + ROOM > size) {
            snprintf(out + used, size - used, " and %zu more", n - first);
            break;
        }
        used +=
            (size_t)snprintf(out + used, size - used, "%s%" PRId32, first ? "," : "", ranks[first]);
        if (last > first)
            used += (size_t)snprintf(out + used, size - used, "-%" PRId32, ranks[last]);
    }
    return out;
}

const char *pw_words_phase(int phase)
{
    static const char *const words[] = {
        [PW_PHASE_NONE] = "",
        [PW_PHASE_DATA] = "in data",
        [PW_PHASE_FORWARD] = "in forward",
        [PW_PHASE_BACKWARD] = "in backward",
        [PW_PHASE_ALLREDUCE] = "in allreduce",
        [PW_PHASE_OPTIMIZER] = "in optimizer",
        [PW_PHASE_OTHER] = "outside any phase",
    };
    return phase >= 0 && phase <= PW_PHASE_OTHER ? words[phase] : "";
}

const char *pw_words_steps(const struct pw_figures *figures,
                           const struct pw_row_c_straggler *straggler, char *out, size_t size)
{
    int64_t hit = straggler->steps_hit, first = straggler->first_step, last = straggler->last_step;
    int whole = straggler->kind == PW_STRAGGLER_PERSISTENT ||
                (first == figures->first_step && last == figures->last_step);
    const char *step = pw_words_step(figures->cluster);
    if (straggler->kind == PW_STRAGGLER_STRETCH)
        return pw_words_stretch(figures, straggler, out, size);
    if (hit == 1 && first == last)
        snprintf(out, size, "%s %" PRId64, step, first);
    else if (whole && figures->measured >= hit)
        snprintf(out, size, "%" PRId64 " of %" PRId64 " %ss", hit, figures->measured, step);
    else
        snprintf(out, size, "%" PRId64 " of %ss %" PRId64 "-%" PRId64, hit, step, first, last);
    return out;
}

const char *pw_words_stretch(const struct pw_figures *figures,
                             const struct pw_row_c_straggler *straggler, char *out, size_t size)
{
    static const char *const parts[] = {[PW_PART_SETUP] = "before its first step",
                                        [PW_PART_TAIL] = "after its last step",
                                        [PW_PART_FINALIZE] = "in MPI_Finalize",
                                        [PW_PART_END] = "after MPI_Finalize"};
    const int64_t origin = figures->cluster->bins_start_ns;
    if (straggler->part == PW_PART_START || straggler->part == PW_PART_INIT) {
        snprintf(out, size, "%s %s", straggler->part == PW_PART_START ? "before it entered" : "in",
                 pw_source_init(figures->cluster->init_source));
        return out;
    }
    if (straggler->part < sizeof(parts) / sizeof(parts[0]) && parts[straggler->part]) {
        snprintf(out, size, "%s", parts[straggler->part]);
        return out;
    }
    snprintf(out, size, "%.1f to %.1f s", (double)pw_difference(straggler->start, origin) / 1e9,
             (double)pw_difference(straggler->end, origin) / 1e9);
    return out;
}

const char *pw_words_part(int part, const struct pw_parts_known *known)
{
    static const char *const of_gloo[] = {
        [PW_PART_START] = "before init_process_group",
        [PW_PART_INIT] = "in init_process_group",
        [PW_PART_SETUP] = "from init_process_group to the first step",
    };
    static const char *const of_mccl[] = {
        [PW_PART_START] = "before MindSpore's init()",
        [PW_PART_INIT] = "in MindSpore's init()",
        [PW_PART_SETUP] = "from MindSpore's init() to the first step",
    };
    static const char *const words[] = {
        [PW_PART_START] = "before MPI_Init",
        [PW_PART_INIT] = "in MPI_Init",
        [PW_PART_SETUP] = "from MPI_Init to the first step",
        [PW_PART_STEPS] = "from the first to the last step",
        [PW_PART_TAIL] = "from the last step to MPI_Finalize",
        [PW_PART_FINALIZE] = "in MPI_Finalize",
        [PW_PART_END] = "after MPI_Finalize",
    };
    if (part == PW_PART_STEPS && !known->has_steps)
        return "in the rest of the run (no steps are known)";
    if (part == PW_PART_SETUP && !known->has_init)
        return "before the first step";
    if (part == PW_PART_TAIL && !known->has_finalize)
        return "after the last step";
    if (part >= PW_PART_START && part <= PW_PART_SETUP && known->init_source == PW_SOURCE_GLOO)
        return of_gloo[part];
    if (part >= PW_PART_START && part <= PW_PART_SETUP && known->init_source == PW_SOURCE_MCCL)
        return of_mccl[part];
    return part >= PW_PART_START && part <= PW_PART_END ? words[part] : "";
}

const char *pw_words_step(const struct pw_cluster *cluster)
{
    return cluster->steps_inferred > 1 ? "slice" : "step";
}

const char *pw_words_left_out(const struct pw_figures *f)
{
    int cut = 0, warm = 0;
    for (size_t s = 0; s < f->cluster->nstep_rows; s++) {
        cut |= f->cluster->steps[s].recorded == PW_RECORDED_PARTIAL;
        warm |= f->cluster->steps[s].recorded == PW_RECORDED_WARMUP;
    }
    cut &= f->cluster->nendings > 0;
    if (f->warmup == 1)
        return cut ? "step that was cut by the end" : "warm-up steps";
    return cut && warm ? "warm-up or cut steps"
           : cut       ? "steps that were cut by the end"
                       : "warm-up steps";
}

const char *pw_words_found_by(const struct pw_cluster *cluster)
{
    return cluster->steps_inferred > 1 ? "slices" : cluster->steps_inferred > 0 ? "calls" : "marks";
}

const char *pw_words_whatif(const struct pw_row_c_whatif *row, char *out, size_t size)
{
    const char *phase = pw_enum_name(PW_F_PHASE, row->phase);
    if (strncmp(row->scope, "job", sizeof(row->scope)) == 0)
        snprintf(out, size, "all ranks at the mean work of each step");
    else if (strncmp(row->scope, "network", sizeof(row->scope)) == 0)
        snprintf(out, size, "no time for transfers");
    else if (strncmp(row->scope, "phase", sizeof(row->scope)) == 0)
        snprintf(out, size, "all ranks at the mean in phase %s", phase);
    else if (strncmp(row->scope, "roles", sizeof(row->scope)) == 0)
        snprintf(out, size, "the same work in all roles");
    else if (strncmp(row->scope, "amounts", sizeof(row->scope)) == 0)
        snprintf(out, size, "each step's amount of work shared out evenly");
    else if (strncmp(row->scope, "host", sizeof(row->scope)) == 0)
        snprintf(out, size, "host %.64s at the others' median", row->hostname);
    else if (strncmp(row->scope, "stragglers", sizeof(row->scope)) == 0)
        snprintf(out, size, "all stragglers at the others' median at once");
    else if (strncmp(row->scope, "straggler", sizeof(row->scope)) == 0)
        snprintf(out, size, "rank %" PRId32 " at the others' median in steps %" PRId64 "-%" PRId64,
                 row->rank, row->first_step, row->last_step);
    else
        snprintf(out, size, "rank %" PRId32 " at the others' median", row->rank);
    return out;
}

const char *pw_words_mfu(char *out, size_t size, double mfu)
{
    if (mfu < 0)
        snprintf(out, size, "n/a");
    else
        snprintf(out, size, "%.1f %%", 100 * mfu);
    return out;
}

static int ended_by(const struct pw_row_c_epoch *epoch, const char *how)
{
    return strncmp(epoch->ended_by, how, sizeof(epoch->ended_by)) == 0;
}

const char *pw_words_epoch_end(const struct pw_row_c_epoch *epoch, char *out, size_t size)
{
    char host[80] = "";
    if (epoch->hostname[0])
        snprintf(host, sizeof(host), " (%.64s)", epoch->hostname);
    if (ended_by(epoch, "signal"))
        snprintf(out, size, "ended when rank %" PRId32 "%s was killed by signal %" PRId32 " (%s)",
                 epoch->ended_rank, host, epoch->exit_signal, strsignal(epoch->exit_signal));
    else if (ended_by(epoch, "exit"))
        snprintf(out, size, "ended when rank %" PRId32 "%s exited with status %" PRId32,
                 epoch->ended_rank, host, epoch->exit_code);
    else if (ended_by(epoch, "missing_files"))
        snprintf(out, size, "ended, and %" PRId32 " of its %" PRId32 " ranks left no file",
                 epoch->ranks - epoch->files, epoch->ranks);
    else if (ended_by(epoch, "launcher"))
        snprintf(out, size, "was ended by its launcher");
    else if (ended_by(epoch, "finished"))
        snprintf(out, size, "ended in order");
    else
        snprintf(out, size, epoch->files ? "ended in a way that is not known" : "left no files");
    return out;
}

const char *pw_words_restriction(const struct pw_cluster *cluster, char *out, size_t size)
{
    snprintf(out, size, "%s", "");
    if (cluster->restricted_to[0])
        snprintf(
            out, size,
            "steps %s: the steps, phases, GPU time of steps and collectives shown, and the "
            "stragglers that held one of them back, whose figures are of the whole run; so are "
            "the parts of the run, operators, GPUs, kernels, messages, what-if, efficiency, "
            "queues, processes, memory, "
            "completeness and the time of the run; advice rests on both",
            cluster->restricted_to);
    return out;
}
