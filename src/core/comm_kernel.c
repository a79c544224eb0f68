/* The table of kernels of communication, and the parsing of kernels' names; see comm_kernel.h. */
#include "core/comm_kernel.h"

#include <ctype.h>
#include <string.h>

#include "core/ops.h"

/* Names of public sources and traces. Kernels that only count or sort for an exchange
 * (get_dispatch_layout), and those that also multiply matrices (flux, all_gather_matmul), compute.
 */
static const struct pw_comm_kernel table[] = {
    {"", "nccl", "Kernel", PW_COMM_NCCL, PW_OP_None,
     "NCCL, RCCL: ncclDevKernel_, ncclSymkDevKernel_"},
    {"", "rccl", "Kernel", PW_COMM_NCCL, PW_OP_None, "RCCL: rcclGenericKernel"},
    {"", "msccl", "Kernel", PW_COMM_NCCL, PW_OP_None, "RCCL: mscclKernel_"},
    {"", "hcom_", "", PW_COMM_HCCL, PW_OP_None, "HCCL, as imports name its operations"},
    {"", "oneccl_", "", PW_COMM_ONECCL, PW_OP_None, "oneCCL: coll/algorithms"},
    /* oneCCL: coll/algorithms/.../sycl, classes that SYCL names kernels after */
    {"", "Allreduce", "ernel", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL: *_kernel, *Kernel_*"},
    {"", "Allgather", "ernel", PW_COMM_ONECCL, PW_OP_Allgather, "oneCCL"},
    {"", "ReduceScatter", "Kernel_", PW_COMM_ONECCL, PW_OP_Reduce_scatter_block, "oneCCL"},
    {"", "ReduceScatterLarge", "Kernel", PW_COMM_ONECCL, PW_OP_Reduce_scatter_block, "oneCCL"},
    {"", "Reduce_scatter_", "kernel", PW_COMM_ONECCL, PW_OP_Reduce_scatter_block, "oneCCL"},
    {"", "NoCopyKernel_", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    {"", "Kernel_all_sum", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    {"", "Kernel_gather_from_remote_", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    {"", "Kernel_load_input_to_temp_buffer", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    {"", "Kernel_local_sum_and_distribute_", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    {"", "Kernel_write_output", "", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL"},
    /* and functions, with all their parameters, whose lambdas are kernels */
    {"", "allreduce_", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Allreduce, "oneCCL: *_sycl_impl.hpp"},
    {"", "allgatherv_", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Allgather, "oneCCL"},
    {"", "reduce_scatter_", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Reduce_scatter_block, "oneCCL"},
    {"", "alltoall", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Alltoall, "oneCCL"},
    {"", "broadcast_", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Bcast, "oneCCL"},
    {"", "invoke_barrier", "(ccl_comm", PW_COMM_ONECCL, PW_OP_Barrier, "oneCCL"},
    /* DeepEP: csrc/kernels, include/deep_ep/impls; dpsk::ep in DeepSeek's own traces */
    {"deep_ep", "dispatch", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "DeepEP"},
    {"deep_ep", "combine", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "DeepEP"},
    {"deep_ep", "hybrid_", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "DeepEP"},
    {"deep_ep", "notify_", "", PW_COMM_DEVICE, PW_OP_Barrier, "DeepEP"},
    {"deep_ep", "cached_notify", "", PW_COMM_DEVICE, PW_OP_Barrier, "DeepEP"},
    {"deep_ep", "barrier", "", PW_COMM_DEVICE, PW_OP_Barrier, "DeepEP"},
    {"deep_ep", "clean_low_latency_buffer", "", PW_COMM_DEVICE, PW_OP_Barrier, "DeepEP"},
    {"deep_ep", "engram_fetch", "", PW_COMM_DEVICE, PW_OP_Sendrecv, "DeepEP"},
    {"deep_ep", "pp_send_impl", "", PW_COMM_DEVICE, PW_OP_Send, "DeepEP"},
    {"deep_ep", "pp_recv_impl", "", PW_COMM_DEVICE, PW_OP_Recv, "DeepEP"},
    {"dpsk::ep", "dispatch", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "profile-data of DeepSeek"},
    {"dpsk::ep", "combine", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "profile-data of DeepSeek"},
    {"dpsk::ep", "notify_", "", PW_COMM_DEVICE, PW_OP_Barrier, "profile-data of DeepSeek"},
    {"dpsk::ep", "cached_notify", "", PW_COMM_DEVICE, PW_OP_Barrier, "profile-data of DeepSeek"},
    {"dpsk::ep", "barrier", "", PW_COMM_DEVICE, PW_OP_Barrier, "profile-data of DeepSeek"},
    /* MORI: include/mori/ops/dispatch_combine, collective, shmem */
    {"", "EpDispatch", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "MORI"},
    {"", "EpCombine", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "MORI"},
    {"", "OneShotAll2all", "Kernel", PW_COMM_DEVICE, PW_OP_Alltoall, "MORI"},
    {"", "OneShotAllGather", "Kernel", PW_COMM_DEVICE, PW_OP_Allgather, "MORI"},
    {"", "OneShotAllReduceKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "MORI"},
    {"", "OneShotBroadcastSdma", "", PW_COMM_DEVICE, PW_OP_Bcast, "MORI"},
    {"", "InterNodeRingAllGatherKernel", "", PW_COMM_DEVICE, PW_OP_Allgather, "MORI"},
    {"mori", "AllGather", "Kernel", PW_COMM_DEVICE, PW_OP_Allgather, "MORI"},
    {"mori", "*ReduceScatter", "Kernel", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block, "MORI"},
    {"mori", "*barrier", "kernel", PW_COMM_DEVICE, PW_OP_Barrier, "MORI"},
    {"", "mori_shmem_barrier_", "", PW_COMM_DEVICE, PW_OP_Barrier, "MORI"},
    /* torch/csrc/distributed/c10d/symm_mem: CUDASymmetricMemoryOps.cu, nvshmem_extension.cu,
     * nccl_extension.cu */
    {"", "multimem_all_reduce_kernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "PyTorch symm_mem"},
    {"", "multimem_one_shot_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "PyTorch symm_mem"},
    {"", "multimem_all_gather_kernel", "", PW_COMM_DEVICE, PW_OP_Allgather, "PyTorch symm_mem"},
    {"symmetric_memory", "*barrier_kernel", "", PW_COMM_DEVICE, PW_OP_Barrier, "PyTorch symm_mem"},
    {"symmetric_memory", "put_signal_kernel", "", PW_COMM_DEVICE, PW_OP_Send, "PyTorch symm_mem"},
    {"symmetric_memory", "wait_signal_kernel", "", PW_COMM_DEVICE, PW_OP_Recv, "PyTorch symm_mem"},
    {"nvshmem_extension", "allToAllV", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "PyTorch symm_mem"},
    {"nvshmem_extension", "exchangeSplitAndOffset", "", PW_COMM_DEVICE, PW_OP_Alltoall,
     "PyTorch symm_mem"},
    {"nvshmem_extension", "tile_reduce_kernel", "", PW_COMM_DEVICE, PW_OP_Reduce,
     "PyTorch symm_mem"},
    {"nccl_extension", "all_to_all_", "", PW_COMM_DEVICE, PW_OP_Alltoall, "PyTorch symm_mem"},
    {"nccl_extension", "reduce_scatter_", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block,
     "PyTorch symm_mem"},
    {"nccl_extension", "lsa_put_signal_kernel", "", PW_COMM_DEVICE, PW_OP_Send, "PyTorch symm_mem"},
    {"nccl_extension", "nccl_wait_for_signal_kernel", "", PW_COMM_DEVICE, PW_OP_Recv,
     "PyTorch symm_mem"},
    /* PyTorch symm_mem (..._kernel), FBGEMM: experimental/gen_ai/src/comm/car.cu, FlashInfer */
    {"", "one_shot_all_reduce", "", PW_COMM_DEVICE, PW_OP_Allreduce, "PyTorch symm_mem, FBGEMM"},
    {"", "two_shot_all_reduce", "", PW_COMM_DEVICE, PW_OP_Allreduce, "PyTorch symm_mem, FBGEMM"},
    {"", "one_shot_prenorm_all_reduce", "", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"", "lamport_style_one_shot_all_reduce", "", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"fbgemm_gpu", "reduce_scatter", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block, "FBGEMM"},
    /* custom_all_reduce.cuh of vLLM, SGLang and aiter; quick_all_reduce.cuh */
    {"", "cross_device_reduce_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "vLLM, SGLang, aiter"},
    {"", "reduce_scatter_cross_device_store", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block,
     "aiter"},
    {"aiter", "reduce_scatter_split_", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block, "aiter"},
    {"aiter", "allgather_", "", PW_COMM_DEVICE, PW_OP_Allgather, "aiter"},
    {"aiter", "allReduceQuant", "", PW_COMM_DEVICE, PW_OP_Allreduce, "aiter"},
    {"aiter", "qknorm_allreduce_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "aiter"},
    {"aiter", "allreduce_mhc_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "aiter"},
    {"aiter", "ar_", "gfx1250", PW_COMM_DEVICE, PW_OP_Allreduce, "aiter"},
    {"aiter", "ag_", "gfx1250", PW_COMM_DEVICE, PW_OP_Allgather, "aiter"},
    {"aiter", "rs_", "gfx1250", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block, "aiter"},
    {"", "allreduce_prototype_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "quickreduce"},
    {"", "allreduce_rmsnorm_prototype_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "quickreduce"},
    /* mscclpp_allreduce.cuh of SGLang */
    {"", "allreduce_1shotLL_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "SGLang with MSCCL++"},
    /* FlashInfer and TensorRT-LLM: communicationKernels/allReduceFusionKernels.cu */
    {"", "allreduce_fusion_kernel_", "", PW_COMM_DEVICE, PW_OP_Allreduce,
     "FlashInfer, TensorRT-LLM, aiter"},
    {"", "moereduce_allreduce_fusion_kernel_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"", "moefinalize_allreduce_fusion_kernel_", "", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"mixed_comm", "*allreduce", "kernel", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"mixed_comm", "allgather_kernel", "", PW_COMM_DEVICE, PW_OP_Allgather, "FlashInfer"},
    {"mixed_comm", "reducescatter_kernel", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block,
     "FlashInfer"},
    {"pcie_ipc", "*push", "kernel", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"pcie_ipc", "ipc_topo_rsag", "kernel", PW_COMM_DEVICE, PW_OP_Allreduce, "FlashInfer"},
    {"", "ulysses_a2a_kernel", "", PW_COMM_DEVICE, PW_OP_Alltoall, "FlashInfer"},
    {"", "helixAllToAllKernel", "", PW_COMM_DEVICE, PW_OP_Alltoall, "TensorRT-LLM"},
    {"", "oneShotAllReduceKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "TensorRT-LLM"},
    {"", "twoShotAllReduceKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "TensorRT-LLM"},
    {"", "oneshotAllreduceFusionKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "TensorRT-LLM MNNVL"},
    {"", "twoshotAllreduceKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "TensorRT-LLM MNNVL"},
    {"", "moeA2ADispatchKernel", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "TensorRT-LLM"},
    {"", "moeA2ACombineKernel", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "TensorRT-LLM"},
    {"", "moeAllToAllKernel", "", PW_COMM_DEVICE, PW_OP_Alltoallv, "TensorRT-LLM"},
    /* TransformerEngine: common/comm_gemm_overlap/userbuffers, of Megatron's tensor parallelism */
    {"", "userbuffers_fp16_sum_inplace_gpu_", "_rs", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block,
     "TransformerEngine"},
    {"", "userbuffers_fp16_sum_inplace_gpu_", "_ag", PW_COMM_DEVICE, PW_OP_Allgather,
     "TransformerEngine"},
    {"", "userbuffers_fp16_sum_inplace_gpu_", "", PW_COMM_DEVICE, PW_OP_Allreduce,
     "TransformerEngine"},
    {"", "kuserbuffers_pushsendrecv", "", PW_COMM_DEVICE, PW_OP_Sendrecv, "TransformerEngine"},
    {"", "kuserbuffers_p", "send", PW_COMM_DEVICE, PW_OP_Send, "TransformerEngine"},
    {"", "kuserbuffers_p", "recv", PW_COMM_DEVICE, PW_OP_Recv, "TransformerEngine"},
    /* NVSHMEM: nvshmemi_h_to_d_coll_defs.cuh, and what its proxy does for the host */
    {"", "barrier_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Barrier, "NVSHMEM"},
    {"", "barrier_all_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Barrier, "NVSHMEM"},
    {"", "sync_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Barrier, "NVSHMEM"},
    {"", "sync_all_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Barrier, "NVSHMEM"},
    {"", "alltoall_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Alltoall, "NVSHMEM"},
    {"", "broadcast_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Bcast, "NVSHMEM"},
    {"", "fcollect_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Allgather, "NVSHMEM"},
    {"", "rdxn_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "NVSHMEM"},
    {"", "reducescatter_on_stream_kernel", "", PW_COMM_DEVICE, PW_OP_Reduce_scatter_block,
     "NVSHMEM"},
    {"", "nvshmemi_", "", PW_COMM_DEVICE, PW_OP_Sendrecv, "NVSHMEM"},
    {"", "nvshmem_", "", PW_COMM_DEVICE, PW_OP_Sendrecv, "NVSHMEM"},
    /* mscclpp: src/execution_kernel.cu, apps/nccl */
    {"mscclpp", "executionKernel", "", PW_COMM_DEVICE, PW_OP_Allreduce, "MSCCL++"},
    {"mscclpp", "*llreduce", "", PW_COMM_DEVICE, PW_OP_Allreduce, "MSCCL++"},
    {"mscclpp", "*llgather", "", PW_COMM_DEVICE, PW_OP_Allgather, "MSCCL++"},
};

enum { ROWS = sizeof(table) / sizeof(table[0]), MOST_NAME = 256, MOST_PARTS = 16 };

/* A name in its parts: namespaces, then the kernel. */
struct parts {
    struct {
        const char *text;
        size_t length;
    } of[MOST_PARTS];
    size_t n;
};

static void add_part(struct parts *p, const char *text, size_t length)
{
    static const char anonymous[] = "_GLOBAL__N_1";
    if (!length || p->n == MOST_PARTS ||
        (length == sizeof(anonymous) - 1 && memcmp(text, anonymous, length) == 0))
        return;
    p->of[p->n].text = text;
    p->of[p->n++].length = length;
}

/* Reads "_ZN7deep_ep9internode8dispatchI..." and "_Z29ncclDevKernel_..." up to the arguments. */
static void read_mangled(const char *at, const char *end, struct parts *p)
{
    int is_nested = 0;
    at += 2;
    while (at < end && (*at == 'N' || *at == 'L' || *at == 'K')) {
        is_nested |= *at == 'N';
        at++;
    }
    while (at < end && isdigit((unsigned char)*at)) {
        size_t length = 0;
        for (; at < end && isdigit((unsigned char)*at) && length < MOST_NAME; at++)
            length = 10 * length + (size_t)(*at - '0');
        if (length > (size_t)(end - at))
            return;
        add_part(p, at, length);
        at += length;
        if (!is_nested)
            return;
        at += at < end && *at == 'L';
    }
}

static int skip(const char **at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0)
        return 0;
    *at += n;
    return 1;
}

/* Reads "void (anonymous namespace)::kernel<...>(...)" up to the arguments. */
static void read_plain(const char *at, const char *end, struct parts *p)
{
    skip(&at, end, "void ");
    for (;;) {
        if (skip(&at, end, "(anonymous namespace)::") || skip(&at, end, "<unnamed>::"))
            continue;
        const char *from = at;
        while (at < end && *at != ':' && *at != '<' && *at != '(')
            at++;
        add_part(p, from, (size_t)(at - from));
        if (!skip(&at, end, "::"))
            return;
    }
}

static int is_part(const struct parts *p, size_t i, const char *text, size_t length)
{
    return p->of[i].length == length && memcmp(p->of[i].text, text, length) == 0;
}

/* Whether the kernel is in the namespace, which may have two parts ("dpsk::ep"). */
static int has_space(const struct parts *p, const char *space)
{
    if (!*space)
        return 1;
    const char *colons = strstr(space, "::"), *second = colons ? colons + 2 : "";
    const size_t first = colons ? (size_t)(colons - space) : strlen(space);
    for (size_t i = 0; i + 1 < p->n; i++)
        if (is_part(p, i, space, first) &&
            (!*second || (i + 2 < p->n && is_part(p, i + 1, second, strlen(second)))))
            return 1;
    return 0;
}

static int has_name(const char *text, size_t length, const char *name)
{
    if (*name == '*')
        return memmem(text, length, name + 1, strlen(name + 1)) != NULL;
    return length >= strlen(name) && memcmp(text, name, strlen(name)) == 0;
}

/* Whether the kernel's own name has the part, or its parameters if the part begins with '('. */
static int has_part(const char *whole, size_t whole_length, const char *text, size_t length,
                    const char *part)
{
    if (*part == '(')
        return memmem(whole, whole_length, part + 1, strlen(part + 1)) != NULL;
    return memmem(text, length, part, strlen(part)) != NULL;
}

const struct pw_comm_kernel *pw_comm_kernel_find(const char *name, size_t length)
{
    struct parts p = {.n = 0};
    if (length > 2 && memcmp(name, "_Z", 2) == 0)
        read_mangled(name, name + length, &p);
    else
        read_plain(name, name + length, &p);
    if (!p.n)
        return NULL;
    const char *text = p.of[p.n - 1].text;
    const size_t n = p.of[p.n - 1].length;
    for (size_t i = 0; i < ROWS; i++)
        if ((table[i].name[0] == '*' ? p.n > 1 : table[i].name[0] == text[0]) && /* most end here */
            has_name(text, n, table[i].name) && has_space(&p, table[i].space) &&
            has_part(name, length, text, n, table[i].with))
            return &table[i];
    return NULL;
}

bool pw_is_comm_kernel(const char *name)
{
    return pw_comm_kernel_find(name, strlen(name)) != NULL;
}

bool pw_is_nccl_kernel(const char *name)
{
    const struct pw_comm_kernel *row = pw_comm_kernel_find(name, strlen(name));
    return row && row->library == PW_COMM_NCCL;
}
