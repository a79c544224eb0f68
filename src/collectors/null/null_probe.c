/* Module null, in-app half: a worked example to copy; see docs/HOWTO_add_collector.md. This code
 * runs in the application: it never exits, prints or blocks, and may only lose events. */
#include "rank/probe/attach.h"

__attribute__((visibility("default"))) void pw_null_mark(int64_t value);

/* Records one mark of the calling thread; the application finds it with dlsym(). */
void pw_null_mark(int64_t value)
{
    /* NULL when nothing can be recorded: no collector, a forked child, no free ring. */
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !(pw_probe_borrow_segment()->activities & PW_ACTIVITY_NULL))
        return;
    /* A signal handler that interrupted the probe must not write into the middle of a record. */
    if (!pw_probe_lock(thread))
        return;
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (record) { /* NULL: the ring is full and has counted the loss */
        *record = (struct pw_record){
            .type = PW_REC_MARK,
            .start = now,
            .end = now,
            .mark = {.value = value},
        };
        pw_probe_commit(thread);
    }
    pw_probe_unlock(thread);
}
