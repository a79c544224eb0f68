/* Communicators made in every way: who is in them, what they are called, and that an operation on
 * each is recorded under it. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

enum { INT = (int)sizeof(int) };

static struct place world;

static void made_by(const char *op, const struct place *parent)
{
    expect_op(op, parent->label, 0, 0, -1, 0, 0, 0, 0);
}

/* A rooted collective and a message, so that ranks are translated. */
static void use(struct place *p)
{
    int a = 1, b = 0, right = (p->me + 1) % p->n, left = (p->me + p->n - 1) % p->n;
    MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, p->comm);
    expect_true(b == p->n, "the sum");
    expect_collective(p, "Allreduce", -1, INT, INT, 0);
    MPI_Bcast(&a, 1, MPI_INT, p->n - 1, p->comm);
    expect_collective(p, "Bcast", p->n - 1, p->me == p->n - 1 ? INT : 0,
                      p->me == p->n - 1 ? 0 : INT, 0);
    MPI_Sendrecv(&a, 1, MPI_INT, right, 5, &b, 1, MPI_INT, left, 5, p->comm, MPI_STATUS_IGNORE);
    expect_message(p, "Sendrecv", INT, 0, right, 5, 0);
    expect_message(p, "Sendrecv", 0, INT, left, 5, RECV_PART);
}

static void use_and_free(MPI_Comm made, const char *label, const char *name)
{
    struct place place;
    expect_place(&place, made, label, name);
    use(&place);
    MPI_Comm_free(&made);
    expect_op("Comm_free", label, 0, 0, -1, 0, 0, 0, 0);
}

static void duplicates(void)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    made_by("Comm_dup", &world);
    MPI_Comm_set_name(made, "a duplicate");
    use_and_free(made, "dup", "a_duplicate");
    MPI_Info_create(&info);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    made_by("Comm_dup_with_info", &world);
    MPI_Info_free(&info);
    use_and_free(made, "dup-info", "-");
    MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
    expect_op("Comm_idup", "world", 0, 0, -1, 0, NONBLOCKING, 0, 0);
    use_and_free(made, "idup", "-");
}

static void splits(void)
{
    MPI_Comm made;
    char label[32];
    MPI_Comm_split(MPI_COMM_WORLD, world.me / 2, -world.me, &made);
    made_by("Comm_split", &world);
    snprintf(label, sizeof(label), "pair-%d", world.me / 2);
    use_and_free(made, label, "-");
    /* Rank 0 alone stays out. */
    MPI_Comm_split(MPI_COMM_WORLD, world.me ? 1 : MPI_UNDEFINED, 0, &made);
    made_by("Comm_split", &world);
    if (made != MPI_COMM_NULL)
        use_and_free(made, "not-0", "-");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    made_by("Comm_split_type", &world);
    use_and_free(made, "node", "-");
}

static void groups(void)
{
    MPI_Group all, first;
    MPI_Comm made;
    int ranks[2] = {world.n - 1, 0}, n = world.n > 1 ? 2 : 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n, ranks, &first);
    MPI_Comm_create(MPI_COMM_WORLD, first, &made);
    made_by("Comm_create", &world);
    if (made != MPI_COMM_NULL)
        use_and_free(made, "ends", "-");
    if (world.me == 0 || world.me == world.n - 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, &made);
        made_by("Comm_create_group", &world);
        use_and_free(made, "ends-again", "-");
    }
    MPI_Group_free(&first);
    MPI_Group_free(&all);
}

static void topologies(void)
{
    int dims[1] = {world.n}, periodic[1] = {1}, keep[1] = {1};
    int index[64], edges[64], right = (world.me + 1) % world.n;
    int left = (world.me + world.n - 1) % world.n, weight = 1;
    MPI_Comm cart, sub, made;
    struct place place;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &cart);
    made_by("Cart_create", &world);
    expect_place(&place, cart, "cart", "-");
    use(&place);
    MPI_Cart_sub(cart, keep, &sub);
    made_by("Cart_sub", &place);
    use_and_free(sub, "cart-sub", "-");
    MPI_Comm_free(&cart);
    expect_op("Comm_free", "cart", 0, 0, -1, 0, 0, 0, 0);
    for (int i = 0; i < world.n; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % world.n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, world.n, index, edges, 0, &made);
    made_by("Graph_create", &world);
    use_and_free(made, "graph", "-");
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight,
                                   MPI_INFO_NULL, 0, &made);
    made_by("Dist_graph_create_adjacent", &world);
    use_and_free(made, "adjacent", "-");
    int degree = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world.me, &degree, &right, &weight, MPI_INFO_NULL, 0,
                          &made);
    made_by("Dist_graph_create", &world);
    use_and_free(made, "dist-graph", "-");
}

