/* Items that are spread over threads: each is done once, and a worker does one at a time. */
#include "unit.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "aggregate/input/parallel.h"

enum { ITEMS = 2000 };

struct seen {
    atomic_int done[ITEMS];
    int busy[PW_PARALLEL_MOST]; /* no atomics: a worker's own */
    size_t by_worker[PW_PARALLEL_MOST];
};

static void note(void *context, size_t item, size_t worker)
{
    struct seen *seen = context;
    assert_int_equal(seen->busy[worker]++, 0);
    atomic_fetch_add(&seen->done[item], 1);
    seen->by_worker[worker]++;
    seen->busy[worker]--;
}

static void do_all(size_t n, size_t workers)
{
    static struct seen seen;
    memset(&seen, 0, sizeof(seen));
    pw_parallel(&(struct pw_parallel_work){n, workers, note, &seen});
    size_t all = 0;
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(atomic_load(&seen.done[i]), i < n);
    for (size_t w = 0; w < PW_PARALLEL_MOST; w++) {
        assert_true(w < workers || !seen.by_worker[w]);
        all += seen.by_worker[w];
    }
    assert_int_equal(all, n);
}

static void each_item_once(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= PW_PARALLEL_MOST; workers++) {
        do_all(ITEMS, workers);
        do_all(1, workers);
        do_all(0, workers);
    }
}

static void as_many_workers_as_cores(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    const size_t cores = (size_t)CPU_COUNT(&all);
    assert_int_equal(pw_parallel_workers(100), cores < PW_PARALLEL_MOST ? cores : PW_PARALLEL_MOST);
    assert_int_equal(pw_parallel_workers(1), 1);
    assert_int_equal(pw_parallel_workers(0), 1);

    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(pw_parallel_workers(100), 1);
    const struct pw_procs procs = {PW_EX_WORLD, 0, 1};
    pw_parallel_share_cores(&procs); /* there is one process, so its cores are all */
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(pw_parallel_workers(100), 1);
    pw_parallel_share_cores(&procs);
    assert_int_equal(pw_parallel_workers(100), cores < PW_PARALLEL_MOST ? cores : PW_PARALLEL_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_once),
        cmocka_unit_test(as_many_workers_as_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
