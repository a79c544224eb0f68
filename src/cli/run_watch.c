/* Answers and asks in the collector; see run_watch.h. */
#include "cli/run_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/hangfile.h"
#include "core/log.h"
#include "rank/calltrace.h"
#include "rank/tick.h"

#define SECOND ((int64_t)1000000000)
#define LOOK_NS SECOND
/* Each collector looks once a second, and call stacks take it a moment. */
#define GATHER_NS (8 * SECOND)

void pw_run_watch_init(struct pw_run_watch *w, const struct pw_options *options,
                       const struct pw_identity *id, const char *dir,
                       struct pw_segment_shared *segment, struct pw_drain *drain, pid_t pid)
{
    *w = (struct pw_run_watch){
        .dir = dir,
        .id = id,
        .segment = segment,
        .drain = drain,
        .pid = pid,
        .hang_ns = pw_option_int(options, PW_OPT_HANG_TIMEOUT) * SECOND,
    };
}

/* The letter that /proc has for the state of a process; '?' when it cannot be read. */
static char process_state(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return '?';
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name may hold anything */
    return name_end && name_end[1] == ' ' && name_end[2] ? name_end[2] : '?';
}

static void answer(struct pw_run_watch *w, const struct pw_request *request)
{
    pid_t owner = atomic_load(&w->segment->owner_pid);
    struct pw_live live = {
        .rank = w->id->rank,
        .world_size = w->id->size,
        .pid = owner ? owner : w->pid,
    };
    snprintf(live.hostname, sizeof(live.hostname), "%s", w->id->hostname);
    int err = pw_drain_live(w->drain, &live);
    live.state = process_state((pid_t)live.pid);
    if (request->wants_stacks)
        pw_calltrace_take((pid_t)live.pid, &live);
    err = err ? err : pw_inquiry_answer(w->dir, request, &live);
    if (err)
        pw_debug("watch", 1, "no answer to a request: %s", strerror(-err));
    pw_live_fini(&live);
    memcpy(w->answered, request->nonce, sizeof(w->answered));
    if (request->is_hang)
        w->reported = pw_tick_read((enum pw_tick_source)w->segment->tick_source);
}

static void answer_if_asked(struct pw_run_watch *w)
{
    struct pw_request request;
    if (pw_inquiry_find(w->dir, &request) && strcmp(request.nonce, w->answered) != 0)
        answer(w, &request);
}

/* Of all ranks that notice, the first to make the request gathers. */
static void ask_if_hung(struct pw_run_watch *w, int64_t now)
{
    uint64_t start;
    if (!w->hang_ns || w->is_gathering ||
        pw_drain_longest_call(w->drain, w->reported, &start) < w->hang_ns)
        return;
    if (!w->inquiry.dir[0])
        pw_inquiry_init(&w->inquiry, w->dir);
    int err = pw_inquiry_begin(&w->inquiry, 1, 1);
    if (err == 0) {
        w->is_gathering = 1;
        w->gather_until_ns = now + GATHER_NS;
        answer_if_asked(w);
    } else if (err != -EBUSY) {
        pw_debug("watch", 1, "cannot ask the other ranks: %s", strerror(-err));
    }
}

static void report(struct pw_run_watch *w)
{
    int64_t least_ns = w->hang_ns / 2 < SECOND ? w->hang_ns / 2 : SECOND;
    pw_inquiry_end(&w->inquiry);
    pw_hangfile_write(&w->inquiry, least_ns);
    pw_inquiry_fini(&w->inquiry);
    w->is_gathering = 0;
}

void pw_run_watch_poll(struct pw_run_watch *w)
{
    int64_t now = pw_local_ns();
    if (w->is_gathering && (pw_inquiry_poll(&w->inquiry) == 0 || now > w->gather_until_ns))
        report(w);
    if (now < w->next_look_ns)
        return;
    w->next_look_ns = now + LOOK_NS;
    answer_if_asked(w);
    ask_if_hung(w, now);
}

void pw_run_watch_fini(struct pw_run_watch *w)
{
    if (w->is_gathering)
        report(w);
    pw_inquiry_forget(w->dir, w->id->rank);
}
