/* The probe in a process of its own: main() makes a segment and runs this program again with it in
 * the environment, as a collector would. Names, threads' rings, and children that stay silent. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank/probe/attach.h"

enum { THREADS = 4, SHARED_NAMES = 2000, TOO_MANY = 40000 };

/* Texts of the names found in all rings, by id; how often each was delivered. */
static char texts[1 << 16][256];
static int pieces[1 << 16];

static void read_rings(void)
{
    struct pw_segment_shared *segment = (struct pw_segment_shared *)pw_probe_borrow_segment();
    const char *name = getenv(PW_SEGMENT_VARIABLE);
    for (int i = 0; i < (int)atomic_load(&segment->nrings); i++) {
        struct pw_ring_shared *ring;
        uint64_t records;
        assert_int_equal(pw_segment_map_ring(name, segment, i, &ring, &records), 0);
        uint64_t head = atomic_load(&ring->head);
        for (uint64_t at = atomic_load(&ring->tail); at < head; at++) {
            const struct pw_record *r = &pw_ring_records(ring)[at % records];
            if (r->type != PW_REC_STRING)
                continue;
            assert_true(r->string.id < 1 << 16 && r->string.total < 256);
            uint32_t left = r->string.total - r->string.offset;
            memcpy(texts[r->string.id] + r->string.offset, r->string.bytes,
                   left < PW_STRING_PIECE ? left : PW_STRING_PIECE);
            pieces[r->string.id]++;
        }
        atomic_store(&ring->tail, head);
        pw_segment_unmap_ring(ring, records);
    }
}

static void test_first_record(void **state)
{
    (void)state;
    struct pw_thread *thread = pw_probe_thread();
    assert_non_null(thread);
    assert_ptr_equal(pw_probe_thread(), thread);
    assert_int_equal(thread->index, 0);
    assert_int_equal(thread->ring.records[0].type, PW_REC_THREAD);
    assert_int_equal(thread->ring.records[0].thread.process, thread->ring.records[0].start);
    assert_int_equal(thread->ring.records[0].thread.pid, getpid());
    assert_int_equal(atomic_load(&pw_probe_borrow_segment()->owner_pid), getpid());
    assert_int_equal(atomic_load(&pw_probe_borrow_segment()->rings[0].state) & PW_RING_STATE_MASK,
                     PW_RING_OWNED);
}

static void test_names(void **state)
{
    (void)state;
    struct pw_thread *thread = pw_probe_thread();
    char longest[400];
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    uint32_t a = pw_probe_intern(thread, "forward"), b = pw_probe_intern(thread, "backward");
    uint32_t c = pw_probe_intern(thread, longest);
    assert_true(a && b && c && a != b && b != c && a != c);
    uint64_t head = thread->ring.head;
    assert_int_equal(pw_probe_intern(thread, "forward"), a);
    assert_int_equal(pw_probe_intern(thread, longest), c);
    assert_int_equal(thread->ring.head, head); /* a text is written once */
    assert_int_equal(pw_probe_intern(thread, ""), 0);
    assert_int_equal(pw_probe_intern(thread, NULL), 0);
    longest[255] = '\0';
    assert_int_equal(pw_probe_intern(thread, longest), c); /* the same once cut */
    read_rings();
    assert_string_equal(texts[a], "forward");
    assert_string_equal(texts[b], "backward");
    assert_string_equal(texts[c], longest);
    assert_int_equal(pieces[a], 1);
    assert_int_equal(pieces[c], 10); /* 255 bytes by 28 */
}

/* A ring that is full when a name is first used: the name is recorded at a later use. */
static void test_name_is_recorded_later_after_a_full_ring(void **state)
{
    (void)state;
    struct pw_thread *thread = pw_probe_thread();
    atomic_store(&thread->ring.shared->tail, thread->ring.head);
    for (uint64_t i = 0; i <= thread->ring.mask; i++) {
        assert_non_null(pw_ring_reserve(&thread->ring, i, PW_LOST_OTHER));
        pw_probe_commit(thread);
    }
    uint32_t id = pw_probe_intern(thread, "in a full ring");
    assert_true(id > 0);
    assert_int_equal(atomic_load(&thread->ring.shared->lost[PW_LOST_NAME]), 1);
    memset(thread->ring.records, 0, (thread->ring.mask + 1) * sizeof(struct pw_record));
    atomic_store(&thread->ring.shared->tail, thread->ring.head);
    assert_int_equal(pw_probe_intern(thread, "in a full ring"), id);
    read_rings();
    assert_string_equal(texts[id], "in a full ring");
}

