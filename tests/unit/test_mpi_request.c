/* The table of open nonblocking operations. Every entry is found once, in constant time. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/mpi/mpi_lock.h"
#include "collectors/mpi/mpi_request.h"
#include "core/ops.h"

/* Variables that mpi_call.c and mpi_library.c would set. */
int pw_mpi_threads;
struct pw_mpi_handles pw_mpi_handles;
struct pw_mpi_handles pw_mpi_handles; /* as mpi_library.c would find them */

enum { MANY = 1000000 };

static MPI_Request handle_of(uint64_t number)
{
    return (MPI_Request)(uintptr_t)number;
}

static void add(uint64_t number, uint16_t op)
{
    struct pw_mpi_request *entry = pw_mpi_request_add(handle_of(number), pw_op_info(op)->cls, 0);
    assert_non_null(entry);
    entry->record.start = number ^ 0x5555;
    entry->record.end = 0;
}

/* Takes the entry. Returns 1 when it was there and complete. */
static int take(uint64_t number)
{
    struct pw_mpi_request *entry = pw_mpi_request_take(handle_of(number), UINT64_MAX);
    int right =
        entry && entry->handle == handle_of(number) && entry->record.start == (number ^ 0x5555);
    if (entry)
        pw_mpi_request_free(entry);
    return right;
}

static void test_empty(void **state)
{
    (void)state;
    assert_null(pw_mpi_request_take(handle_of(0x1000), UINT64_MAX));
    assert_int_equal(pw_mpi_request_receives(), 0);
}

/* A collector that reads a bucket sees by it that an entry is no longer in it. */
static void test_state_of_a_freed_entry(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pw_mpi_request *entry = pw_mpi_request_add(handle_of(0x40), PW_CLASS_COLL, 1);
        assert_int_equal(entry->state & (PW_REQUEST_CLASS | PW_REQUEST_UNUSED), PW_CLASS_COLL);
        assert_ptr_equal(pw_mpi_request_take(handle_of(0x40), UINT64_MAX), entry);
        assert_false(entry->state & PW_REQUEST_UNUSED);
        pw_mpi_request_free(entry);
        assert_int_equal(entry->state, PW_REQUEST_UNUSED);
    }
}

static void test_receives(void **state)
{
    (void)state;
    add(0x10, PW_OP_Isend);
    assert_int_equal(pw_mpi_request_receives(), 0);
    add(0x20, PW_OP_Irecv);
    add(0x30, PW_OP_Irecv);
    assert_int_equal(pw_mpi_request_receives(), 1);
    assert_true(take(0x20));
    assert_true(take(0x10));
    assert_int_equal(pw_mpi_request_receives(), 1);
    assert_true(take(0x30));
    assert_int_equal(pw_mpi_request_receives(), 0);
    assert_false(take(0x20));
}

/* With one thread, a handle that comes again belongs to the new operation, because the end of the
 * old one was not seen. */
static void test_reused_handle_of_one_thread(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 1000; i++) {
        struct pw_mpi_request *entry =
            pw_mpi_request_add(handle_of(0x40), i % 2 ? PW_CLASS_RECV : PW_CLASS_SEND, 0);
        assert_non_null(entry);
        entry->record.stack = i;
        assert_int_equal(pw_mpi_request_receives(), i % 2);
    }
    struct pw_mpi_request *entry = pw_mpi_request_take(handle_of(0x40), UINT64_MAX);
    assert_non_null(entry);
    assert_int_equal(entry->record.stack, 1000);
    assert_null(pw_mpi_request_take(handle_of(0x40), UINT64_MAX)); /* held is not open */
    pw_mpi_request_free(entry);
    assert_null(pw_mpi_request_take(handle_of(0x40), UINT64_MAX));

    add(0x40, PW_OP_Irecv);
    entry = pw_mpi_request_add(handle_of(0x40), PW_CLASS_SEND, 1);
    assert_non_null(entry);
    assert_int_equal(pw_mpi_request_receives(), 0);
    assert_ptr_equal(pw_mpi_request_take(handle_of(0x40), UINT64_MAX), entry);
    pw_mpi_request_free(entry);
}

/* The operation that began last is in front. The one that it replaces is found as before, and an
 * entry that was taken stays in its place. */
static void test_newest_request_is_found_first(void **state)
{
    (void)state;
    const MPI_Request old = handle_of(0x40);
    const struct pw_mpi_request *front = pw_mpi_request_row(old);
    uint32_t number = 0x80;
    while (pw_mpi_request_row(handle_of(number)) != front)
        number += 16;
    const MPI_Request other = handle_of(number);
    struct pw_mpi_request *entry = pw_mpi_request_add(old, PW_CLASS_RECV, 0);
    entry->record.stack = 1;
    assert_ptr_equal(entry, front);
    entry = pw_mpi_request_add(other, PW_CLASS_RECV, 0);
    entry->record.stack = 2;
    assert_ptr_equal(entry, front);
    assert_int_equal(atomic_load(&pw_mpi_request_counts.receives), 2);
    assert_int_equal(pw_mpi_request_count_open(), 2);
    struct pw_mpi_request *taken = pw_mpi_request_take(other, UINT64_MAX);
    assert_ptr_equal(taken, front);
    struct pw_mpi_request *third = pw_mpi_request_add(other, PW_CLASS_SEND, 0);
    assert_true(third && third != front);
    assert_int_equal(taken->record.stack, 2);
    pw_mpi_request_free(taken);
    entry = pw_mpi_request_take(old, UINT64_MAX);
    assert_non_null(entry);
    assert_int_equal(entry->record.stack, 1);
    pw_mpi_request_free(entry);
    assert_ptr_equal(pw_mpi_request_take(other, UINT64_MAX), third);
    pw_mpi_request_free(third);
    assert_int_equal(pw_mpi_request_receives(), 0);
    assert_int_equal(pw_mpi_request_count_open(), 0);
}