/* Even ranks on one side, odd ones on the other: peers are of the remote side. */
static void across(MPI_Comm inter, int side)
{
    struct place p;
    int a[64] = {1}, b[64], remote, rc = MPI_Comm_remote_size(inter, &remote);
    expect_true(rc == MPI_SUCCESS, "remote size");
    expect_interplace(&p, inter, "inter");
    MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, inter);
    expect_collective(&p, "Allreduce", -1, INT, INT, 0);
    MPI_Allgather(a, 2, MPI_INT, b, 2, MPI_INT, inter);
    expect_collective(&p, "Allgather", -1, 2 * INT, 2L * remote * INT, 0);
    /* From rank 0 of the even side. */
    int root = side ? 0 : p.me == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(a, 3, MPI_INT, root, inter);
    expect_op("Bcast", p.label, root == MPI_ROOT ? 3 * INT : 0, side ? 3 * INT : 0,
              root == MPI_PROC_NULL ? -1 : 0, 0, root == MPI_ROOT ? ROOT : 0, p.collectives++, 0);
    if (p.me == 0) {
        MPI_Sendrecv(a, 1, MPI_INT, 0, 8, b, 1, MPI_INT, 0, 8, inter, MPI_STATUS_IGNORE);
        expect_message(&p, "Sendrecv", INT, 0, 0, 8, 0);
        expect_message(&p, "Sendrecv", 0, INT, 0, 8, RECV_PART);
    }
}

static void intercommunicators(void)
{
    MPI_Comm half, inter, merged;
    struct place mine;
    int side = world.me % 2;
    if (world.n < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    made_by("Comm_split", &world);
    expect_place(&mine, half, side ? "odd" : "even", "-");
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &inter);
    made_by("Intercomm_create", &mine);
    across(inter, side);
    MPI_Intercomm_merge(inter, side, &merged);
    expect_op("Intercomm_merge", "inter", 0, 0, -1, 0, 0, 0, 0);
    use_and_free(merged, "merged", "-");
    MPI_Comm_disconnect(&inter);
    expect_op("Comm_disconnect", "inter", 0, 0, -1, 0, 0, 0, 0);
    MPI_Comm_free(&half);
    expect_op("Comm_free", mine.label, 0, 0, -1, 0, 0, 0, 0);
}

/* Handles come back: each is another communicator all the same. */
static void many(void)
{
    for (int i = 0; i < 50; i++) {
        MPI_Comm made;
        char label[32];
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        made_by("Comm_dup", &world);
        snprintf(label, sizeof(label), "again-%d", i);
        use_and_free(made, label, "-");
    }
}

static int free_value(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    return MPI_Comm_free(value);
}

/* A handle comes back that was freed while MPI deleted an attribute, which is no operation of the
 * program's: it is another communicator all the same. */
static void freed_unseen(void)
{
    MPI_Comm owner, inner, again[2];
    struct place place;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &owner);
    made_by("Comm_dup", &world);
    expect_place(&place, owner, "owner", "-");
    MPI_Comm_split(MPI_COMM_WORLD, world.me, 0, &inner);
    made_by("Comm_split", &world);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_value, &key, NULL);
    MPI_Comm_set_attr(owner, key, &inner);
    MPI_Comm_free(&owner);
    expect_op("Comm_free", "owner", 0, 0, -1, 0, 0, 0, 0);
    expect_true(inner == MPI_COMM_NULL, "the attribute's communicator is free");
    MPI_Comm_free_keyval(&key);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &again[i]);
        made_by("Comm_dup", &world);
    }
    use_and_free(again[0], "first-again", "-");
    use_and_free(again[1], "second-again", "-");
}

int main(int argc, char **argv)
{
    struct place self;
    expect_init(&argc, &argv, &world);
    expect_self(&self, &world);
    use(&world);
    use(&self);
    duplicates();
    splits();
    groups();
    topologies();
    intercommunicators();
    many();
    freed_unseen();
    return expect_finalize();
}