static void *intern_all(void *arg)
{
    uint32_t *ids = arg;
    struct pw_thread *thread = pw_probe_thread();
    for (int i = 0; thread && i < SHARED_NAMES; i++) {
        char text[32];
        snprintf(text, sizeof(text), "shared name %d", i);
        ids[i] = pw_probe_intern(thread, text);
    }
    return thread;
}

static void test_names_of_threads(void **state)
{
    (void)state;
    static uint32_t ids[THREADS][SHARED_NAMES];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, intern_all, ids[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        void *thread;
        pthread_join(threads[t], &thread);
        assert_non_null(thread);
    }
    read_rings();
    for (int i = 0; i < SHARED_NAMES; i++) {
        char text[32];
        snprintf(text, sizeof(text), "shared name %d", i);
        assert_true(ids[0][i] > 0);
        for (int t = 1; t < THREADS; t++)
            assert_int_equal(ids[t][i], ids[0][i]);
        assert_string_equal(texts[ids[0][i]], text);
        assert_int_equal(pieces[ids[0][i]], 1); /* by one of them */
    }
}

static void *begin(void *arg)
{
    (void)arg;
    struct pw_thread *thread = pw_probe_thread();
    return (void *)(uintptr_t)(thread ? thread->index + 1 : 0);
}

/* More threads than rings, one after the other: a ring goes from thread to thread. */
static void test_rings_are_taken_over(void **state)
{
    (void)state;
    uintptr_t last = 0;
    for (int i = 0; i < PW_MAX_RINGS + 50; i++) {
        pthread_t thread;
        void *index;
        assert_int_equal(pthread_create(&thread, NULL, begin, NULL), 0);
        pthread_join(thread, &index);
        assert_true((uintptr_t)index > last); /* an index of its own each */
        last = (uintptr_t)index;
    }
    assert_in_range(atomic_load(&pw_probe_borrow_segment()->nrings), 1, THREADS + 1);
}

static void test_child_is_silent(void **state)
{
    (void)state;
    struct pw_thread *mine = pw_probe_thread();
    uint64_t head = mine->ring.head;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(pw_probe_thread() ? 1 : 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&mine->ring.shared->head), head);
    assert_ptr_equal(pw_probe_thread(), mine);
}

/* Last: it fills the table. */
static void test_too_many_names(void **state)
{
    (void)state;
    struct pw_thread *thread = pw_probe_thread();
    uint32_t first = pw_probe_intern(thread, "forward");
    static uint32_t ids[TOO_MANY];
    int kept = 0;
    for (int i = 0; i < TOO_MANY; i++) {
        char text[32];
        snprintf(text, sizeof(text), "many %d", i);
        ids[i] = pw_probe_intern(thread, text);
        if (i % 4096 == 0)
            atomic_store(&thread->ring.shared->tail, thread->ring.head);
    }
    uint32_t rest = ids[TOO_MANY - 1];
    for (int i = 0; i < TOO_MANY; i++)
        kept += ids[i] != rest;
    assert_in_range(kept, 20000, 1 << 15);
    assert_int_equal(pw_probe_intern(thread, "forward"), first); /* what is in it stays */
    assert_int_equal(pw_probe_intern(thread, "one more"), rest);
    assert_int_equal(pw_probe_intern(thread, "(more names than are kept)"), rest);
}

static int run_again(char **argv)
{
    char name[PW_SEGMENT_NAME_SIZE];
    struct pw_segment_shared *segment;
    int status = 1;
    if (pw_segment_create(0, 1 << 20, name, &segment) || pw_segment_allocate_ring(name, segment, 0))
        return 1;
    setenv(PW_SEGMENT_VARIABLE, name, 1);
    pid_t pid = fork();
    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    shm_unlink(name);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_record),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_name_is_recorded_later_after_a_full_ring),
        cmocka_unit_test(test_names_of_threads),
        cmocka_unit_test(test_rings_are_taken_over),
        cmocka_unit_test(test_child_is_silent),
        cmocka_unit_test(test_too_many_names),
    };
    (void)argc;
    if (!getenv(PW_SEGMENT_VARIABLE))
        return run_again(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
