/* Words for calls and ranks; see callwords.h. */
#include "report/writing/callwords.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/ops.h"

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

/* "from rank 3 (tag 7)", "to rank 2 (tag 0)", "from root 0", or "". */
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
    else if (is_message && call->comm_uid && info->cls != PW_CLASS_SEND)
        snprintf(out, size, " from any rank%s", tag);
    else if (call->peer >= 0)
        snprintf(out, size, " with %s %" PRId32, info->cls == PW_CLASS_COLL ? "root" : "rank",
                 call->peer);
}

const char *pw_call_write(const struct pw_call_words *call, char *out, size_t size)
{
    char seq[32] = "", partner[80], name[96], on[112] = "";
    if (call->seq >= 0 && call->comm_uid)
        snprintf(seq, sizeof(seq), " #%" PRId64, call->seq);
    write_partner(call, partner, sizeof(partner));
    if (call->comm_uid)
        snprintf(on, sizeof(on), " on %s",
                 pw_call_comm(call->comm_name, call->comm_uid, name, sizeof(name)));
    if (call->awaited)
        snprintf(out, size, "MPI_%s (for MPI_%s%s%s%s)", pw_op_info(call->op)->name,
                 pw_op_info(call->awaited)->name, seq, partner, on);
    else
        snprintf(out, size, "MPI_%s%s%s%s", pw_op_info(call->op)->name, seq, partner, on);
    return out;
}

const char *pw_call_ranks(const int32_t *ranks, size_t n, char *out, size_t size)
{
    enum { ROOM = 40 }; /* for "…, and 123456 more" */
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
