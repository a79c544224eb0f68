/* See expect.h. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static _Thread_local char thread_label[16] = "main";

void expect_begin(const char *prefix)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s-%d", prefix, rank);
    out = fopen(path, "w");
    expect_true(out != NULL, path);
}

void expect_end(void)
{
    expect_true(fclose(out) == 0, "writing the expected lines");
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

void expect_true(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "capture program: not as it must be: %s\n", what);
    exit(1);
}
