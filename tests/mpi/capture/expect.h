/* What a capture program says that it did: one line per operation that the rank file must hold, in
 * the order in which the operations of a thread ended. test_capture.py compares.
 *
 *     op THREAD NAME COMM SENT RECV PEER TAG FLAGS SEQ LEVEL
 *     comm LABEL SIZE RANK NAME MEMBER,MEMBER,...;REMOTE,REMOTE,...
 *
 * PEER and TAG may be "any": not compared. LEVEL is the lowest --level that records the line. */
#ifndef PW_TEST_EXPECT_H
#define PW_TEST_EXPECT_H

#include <mpi.h>

/* As in the rank file. */
enum { RECV_PART = 2, NONBLOCKING = 4, CANCELLED = 8, FREED = 16, ROOT = 64 };
enum { PEER_ANY = -100, TAG_ANY = -100 };

/* A communicator under a name that is the same on all its ranks, and nowhere else. */
struct place {
    MPI_Comm comm;
    char label[32];
    int n, me;        /* size and rank */
    int right, left;  /* the neighbours of `me` in a ring of all ranks */
    int world[64];    /* world rank of each member, or of each remote one */
    long collectives; /* so far */
};

/* Calls MPI_Init and expect_start(); argv[1] is the prefix. */
void expect_init(int *argc, char ***argv, struct place *world);

/* Opens PREFIX-RANK, where lines go from now on, and describes `init`, the call that initialised
 * MPI, and MPI_COMM_WORLD. */
void expect_start(const char *prefix, const char *init, struct place *world);

/* Describes MPI_Finalize, closes the file and finalizes; the program's exit status. */
int expect_finalize(void);

/* Lines of the calling thread are of `label` from now on; "main" before. */
void expect_thread(const char *label);

/* Describes `comm`; `name` is what the rank file calls it. */
void expect_place(struct place *place, MPI_Comm comm, const char *label, const char *name);

/* MPI_COMM_SELF, as "self-RANK". */
void expect_self(struct place *self, const struct place *world);

/* The same for an intercommunicator, under one label on both sides: members are ours and theirs,
 * `world` is theirs. */
void expect_interplace(struct place *place, MPI_Comm comm, const char *label);

/* `comm` is "-" where an operation has none. */
void expect_op(const char *op, const char *comm, long sent, long received, int peer, int tag,
               int flags, long seq, int level);

/* A collective: the next of its communicator. `root` -1: not rooted. */
void expect_collective(struct place *place, const char *op, int root, long sent, long received,
                       int flags);

/* Point-to-point with rank `peer` of the communicator, or MPI_PROC_NULL. */
void expect_message(const struct place *place, const char *op, long sent, long received, int peer,
                    int tag, int flags);

/* A Wait or Test that completed `n` operations. */
void expect_wait(const char *op, int n);

/* A Test, or one of its variants, that completed nothing. */
void expect_failed_test(const char *op);

/* Calls MPI_Barrier. */
void expect_barrier(struct place *place);

/* Calls `run` while a buffer for Bsend and its variants is attached. */
void expect_with_buffer(void (*run)(void));

/* These complete `n` requests by Wait and its variants, or if `test` by Test and its. `completed`
 * describes the operation of request `i`; expect_one() completes request `i` only. */
struct requests {
    MPI_Request *all;
    int n; /* at most 16 */
    void (*completed)(int i);
};
void expect_one(int test, const struct requests *r, int i, MPI_Status *status);
void expect_all(int test, const struct requests *r, MPI_Status *statuses);
void expect_any(int test, const struct requests *r, MPI_Status *status);
void expect_some(int test, const struct requests *r, MPI_Status *statuses);

/* Ends the program with a message unless `ok`. */
void expect_true(int ok, const char *what);

/* Calls MODE(name of the send, elements, tag) for each mode of a send. */
#define EXPECT_EACH_MODE(MODE) \
    MODE(Send, 3, 1)           \
    MODE(Send, 0, 2)           \
    MODE(Ssend, 4, 4)          \
    MODE(Rsend, 5, 5)          \
    MODE(Bsend, 6, 6)

#endif
