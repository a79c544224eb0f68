/* The layouts of NCCL's profiler interface are those of its public headers: the numbers here are
 * what a program that includes these (NCCL 2.30, src/include/plugin/profiler/profiler_v1.h to
 * _v6.h) prints for offsetof and sizeof on x86-64. */
#include "unit.h"

#include "collectors/nccl/nccl_abi.h"

/* Version 5 is version 6 without its last members. */
#define pw_nccl_descr_v5 pw_nccl_descr_v6
#define OFFSET(version, member, offset) \
    assert_int_equal(offsetof(struct pw_nccl_descr_v##version, member), offset)
#define SIZE(version, bytes) assert_int_equal(sizeof(struct pw_nccl_descr_v##version), bytes)

static void test_v1(void **state)
{
    (void)state;
    OFFSET(1, type, 0);
    OFFSET(1, parent, 8);
    OFFSET(1, rank, 16);
    OFFSET(1, proxy_op.pid, 24);
    OFFSET(1, proxy_op.channel, 28);
    OFFSET(1, proxy_op.peer, 32);
    OFFSET(1, proxy_op.steps, 36);
    OFFSET(1, proxy_op.chunk_bytes, 40);
    OFFSET(1, proxy_op.is_send, 44);
    OFFSET(1, proxy_step.step, 24);
    OFFSET(1, coll.name, 24);
    OFFSET(1, coll.comm_hash, 32);
    OFFSET(1, coll.most_channels, 104);
    OFFSET(1, p2p.name, 24);
    OFFSET(1, p2p.comm_hash, 32);
    OFFSET(1, coll.seq, 40);
    OFFSET(1, coll.func, 48);
    OFFSET(1, coll.count, 72);
    OFFSET(1, coll.root, 80);
    OFFSET(1, coll.datatype, 84);
    OFFSET(1, coll.algorithm, 106);
    OFFSET(1, coll.protocol, 107);
    OFFSET(1, p2p.func, 40);
    OFFSET(1, p2p.datatype, 56);
    OFFSET(1, p2p.count, 64);
    OFFSET(1, p2p.peer, 72);
    SIZE(1, 120);
}

static void test_v2(void **state)
{
    (void)state;
    OFFSET(2, type, 0);
    OFFSET(2, parent, 8);
    OFFSET(2, rank, 16);
    OFFSET(2, proxy_op.pid, 24);
    OFFSET(2, proxy_op.channel, 28);
    OFFSET(2, proxy_op.peer, 32);
    OFFSET(2, proxy_op.steps, 36);
    OFFSET(2, proxy_op.chunk_bytes, 40);
    OFFSET(2, proxy_op.is_send, 44);
    OFFSET(2, proxy_step.step, 24);
    OFFSET(2, coll.name, 24);
    OFFSET(2, coll.comm_hash, 32);
    OFFSET(2, coll.most_channels, 104);
    OFFSET(2, p2p.name, 24);
    OFFSET(2, p2p.comm_hash, 32);
    OFFSET(2, coll.seq, 40);
    OFFSET(2, coll.func, 48);
    OFFSET(2, coll.count, 72);
    OFFSET(2, coll.root, 80);
    OFFSET(2, coll.datatype, 88);
    OFFSET(2, coll.algorithm, 112);
    OFFSET(2, coll.protocol, 120);
    OFFSET(2, p2p.func, 40);
    OFFSET(2, p2p.datatype, 56);
    OFFSET(2, p2p.count, 64);
    OFFSET(2, p2p.peer, 72);
    SIZE(2, 128);
}

static void test_v3(void **state)
{
    (void)state;
    OFFSET(3, type, 0);
    OFFSET(3, parent, 8);
    OFFSET(3, rank, 16);
    OFFSET(3, proxy_op.pid, 24);
    OFFSET(3, proxy_op.channel, 28);
    OFFSET(3, proxy_op.peer, 32);
    OFFSET(3, proxy_op.steps, 36);
    OFFSET(3, proxy_op.chunk_bytes, 40);
    OFFSET(3, proxy_op.is_send, 44);
    OFFSET(3, proxy_step.step, 24);
    OFFSET(3, coll.name, 24);
    OFFSET(3, coll.comm_hash, 32);
    OFFSET(3, coll.most_channels, 96);
    OFFSET(3, p2p.name, 24);
    OFFSET(3, p2p.comm_hash, 32);
    OFFSET(3, coll.seq, 40);
    OFFSET(3, coll.func, 48);
    OFFSET(3, coll.count, 72);
    OFFSET(3, coll.root, 80);
    OFFSET(3, coll.datatype, 88);
    OFFSET(3, coll.algorithm, 104);
    OFFSET(3, coll.protocol, 112);
    OFFSET(3, p2p.func, 40);
    OFFSET(3, p2p.datatype, 56);
    OFFSET(3, p2p.count, 64);
    OFFSET(3, p2p.peer, 72);
    OFFSET(3, kernel_channel.channel, 24);
    SIZE(3, 120);
}

static void test_v4(void **state)
{
    (void)state;
    OFFSET(4, type, 0);
    OFFSET(4, parent, 8);
    OFFSET(4, rank, 16);
    OFFSET(4, proxy_op.pid, 24);
    OFFSET(4, proxy_op.channel, 28);
    OFFSET(4, proxy_op.peer, 32);
    OFFSET(4, proxy_op.steps, 36);
    OFFSET(4, proxy_op.chunk_bytes, 40);
    OFFSET(4, proxy_op.is_send, 44);
    OFFSET(4, proxy_step.step, 24);
    OFFSET(4, coll.seq, 24);
    OFFSET(4, coll.func, 32);
    OFFSET(4, coll.count, 56);
    OFFSET(4, coll.root, 64);
    OFFSET(4, coll.datatype, 72);
    OFFSET(4, coll.algorithm, 88);
    OFFSET(4, coll.protocol, 96);
    OFFSET(4, p2p.func, 24);
    OFFSET(4, p2p.datatype, 40);
    OFFSET(4, p2p.count, 48);
    OFFSET(4, p2p.peer, 56);
    OFFSET(4, coll.channels, 80);
    OFFSET(4, p2p.channels, 60);
    OFFSET(4, kernel_channel.channel, 24);
    OFFSET(4, kernel_channel.timer, 32);
    SIZE(4, 104);
}

static void test_v5(void **state)
{
    (void)state;
    OFFSET(5, type, 0);
    OFFSET(5, parent, 8);
    OFFSET(5, rank, 16);
    OFFSET(5, proxy_op.pid, 24);
    OFFSET(5, proxy_op.channel, 28);
    OFFSET(5, proxy_op.peer, 32);
    OFFSET(5, proxy_op.steps, 36);
    OFFSET(5, proxy_op.chunk_bytes, 40);
    OFFSET(5, proxy_op.is_send, 44);
    OFFSET(5, proxy_step.step, 24);
    OFFSET(5, coll.seq, 24);
    OFFSET(5, coll.func, 32);
    OFFSET(5, coll.count, 56);
    OFFSET(5, coll.root, 64);
    OFFSET(5, coll.datatype, 72);
    OFFSET(5, coll.algorithm, 88);
    OFFSET(5, coll.protocol, 96);
    OFFSET(5, p2p.func, 24);
    OFFSET(5, p2p.datatype, 40);
    OFFSET(5, p2p.count, 48);
    OFFSET(5, p2p.peer, 56);
    OFFSET(5, coll.channels, 80);
    OFFSET(5, p2p.channels, 60);
    OFFSET(5, kernel_channel.channel, 24);
    OFFSET(5, kernel_channel.timer, 32);
    OFFSET(5, coll.plan, 104);
    OFFSET(5, p2p.plan, 64);
    OFFSET(5, coll_api.func, 24);
    OFFSET(5, coll_api.count, 32);
    OFFSET(5, coll_api.datatype, 40);
    OFFSET(5, coll_api.root, 48);
    OFFSET(5, coll_api.stream, 56);
    OFFSET(5, coll_api.graph_captured, 64);
    OFFSET(5, p2p_api.stream, 48);
    OFFSET(5, p2p_api.graph_captured, 56);
    OFFSET(5, group_api.depth, 28);
    OFFSET(5, kernel_launch.stream, 24);
}

static void test_v6(void **state)
{
    (void)state;
    OFFSET(6, type, 0);
    OFFSET(6, parent, 8);
    OFFSET(6, rank, 16);
    OFFSET(6, proxy_op.pid, 24);
    OFFSET(6, proxy_op.channel, 28);
    OFFSET(6, proxy_op.peer, 32);
    OFFSET(6, proxy_op.steps, 36);
    OFFSET(6, proxy_op.chunk_bytes, 40);
    OFFSET(6, proxy_op.is_send, 44);
    OFFSET(6, proxy_step.step, 24);
    OFFSET(6, coll.seq, 24);
    OFFSET(6, coll.func, 32);
    OFFSET(6, coll.count, 56);
    OFFSET(6, coll.root, 64);
    OFFSET(6, coll.datatype, 72);
    OFFSET(6, coll.algorithm, 88);
    OFFSET(6, coll.protocol, 96);
    OFFSET(6, p2p.func, 24);
    OFFSET(6, p2p.datatype, 40);
    OFFSET(6, p2p.count, 48);
    OFFSET(6, p2p.peer, 56);
    OFFSET(6, coll.channels, 80);
    OFFSET(6, p2p.channels, 60);
    OFFSET(6, kernel_channel.channel, 24);
    OFFSET(6, kernel_channel.timer, 32);
    OFFSET(6, ce_coll.seq, 24);
    OFFSET(6, ce_coll.func, 32);
    OFFSET(6, ce_coll.count, 56);
    OFFSET(6, ce_coll.root, 64);
    OFFSET(6, ce_coll.datatype, 72);
    OFFSET(6, ce_coll.stream, 104);
    OFFSET(6, ce_batch.total_bytes, 32);
    SIZE(6, 112);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v1), cmocka_unit_test(test_v2), cmocka_unit_test(test_v3),
        cmocka_unit_test(test_v4), cmocka_unit_test(test_v5), cmocka_unit_test(test_v6),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
