/* Writes lists of members; see members.h. */
#include "rank/probe/members.h"

/* Returns the length of the run of consecutive ranks at `world`, of at most `size`. */
static int32_t run_of(const int32_t *world, int32_t size)
{
    int32_t count = 1;
    while (count < size && (uint32_t)world[count] == (uint32_t)world[0] + (uint32_t)count)
        count++;
    return count;
}

void pw_members_record(struct pw_thread *thread, uint8_t type, uint32_t comm, const int32_t *world,
                       int32_t size)
{
    for (int32_t at = 0; world && at < size;) {
        const uint64_t now = pw_probe_now();
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
        if (!record)
            return;
        *record = (struct pw_record){.type = type, .start = now, .end = now};
        record->members.comm = comm;
        while (record->members.nruns < PW_RUNS_PER_RECORD && at < size) {
            const int32_t count = run_of(world + at, size - at);
            record->members.runs[record->members.nruns].first = world[at];
            record->members.runs[record->members.nruns].stride = 1;
            record->members.runs[record->members.nruns++].count = count;
            at += count;
        }
        pw_probe_commit(thread);
    }
}