/* The library may use a handle again although the probe has not seen the completion of its old
 * operation. */
static void test_reused_handle(void **state)
{
    (void)state;
    pw_mpi_threads = 1;
    const MPI_Request handle = handle_of(0x40);
    struct pw_mpi_request *entry;
    for (uint32_t i = 1; i <= 1000; i++) {
        entry = pw_mpi_request_add(handle, PW_CLASS_RECV, 0);
        assert_non_null(entry);
        entry->record.end = 10 * i; /* when it had begun */
        entry->record.stack = i;
    }
    entry = pw_mpi_request_take(handle, 9985); /* of a Wait entered before 999 and 1000 began */
    assert_non_null(entry);
    assert_int_equal(entry->record.stack, 998);
    pw_mpi_request_free(entry);
    entry = pw_mpi_request_take(handle, UINT64_MAX);
    assert_non_null(entry);
    assert_int_equal(entry->record.stack, 1000); /* the newest */
    pw_mpi_request_free(entry);
    assert_null(pw_mpi_request_take(handle, 5));
    int left = 0;
    while ((entry = pw_mpi_request_take(handle, UINT64_MAX))) {
        left++;
        pw_mpi_request_free(entry);
    }
    assert_in_range(left, 1, 100); /* what no call can refer to was dropped, and is not counted */
    assert_int_equal(pw_mpi_request_receives(), 0);
    pw_mpi_threads = 0;
}

static void test_persistent(void **state)
{
    (void)state;
    assert_null(pw_mpi_request_find(handle_of(0x70)));
    add(0x80, PW_OP_Isend);
    assert_non_null(pw_mpi_request_add(handle_of(0x70), PW_CLASS_SEND, 1));
    assert_int_equal(pw_mpi_request_persistents(), 1);
    assert_non_null(pw_mpi_request_find(handle_of(0x70)));
    assert_ptr_equal(pw_mpi_request_find(handle_of(0x70)), pw_mpi_request_find(handle_of(0x70)));
    assert_null(pw_mpi_request_find(handle_of(0x80))); /* it is none */
    assert_true(take(0x80));
    struct pw_mpi_request *entry = pw_mpi_request_take(handle_of(0x70), UINT64_MAX);
    assert_non_null(entry);
    pw_mpi_request_free(entry);
    assert_int_equal(pw_mpi_request_persistents(), 0);
    assert_null(pw_mpi_request_find(handle_of(0x70)));
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Handles like those of an allocator, or random numbers. */
static uint64_t number_of(uint32_t i, int is_random)
{
    uint64_t seed = i;
    return is_random ? unit_random(&seed) | 1 : 0x7f0000001000 + (uint64_t)i * 0x180;
}

/* Adds `n` entries and takes them in another order. Returns the seconds per operation. */
static double fill_and_empty(uint32_t n, int is_random)
{
    uint32_t *order = malloc(n * sizeof(*order));
    uint64_t seed = n;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(unit_random(&seed) % (i + 1)), held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
    double start = cpu_seconds();
    for (uint32_t i = 0; i < n; i++)
        add(number_of(i, is_random), PW_OP_Isend);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += (uint32_t)take(number_of(order[i], is_random));
    double seconds = cpu_seconds() - start;
    assert_int_equal(found, n);
    for (uint32_t i = 0; i < n; i += 1 + n / 1000)
        assert_false(take(number_of(i, is_random)));
    free(order);
    return seconds / (2.0 * n);
}

static void test_cost_of_many_requests(void **state)
{
    (void)state;
    fill_and_empty(1000, 0);
    double few = fill_and_empty(20000, 0);
    double many = fill_and_empty(MANY, 0), random = fill_and_empty(MANY, 1);
    print_message("%.0f ns each of 20000, %.0f and %.0f ns of %d\n", few * 1e9, many * 1e9,
                  random * 1e9, MANY);
    /* There are 50 times as many entries. With a list, or a table that does not grow, each would
     * take 50 times as long. Caches account for a factor of ten. */
    assert_true(many < 25 * few + 1e-7);
    assert_true(random < 25 * few + 1e-7);
}

/* Adds and takes entries in turn, as applications do, with many open at any time. */
static void test_requests_added_and_removed_in_turn(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5000; i++)
        add(number_of(i, 0), PW_OP_Isend);
    for (uint32_t i = 5000; i < 200000; i++) {
        add(number_of(i, 0), PW_OP_Isend);
        assert_true(take(number_of(i - 5000, 0)));
    }
    for (uint32_t i = 195000; i < 200000; i++)
        assert_true(take(number_of(i, 0)));
}

static void *work(void *arg)
{
    uintptr_t base = (uintptr_t)arg * 0x100000000, failed = 0;
    for (uintptr_t i = 1; i <= 20000; i++) {
        struct pw_mpi_request *entry =
            pw_mpi_request_add(handle_of(base + i * 16), PW_CLASS_SEND, 0);
        failed += entry == NULL;
        if (entry)
            entry->record.start = (base + i * 16) ^ 0x5555;
        if (i > 50)
            failed += !take(base + (i - 50) * 16);
    }
    return (void *)failed;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    pw_mpi_threads = 1;
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    pw_mpi_threads = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_receives),
        cmocka_unit_test(test_state_of_a_freed_entry),
        cmocka_unit_test(test_newest_request_is_found_first),
        cmocka_unit_test(test_reused_handle),
        cmocka_unit_test(test_reused_handle_of_one_thread),
        cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_cost_of_many_requests),
        cmocka_unit_test(test_requests_added_and_removed_in_turn),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
