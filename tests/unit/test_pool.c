/* Buffers go from the library to the collector's thread and back, and outlive both. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rank/ring/pool.h"

struct made {
    char name[PW_SEGMENT_NAME_SIZE];
    struct pw_segment_shared *segment;
    struct pw_pool *pool;
};

static int create(void **state)
{
    static struct made m;
    *state = &m;
    return pw_segment_create(0, 1 << 16, m.name, &m.segment);
}

static int destroy(void **state)
{
    struct made *m = *state;
    pw_segment_detach(m->segment);
    return shm_unlink(m->name);
}

static void goes_round(void **state)
{
    struct made *m = *state;
    assert_int_equal(pw_pool_attach(m->name, m->segment, &m->pool), -ENOENT);
    assert_int_equal(pw_pool_create(m->name, m->segment, &m->pool), 0);
    for (int i = 0; i < PW_POOL_SLOTS; i++)
        assert_int_equal(pw_pool_take(m->pool), i);
    assert_int_equal(pw_pool_take(m->pool), -1);
    assert_int_equal(pw_pool_oldest(m->pool), -1);
    pw_pool_complete(m->pool, 9, 100);
    pw_pool_complete(m->pool, 3, PW_POOL_SLOT + 1);
    assert_int_equal(pw_pool_oldest(m->pool), 9);
    memset(m->pool->bytes[9], 1, 100);
    pw_pool_free(m->pool, 9);
    assert_int_equal(m->pool->bytes[9][99], 0);
    assert_int_equal(pw_pool_oldest(m->pool), 3);
    assert_int_equal(atomic_load(&m->pool->slots[3].used), PW_POOL_SLOT);
    assert_int_equal(pw_pool_take(m->pool), 9);
    pw_pool_detach(m->pool);
}

static void finds_by_address(void **state)
{
    struct made *m = *state;
    assert_int_equal(pw_pool_create(m->name, m->segment, &m->pool), 0);
    assert_int_equal(pw_pool_find(m->pool, m->pool->bytes[31]), 31);
    assert_int_equal(pw_pool_find(m->pool, m->pool->bytes[0]), 0);
    assert_int_equal(pw_pool_find(m->pool, m->pool->bytes[1] + 8), -1);
    assert_int_equal(pw_pool_find(m->pool, m->pool->bytes[0] - 1), -1);
    assert_int_equal(pw_pool_find(m->pool, m->pool->bytes[0] + sizeof(m->pool->bytes)), -1);
    assert_int_equal(pw_pool_find(m->pool, NULL), -1);
    pw_pool_detach(m->pool);
}

static void is_empty_for_the_next(void **state)
{
    struct made *m = *state;
    struct pw_pool *again;
    assert_int_equal(pw_pool_create(m->name, m->segment, &m->pool), 0);
    m->pool->notes[5] = 1;
    pw_pool_complete(m->pool, pw_pool_take(m->pool), 10);
    assert_int_equal(pw_pool_attach(m->name, m->segment, &again), 0);
    assert_int_equal(pw_pool_oldest(again), 0);
    pw_pool_detach(again);
    assert_int_equal(pw_pool_create(m->name, m->segment, &again), 0);
    assert_int_equal(pw_pool_oldest(again), -1);
    assert_int_equal(again->notes[5], 0);
    pw_pool_detach(again);
    pw_pool_detach(m->pool);
}

#define ON_POOL(test) cmocka_unit_test_setup_teardown(test, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_POOL(goes_round),
        ON_POOL(finds_by_address),
        ON_POOL(is_empty_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
