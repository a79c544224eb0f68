/* The sweep over GPU activities, against values worked out by hand and against counting every
 * nanosecond. */
#include "unit.h"

#include <string.h>

#include "analysis/gpu.h"
#include "core/comm_kernel.h"
#include "core/ops.h"

#define US INT64_C(1000)

/* Two steps of 100 us, and on the device:
 *   compute  [10, 40) [38, 50)            [85, 120)           [150, 160)
 *   comm              [45, 70)                      [125, 145)
 *   copy     [5, 12)
 * launched at 2, 20, 30, 80, 100, 30, 60 us; the rank waits for others in [55, 60) and [125, 140),
 * and is in a call of MPI in [65, 90). */
static const struct pw_gpu_activity played[] = {
    {5 * US, 12 * US, 2 * US, PW_GPU_COPY, 0},
    {10 * US, 40 * US, 3 * US, PW_GPU_COMPUTE, 0},
    {38 * US, 50 * US, 20 * US, PW_GPU_COMPUTE, 0},
    {45 * US, 70 * US, 30 * US, PW_GPU_COMM, 0},
    {55 * US, 60 * US, -1, PW_GPU_WAIT, 0},
    {65 * US, 90 * US, -1, PW_GPU_CALL, 0},
    {85 * US, 120 * US, 80 * US, PW_GPU_COMPUTE, 0},
    {125 * US, 145 * US, 100 * US, PW_GPU_COMM, 0},
    {125 * US, 140 * US, -1, PW_GPU_WAIT, 0},
    {150 * US, 160 * US, 60 * US, PW_GPU_COMPUTE, 0},
};
enum { PLAYED = sizeof(played) / sizeof(played[0]) };

static void play(struct pw_gputime *g, struct pw_gpu_window windows[2])
{
    windows[0] = (struct pw_gpu_window){.start = 0, .end = 100 * US};
    windows[1] = (struct pw_gpu_window){.start = 100 * US, .end = 200 * US};
    pw_gputime_begin(g, windows, 2);
    for (int i = 0; i < PLAYED; i++)
        pw_gputime_add(g, &played[i]);
    pw_gputime_end(g);
}

static void test_gpu_time_worked_by_hand(void **state)
{
    (void)state;
    struct pw_gputime g;
    struct pw_gpu_window w[2];
    play(&g, w);
    assert_int_equal(w[0].busy_ns, (65 + 15) * US);
    assert_int_equal(w[0].compute_ns, (40 + 15) * US);
    assert_int_equal(w[0].comm_ns, 25 * US);
    assert_int_equal(w[0].comm_exposed_ns, 20 * US);
    assert_int_equal(w[0].copy_ns, 7 * US);
    assert_int_equal(w[0].idle_host_ns, 20 * US); /* launched at 2, dry since 0; 80, since 70 */
    assert_int_equal(w[0].idle_gap_ns, 0);
    assert_int_equal(w[0].idle_other_ns, 0);
    assert_int_equal(w[0].wait_exposed_ns, 5 * US);
    assert_int_equal(w[0].call_ns, 45 * US);
    assert_int_equal(w[0].call_exposed_ns, 35 * US);
    assert_int_equal(w[0].covered_ns, 90 * US);
    assert_int_equal(w[1].busy_ns, 50 * US);
    assert_int_equal(w[1].compute_ns, 30 * US);
    assert_int_equal(w[1].comm_exposed_ns, 20 * US);
    assert_int_equal(w[1].idle_host_ns, 0);
    assert_int_equal(w[1].idle_gap_ns, 10 * US);
    assert_int_equal(w[1].idle_other_ns, 40 * US); /* after the last */
    assert_int_equal(w[1].wait_exposed_ns, 15 * US);
    assert_int_equal(g.all.start, 5 * US);
    assert_int_equal(g.all.end, 160 * US);
    assert_int_equal(g.all.busy_ns, 130 * US);
    assert_int_equal(g.all.idle_host_ns, 15 * US);
    assert_int_equal(g.all.idle_gap_ns, 10 * US);
    assert_int_equal(g.all.idle_other_ns, 0);
    assert_int_equal(g.late, 0);
}

