/* A segment with two rings, a rank file with its journal, and what lies between them, for tests
 * that write records by hand. */
#ifndef TEST_DRAIN_BENCH_H
#define TEST_DRAIN_BENCH_H

#include "unit.h"

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "rank/collect/drain.h"
#include "rank/file/rankfile.h"
#include "rank/ring/ring.h"

struct bench {
    void *dir;
    char name[PW_SEGMENT_NAME_SIZE];
    struct pw_segment_shared *segment; /* rings of 1024 records; ticks are ns */
    struct pw_ring rings[2];
    struct pw_rankfile *file;
    struct pw_journal *journal;
    struct pw_intake *intake;
    struct pw_drain *drain;
    hid_t read; /* the file, once closed */
};

/* For set-ups: *state becomes the bench. */
int bench_create(void **state, const struct pw_module *modules, uint32_t activities);

/* The same with rings of so many records. */
int bench_create_of(void **state, const struct pw_module *modules, uint32_t activities,
                    uint64_t records);

/* Tear-down; ON_BENCH(test) is a test of a file that has its own setup(). */
int bench_destroy(void **state);
#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, setup, bench_destroy)

/* Writes a record; there must be room. */
void bench_put(struct bench *bench, int ring, const struct pw_record *record);

/* Writes the record with which a thread begins. */
void bench_thread(struct bench *bench, int ring, uint32_t thread, bool is_of_new_process);

/* Writes the record that gives a text its number; it fits into one record. */
void bench_name(struct bench *bench, uint32_t id, const char *text);

/* A record of this type in which all else is random: numbers of every length. */
struct pw_record bench_hostile(uint64_t *seed, int type);

/* Stands for the module of kernels (PW_ACTIVITY_NULL): a record PW_REC_MARK of value i becomes
 * the row bench_kernel[i]. */
extern struct pw_row_kernel bench_kernel[64];
extern const struct pw_module bench_kernels;

/* Finishes and destroys drain and intake, closes the file and opens it for reading; the bench
 * closes it. */
hid_t bench_close(struct bench *bench);

/* All rows of a table of the closed file; the caller frees them. */
void *bench_rows(struct bench *bench, int table, size_t *count);

/* What a row of /comms says of a communicator. */
void bench_assert_comm(const struct pw_row_comms *row, uint64_t uid, int size, int my_rank,
                       int64_t collectives);

#endif
