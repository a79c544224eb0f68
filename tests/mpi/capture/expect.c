/* See expect.h. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static _Thread_local char thread_label[16] = "main";

void expect_start(const char *prefix, const char *init, struct place *world)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s-%d", prefix, rank);
    out = fopen(path, "w");
    expect_true(out != NULL, path);
    expect_op(init, "-", 0, 0, -1, 0, 0, 0, 0);
    expect_place(world, MPI_COMM_WORLD, "world", "MPI_COMM_WORLD");
}

void expect_init(int *argc, char ***argv, struct place *world)
{
    MPI_Init(argc, argv);
    expect_start((*argv)[1], "Init", world);
}

int expect_finalize(void)
{
    expect_op("Finalize", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_true(fclose(out) == 0, "writing the expected lines");
    MPI_Finalize();
    return 0;
}

void expect_thread(const char *label)
{
    snprintf(thread_label, sizeof(thread_label), "%s", label);
}

/* World ranks; -1 for a process of another MPI_COMM_WORLD. */
static void translate(MPI_Group group, int n, int *world)
{
    MPI_Group all;
    int ranks[64];
    expect_true(n <= 64, "at most 64 ranks");
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(group, n, ranks, all, world);
    for (int i = 0; i < n; i++)
        world[i] = world[i] == MPI_UNDEFINED ? -1 : world[i];
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
}

static void print_members(char before, const int *members, int n)
{
    for (int i = 0; i < n; i++)
        fprintf(out, "%c%d", i ? ',' : before, members[i]);
}

static void begin_place(struct place *place, MPI_Comm comm, const char *label, const char *name,
                        int *members)
{
    MPI_Group group;
    *place = (struct place){.comm = comm};
    snprintf(place->label, sizeof(place->label), "%s", label);
    PMPI_Comm_size(comm, &place->n);
    PMPI_Comm_rank(comm, &place->me);
    place->right = (place->me + 1) % place->n;
    place->left = (place->me + place->n - 1) % place->n;
    PMPI_Comm_group(comm, &group);
    translate(group, place->n, members);
    fprintf(out, "comm %s %d %d %s", label, place->n, place->me, name);
    print_members(' ', members, place->n);
}

void expect_place(struct place *place, MPI_Comm comm, const char *label, const char *name)
{
    int members[64];
    begin_place(place, comm, label, name, members);
    fputc('\n', out);
    memcpy(place->world, members, sizeof(members));
}

void expect_self(struct place *self, const struct place *world)
{
    char label[32];
    snprintf(label, sizeof(label), "self-%d", world->me);
    expect_place(self, MPI_COMM_SELF, label, "MPI_COMM_SELF");
}

void expect_interplace(struct place *place, MPI_Comm comm, const char *label)
{
    MPI_Group group;
    int members[64], remote;
    begin_place(place, comm, label, "-", members);
    PMPI_Comm_remote_size(comm, &remote);
    PMPI_Comm_remote_group(comm, &group);
    translate(group, remote, place->world);
    print_members(';', place->world, remote);
    fputc('\n', out);
}

static void print_or_any(char text[16], int value, int any)
{
    if (value == any)
        strcpy(text, "any");
    else
        snprintf(text, 16, "%d", value);
}

void expect_op(const char *op, const char *comm, long sent, long received, int peer, int tag,
               int flags, long seq, int level)
{
    char peer_text[16], tag_text[16];
    print_or_any(peer_text, peer, PEER_ANY);
    print_or_any(tag_text, tag, TAG_ANY);
    fprintf(out, "op %s %s %s %ld %ld %s %s %d %ld %d\n", thread_label, op, comm, sent, received,
            peer_text, tag_text, flags, seq, level);
}

void expect_collective(struct place *place, const char *op, int root, long sent, long received,
                       int flags)
{
    int peer = root < 0 ? -1 : place->world[root];
    if (root == place->me)
        flags |= ROOT;
    expect_op(op, place->label, sent, received, peer, 0, flags, place->collectives++, 0);
}

void expect_message(const struct place *place, const char *op, long sent, long received, int peer,
                    int tag, int flags)
{
    expect_op(op, place->label, sent, received, peer == MPI_PROC_NULL ? -1 : place->world[peer],
              tag, flags, 0, 1);
}

void expect_wait(const char *op, int n)
{
    expect_op(op, "-", 0, 0, -1, 0, 0, n, 1);
}

void expect_failed_test(const char *op)
{
    expect_op(op, "-", 0, 0, -1, 0, 0, 0, 2);
}

void expect_barrier(struct place *place)
{
    MPI_Barrier(place->comm);
    expect_collective(place, "Barrier", -1, 0, 0, 0);
}

void expect_with_buffer(void (*run)(void))
{
    static char buffer[1 << 19];
    void *detached;
    int size;
    MPI_Buffer_attach(buffer, sizeof(buffer));
    run();
    MPI_Buffer_detach(&detached, &size);
}

/* A call of `op` that completed requests[0..n): a Wait, or a Test that may have completed none. */
static void completed(const struct requests *r, int test, const char *op, const int *indices, int n)
{
    if (test && n == 0)
        expect_failed_test(op);
    else
        expect_wait(op, n);
    for (int i = 0; i < n; i++)
        r->completed(indices[i]);
}

void expect_one(int test, const struct requests *r, int i, MPI_Status *status)
{
    for (int done = 0; !done;) {
        done = !test;
        if (test)
            MPI_Test(&r->all[i], &done, status);
        else
            MPI_Wait(&r->all[i], status);
        completed(r, test, test ? "Test" : "Wait", &i, done);
    }
}

void expect_all(int test, const struct requests *r, MPI_Status *statuses)
{
    int indices[16];
    for (int i = 0; i < r->n; i++)
        indices[i] = i;
    for (int done = 0; !done;) {
        done = !test;
        if (test)
            MPI_Testall(r->n, r->all, &done, statuses);
        else
            MPI_Waitall(r->n, r->all, statuses);
        completed(r, test, test ? "Testall" : "Waitall", indices, done ? r->n : 0);
    }
}

void expect_any(int test, const struct requests *r, MPI_Status *status)
{
    for (int done = 0, index, one; done < r->n; done += one) {
        one = !test;
        if (test)
            MPI_Testany(r->n, r->all, &index, &one, status);
        else
            MPI_Waitany(r->n, r->all, &index, status);
        completed(r, test, test ? "Testany" : "Waitany", &index, one);
    }
}

void expect_some(int test, const struct requests *r, MPI_Status *statuses)
{
    int indices[16];
    for (int done = 0, n; done < r->n; done += n) {
        if (test)
            MPI_Testsome(r->n, r->all, &n, indices, statuses);
        else
            MPI_Waitsome(r->n, r->all, &n, indices, statuses);
        completed(r, test, test ? "Testsome" : "Waitsome", indices, n);
    }
}

void expect_true(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "capture program: not as it must be: %s\n", what);
    exit(1);
}