/* The first activity's gap: the host is late when it was launched after the window began. */
static void test_first_and_long_gaps(void **state)
{
    (void)state;
    struct pw_gputime g;
    struct pw_gpu_window w = {.start = 100, .end = 200000};
    const struct pw_gpu_activity v[] = {
        {1000, 2000, 900, PW_GPU_COMPUTE, 0},
        {2000 + PW_GPU_GAP_NS, 40000, 1999, PW_GPU_COMPUTE, 0}, /* not short, launched in time */
        {40010, 40020, -1, PW_GPU_COMPUTE, 0},                  /* unknown when */
        {50000, 60000, 40020, PW_GPU_COMPUTE, 0},               /* launched just when it ran dry */
    };
    pw_gputime_begin(&g, &w, 1);
    struct pw_gpu_news news = pw_gputime_add(&g, &v[0]);
    assert_int_equal(news.idle, PW_GPU_IDLE_HOST);
    assert_int_equal(news.gap_start, 100);
    assert_int_equal(news.gap_end, 1000);
    assert_int_equal(news.fresh_ns, 1000);
    assert_int_equal(pw_gputime_add(&g, &v[1]).idle, PW_GPU_IDLE_OTHER);
    assert_int_equal(pw_gputime_add(&g, &v[2]).idle, PW_GPU_IDLE_OTHER);
    assert_int_equal(pw_gputime_add(&g, &v[3]).idle, PW_GPU_IDLE_GAP);
    pw_gputime_end(&g);
    assert_int_equal(w.idle_host_ns, 900);
    assert_int_equal(w.idle_gap_ns, 50000 - 40020);
    assert_int_equal(g.all.idle_host_ns, 0); /* nothing is known of the time before it */
    assert_int_equal(w.busy_ns + w.idle_host_ns + w.idle_gap_ns + w.idle_other_ns, 200000 - 100);
}

static void test_disorder_is_counted(void **state)
{
    (void)state;
    struct pw_gputime g;
    const struct pw_gpu_activity v[] = {{1000, 2000, -1, PW_GPU_COMPUTE, 0},
                                        {500, 1500, -1, PW_GPU_COMPUTE, 0},
                                        {1800, 2500, -1, PW_GPU_COMPUTE, 0}};
    pw_gputime_begin(&g, NULL, 0);
    for (int i = 0; i < 3; i++)
        pw_gputime_add(&g, &v[i]);
    pw_gputime_end(&g);
    assert_int_equal(g.late, 1);
    assert_int_equal(g.all.compute_ns, 1500);
}

enum { LENGTH = 400, MANY = 60 };

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int64_t count(uint8_t marks[LENGTH], int64_t from, int64_t to, int some, int without)
{
    int64_t n = 0;
    for (int64_t t = from; t < to; t++)
        n += (marks[t] & some) && !(marks[t] & without);
    return n;
}

/* Against a mark for every ns and kind, with windows that have space between them. */
static void test_gpu_time_equals_a_count_of_every_ns(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int run = 0; run < 300; run++) {
        struct pw_gputime g;
        uint8_t marks[LENGTH] = {0};
        struct pw_gpu_window w[3] = {
            {.start = 20, .end = 90}, {.start = 90, .end = 91}, {.start = 150, .end = 380}};
        int64_t at = 0;
        pw_gputime_begin(&g, w, 3);
        for (int i = 0; i < MANY && at < 300; i++) {
            at += (int64_t)(next(&seed) % 9);
            struct pw_gpu_activity a = {at, at + (int64_t)(next(&seed) % 20), at - 1,
                                        (enum pw_gpu_kind)(next(&seed) % PW_GPU_KINDS), 0};
            pw_gputime_add(&g, &a);
            for (int64_t t = a.start; t < a.end; t++)
                marks[t] |= (uint8_t)(1 << a.kind);
        }
        pw_gputime_end(&g);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(w[i].busy_ns, count(marks, w[i].start, w[i].end, 7, 0));
            assert_int_equal(w[i].compute_ns, count(marks, w[i].start, w[i].end, 1, 0));
            assert_int_equal(w[i].comm_ns, count(marks, w[i].start, w[i].end, 2, 0));
            assert_int_equal(w[i].comm_exposed_ns, count(marks, w[i].start, w[i].end, 2, 1));
            assert_int_equal(w[i].copy_ns, count(marks, w[i].start, w[i].end, 4, 0));
            assert_int_equal(w[i].wait_exposed_ns, count(marks, w[i].start, w[i].end, 8, 1));
            assert_int_equal(w[i].call_exposed_ns, count(marks, w[i].start, w[i].end, 18, 1));
            assert_int_equal(w[i].covered_ns, count(marks, w[i].start, w[i].end, 19, 0));
            assert_true(w[i].idle_other_ns >= 0);
        }
        assert_int_equal(g.all.busy_ns, count(marks, 0, LENGTH, 7, 0));
        assert_int_equal(g.late, 0);
    }
}

