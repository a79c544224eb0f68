/* The probe's memory with several threads: no byte is given out twice. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rank/probe/arena.h"

enum { THREADS = 8, PIECES = 6000 };

/* Sizes close to the largest that share a block, so that blocks are exchanged all the time. */
static size_t size_of(int i)
{
    return i % 3 ? 64 : 16000;
}

static void test_allocations_of_all_sizes(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < 200000; bytes = bytes * 3 + 1) {
        char *memory = pw_arena_take(bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xff, bytes);
    }
}

struct taken {
    uint64_t *pieces[PIECES];
    uint64_t mark;
};

static void *take(void *arg)
{
    struct taken *mine = arg;
    for (int i = 0; i < PIECES; i++) {
        mine->pieces[i] = pw_arena_take(size_of(i));
        for (size_t w = 0; mine->pieces[i] && w < size_of(i) / 8; w += 7)
            mine->pieces[i][w] = mine->mark + (uint64_t)i;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static struct taken taken[THREADS];
    pthread_t threads[THREADS];
    int damaged = 0;
    for (uint64_t t = 0; t < THREADS; t++) {
        taken[t].mark = (t + 1) << 32;
        assert_int_equal(pthread_create(&threads[t], NULL, take, &taken[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < PIECES; i++) {
            assert_non_null(taken[t].pieces[i]);
            for (size_t w = 0; w < size_of(i) / 8; w += 7)
                damaged += taken[t].pieces[i][w] != taken[t].mark + (uint64_t)i;
        }
    assert_int_equal(damaged, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocations_of_all_sizes),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
