/* The verdict on a hang as JSON; see liveview.h. */
#include <inttypes.h>

#include "core/ops.h"
#include "report/json/json_row.h"
#include "report/live/livewords.h"

static json_t *ranks_of(const struct pw_live_view *view, const int32_t *rows, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        json_array_append_new(array, json_integer(view->ranks[rows[i]].rank));
    return array;
}

static json_t *group_json(const struct pw_live_view *view, const struct pw_hang_group *group)
{
    char uid[24];
    const char *name = pw_live_comm_name(view, group->comm_uid);
    snprintf(uid, sizeof(uid), "0x%" PRIx64, group->comm_uid);
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:b}", "op",
                     pw_op_info(group->op)->name, "comm_uid",
                     group->comm_uid ? json_string(uid) : json_null(), "comm_name",
                     pw_json_text(name, PW_LIVE_NAME), "seq", pw_json_int(group->seq), "size",
                     (json_int_t)group->size, "root", pw_json_int(group->root), "waiting",
                     ranks_of(view, group->waiting, group->nwaiting), "missing",
                     ranks_of(view, group->missing, group->nmissing), "unknown_members",
                     (json_int_t)group->unknown, "waited_ns", pw_json_int(group->waited_ns),
                     "mismatched", group->is_mismatched);
}

static const char *kind_name(enum pw_hang_kind kind)
{
    static const char *const names[] = {
        [PW_HANG_NOBODY] = "nobody_waits",
        [PW_HANG_HELD] = "held",
        [PW_HANG_CYCLE] = "deadlock",
        [PW_HANG_UNKNOWN] = "unknown",
    };
    return names[kind];
}

json_t *pw_live_hang_json(const struct pw_live_view *view)
{
    const struct pw_hang *hang = view->hang;
    char headline[PW_LIVE_HEADLINE];
    pw_live_headline(view, headline, sizeof(headline));
    json_t *groups = json_array(), *silent = json_array();
    for (size_t i = 0; i < hang->ngroups; i++)
        json_array_append_new(groups, group_json(view, &hang->groups[i]));
    for (size_t i = 0; i < view->nsilent; i++)
        json_array_append_new(silent, json_integer(view->silent[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:I, s:o, s:o}", "headline",
                     pw_json_text(headline, sizeof(headline)), "kind", kind_name(hang->kind),
                     "roots", ranks_of(view, hang->roots, hang->nroots), "cycle",
                     ranks_of(view, hang->cycle, hang->ncycle), "held", (json_int_t)hang->held,
                     "waiting", (json_int_t)hang->waiting, "collectives", groups, "silent", silent);
}