/* Names as profilers write them, of public traces and sources. */
static const struct {
    const char *name;
    enum pw_comm_library library;
    enum pw_op op;
} theirs[] = {
    {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgs)", PW_COMM_NCCL, PW_OP_None},
    {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", PW_COMM_NCCL, PW_OP_None},
    {"mscclKernel_Sum_half_LL_false(ncclDevComm*, mscclAlgo*)", PW_COMM_NCCL, PW_OP_None},
    {"_Z29ncclDevKernel_AllGather_RING24ncclDevKernelArgsStorageILm4096EE", PW_COMM_NCCL,
     PW_OP_None},
    {"_ZL27mscclKernel_Sum_float_LL_falseP11ncclDevComm", PW_COMM_NCCL, PW_OP_None},
    {"void ncclSymkDevKernel_AllReduce<float>(ncclSymkDevWorkArgs)", PW_COMM_NCCL, PW_OP_None},
    {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", PW_COMM_NCCL, PW_OP_None},
    {"void rcclGenericKernel<1, false>(ncclDevComm*)", PW_COMM_NCCL, PW_OP_None},
    {"hcom_allReduce", PW_COMM_HCCL, PW_OP_None},
    {"oneccl_reduce_base<float, 2, 16, 1, 1, 2>", PW_COMM_ONECCL, PW_OP_None},
    {"oneccl_allreduce_pcie", PW_COMM_ONECCL, PW_OP_None},
    {"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*, int*)", PW_COMM_DEVICE,
     PW_OP_Alltoallv},
    {"void deep_ep::internode_ll::combine<(bool)0, (int)6144>(void *, void *)", PW_COMM_DEVICE,
     PW_OP_Alltoallv},
    {"void primus_turbo::deep_ep::intranode::cached_notify_combine<8>(void**, int*)",
     PW_COMM_DEVICE, PW_OP_Barrier},
    {"void deep_ep::intranode::notify_dispatch<8>(int const*, int*)", PW_COMM_DEVICE,
     PW_OP_Barrier},
    {"_ZN7deep_ep9internode8dispatchILb0ELi8ELb0ELi8EEEvP4int4Pf", PW_COMM_DEVICE, PW_OP_Alltoallv},
    {"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*)",
     PW_COMM_DEVICE, PW_OP_Alltoallv},
    {"void dpsk::ep::internode::cached_notify<false>(int, int)", PW_COMM_DEVICE, PW_OP_Barrier},
    {"void dpsk::ep::internode::notify_dispatch<false, 8>(int const*)", PW_COMM_DEVICE,
     PW_OP_Barrier},
    {"void deep_ep::elastic::hybrid_dispatch_impl<8>(int*)", PW_COMM_DEVICE, PW_OP_Alltoallv},
    {"void deep_ep::elastic::pp_send_impl<8>(int*)", PW_COMM_DEVICE, PW_OP_Send},
    {"Allreduce_small_kernel<sycl::half, 16>", PW_COMM_ONECCL, PW_OP_Allreduce},
    {"ReduceScatterMediumKernel_LocalSync<float>", PW_COMM_ONECCL, PW_OP_Reduce_scatter_block},
    {"AllgathervMediumKernel_GlobalSync<float>", PW_COMM_ONECCL, PW_OP_Allgather},
    {"allreduce_large_read_write_ipc<float, 2, 2>(void const*, void*, unsigned long, "
     "ccl::v1::datatype, ccl::v1::reduction, ccl_comm*, ccl_stream*, bool)::"
     "{lambda(sycl::_V1::handler&)#1}::operator()(sycl::_V1::handler&) const",
     PW_COMM_ONECCL, PW_OP_Allreduce},
    {"invoke_barrier(std::shared_ptr<ccl_comm>, sycl::_V1::queue, bool)::{lambda()#2}",
     PW_COMM_ONECCL, PW_OP_Barrier},
    {"Kernel_local_sum_and_distribute_to_remote_ranks<float, 1>", PW_COMM_ONECCL, PW_OP_Allreduce},
    {"void mori::collective::AllGatherRingKernel<float>(float*)", PW_COMM_DEVICE, PW_OP_Allgather},
    {"mori_shmem_barrier_all_block", PW_COMM_DEVICE, PW_OP_Barrier},
    {"c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)",
     PW_COMM_DEVICE, PW_OP_Barrier},
    {"_ZN4c10d16symmetric_memoryL17put_signal_kernelEPPjiiiim", PW_COMM_DEVICE, PW_OP_Send},
    {"c10d::nvshmem_extension::allToAllV_2d(void*, void*, long*)", PW_COMM_DEVICE, PW_OP_Alltoallv},
    {"void c10d::nccl_extension::reduce_scatter_offset_kernel<float, true>(ncclWindow_vidmem*)",
     PW_COMM_DEVICE, PW_OP_Reduce_scatter_block},
    {"void fbgemm_gpu::two_shot_all_reduce<8, true>(int, int)", PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void flashinfer::trtllm_allreduce::lamport_style_one_shot_all_reduce_norm_kernel<half>(P)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void flashinfer::mixed_comm::fused_reducescatter_allreduce_kernel<half>(P)", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"void flashinfer::comm::pcie_ipc::ipc_rsag_push_param_kernel<half>(P)", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"void aiter::rs_gfx1250_split_lastdim<half>(P)", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block},
    {"void aiter::qknorm_allreduce_fusion_kernel_2stage<half>(P)", PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void sglang::allreduce_1shotLL_1node<half>(mscclpp::MemoryChannelDeviceHandle*)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int)", PW_COMM_DEVICE,
     PW_OP_Reduce_scatter_block},
    {"void userbuffers_fp16_sum_inplace_gpu_mc<4>(int, int)", PW_COMM_DEVICE, PW_OP_Allreduce},
    {"kuserbuffers_pushrecv(int, int, int)", PW_COMM_DEVICE, PW_OP_Recv},
    {"EpDispatchIntraNodeKernel_bf16", PW_COMM_DEVICE, PW_OP_Alltoallv},
    {"void mori::moe::EpCombineIntraNodeKernel<__hip_bfloat16>(mori::moe::Args)", PW_COMM_DEVICE,
     PW_OP_Alltoallv},
    {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>"
     "(c10::BFloat16*, unsigned long)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, (int)16>(T*)", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"_ZN12_GLOBAL__N_126multimem_all_reduce_kernelIN3c108BFloat16ELi16EEEvPT_m", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, "
     "2>(T**)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"void sglang::cross_device_reduce_1stage<__half, 8>(sglang::RankData*)", PW_COMM_DEVICE,
     PW_OP_Allreduce},
    {"_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE", PW_COMM_DEVICE,
     PW_OP_Reduce_scatter_block},
    {"void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half>, __half>(A*)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
     "(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8>(P)",
     PW_COMM_DEVICE, PW_OP_Allreduce},
    {"void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)", PW_COMM_DEVICE,
     PW_OP_Barrier},
    {"_Z36barrier_on_stream_kernel_threadgroupIL13threadgroup_t1EEvii", PW_COMM_DEVICE,
     PW_OP_Barrier},
    {"nvshmemi_proxy_rma_entrypoint_blocking(rma_entry)", PW_COMM_DEVICE, PW_OP_Sendrecv},
};
static const char *const others[] = {
    "ncclGetVersion",
    "void gemmKernel<float>(float*)",
    "void reduce<ncclDevKernelArgs>(ncclDevKernelArgs)",
    "_Z6reduceP11ncclKernels",
    "void sumKernel(ncclDevComm*)",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)", /* counts tokens */
    "void flash::combine<float>(deep_ep::Params)",
    "void dispatch<vllm::RankData>(vllm::RankSignals)",
    "void cutlass::Kernel<flux_x>(flux_x::Params)", /* multiplies matrices, too */
    "_ZN7deep_gemm8dispatchEv",
    "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*)",
    "void dpsk::mlp::combine<float>(float*)",
    "void ep::combine<float>(dpsk::ep::Params)",
    "void at::native::aminmax_allreduce_kernel<float>(float*)",
    "barrier_kernel(int*)", /* of whatever program */
    "allreduce_large_impl<float>(float*)",
    "Kernel_compute<float>(float*)",
    "sycl_check_nan(ccl_comm*)",
    "void mori::moe::ConvertDispatchOutputKernel<float>(float*)",
    "_ZN999999999999999999999dispatch",
    "_Z",
    "",
};

static void test_kernels_of_collectives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        const struct pw_comm_kernel *row =
            pw_comm_kernel_find(theirs[i].name, strlen(theirs[i].name));
        assert_non_null(row);
        assert_int_equal(row->library, theirs[i].library);
        assert_int_equal(row->op, theirs[i].op);
        assert_int_equal(pw_is_nccl_kernel(theirs[i].name), row->library == PW_COMM_NCCL);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(pw_is_comm_kernel(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_time_worked_by_hand),
        cmocka_unit_test(test_first_and_long_gaps),
        cmocka_unit_test(test_disorder_is_counted),
        cmocka_unit_test(test_gpu_time_equals_a_count_of_every_ns),
        cmocka_unit_test(test_kernels_of_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
