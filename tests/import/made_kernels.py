"""Traces whose communication has the names of some library: how long it takes, how many operations there
are, and what can be said of waits. The names are of the libraries' sources and of public traces; beside
them are kernels that only sound alike, and compute."""
import os
import random

import h5py
import made_traces as traces

# Without a communicator: which ranks they are of is not told.
DEVICE = (
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, int const*)",
    "void deep_ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*, bool const*)",
    "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, int*)",
    "void deep_ep::intranode::notify_dispatch<8>(int const*, int*, int const*)",
    "void deep_ep::elastic::hybrid_combine_impl<8>(void*)",
    "void dpsk::ep::internode::dispatch<false, 8, false, 8>(int4*, float*, long*, float*)",
    "void dpsk::ep::internode::cached_notify<false>(int, int, int, int, int*)",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
    "void (anonymous namespace)::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
    "c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)",
    "c10d::nvshmem_extension::allToAllV(void*, void*, long*, unsigned long, int)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
    "void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*, sglang::RankSignals)",
    "void sglang::allreduce_1shotLL_1node<__half>(mscclpp::MemoryChannelDeviceHandle*, __half*)",
    "void aiter::cross_device_reduce_2stage_write_mode<__hip_bfloat16, 8>(aiter::RankData*)",
    "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(aiter::RankData*)",
    "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>, __half>(__half*)",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(Params)",
    "void flashinfer::mixed_comm::allreduce_kernel<__nv_bfloat16>(Params)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, false>(AllReduceParams)",
    "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<4>(Params)",
    "void mscclpp::collective::allreduceNvlsPacket<__half>(__half*)",
    "void mscclpp::executionKernel<int, mscclpp::LL16Packet>(int, int*)",
    "EpDispatchInterNodeV1Kernel_bf16", "void mori::moe::EpCombineIntraNodeKernel<float>(Args<float>)",
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int, int)", "kuserbuffers_pushrecv(int, int)",
    "void fbgemm_gpu::two_shot_all_reduce<8, true>(int, int)",
    "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)",
    "nvshmemi_proxy_rma_entrypoint_blocking(rma_entry)")
COMPUTING = (
    "gemm_kernel", "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm>(Params)",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
    "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, float>>(float*)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)",
    "void flash::combine<float>(deep_ep::Params)", "reduce_scatter_tensor_coalesced_triton",
    "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>>(long*)",
    "void at::native::aminmax_allreduce_kernel<float>(float*)", "triton_poi_fused_all_reduce_wait",
    "void groupnorm_kernel_dispatch_up<__hip_bfloat16, 1024u>(unsigned int)", "executionKernel(int)",
    "void dispatch<vllm::RankData>(vllm::RankSignals)", "broadcast_in_dim_kernel", "_combined_routing_memset")
# With a communicator, by the group of the operation around them.
GROUPED = (
    ("nccl", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("nccl", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
    ("nccl", "void ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32(ncclSymkDevWorkArgs4K)"),
    ("nccl", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"),
    ("nccl", "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)"),
    ("oneccl", "oneccl_reduce_base<float, 2, 16, 1, 1, 2>"),
    ("oneccl", "Allreduce_small_kernel<sycl::half, 16>"),
    ("oneccl", "allreduce_large_read_write_ipc<float, 2, 2>(void const*, void*, unsigned long, ccl_comm*)::"
               "{lambda(sycl::_V1::handler&)#1}::operator()(sycl::_V1::handler&) const"))


class Kernels:
    def __init__(self, seed, directory):
        self.random = random.Random(f"kernel {seed}")
        self.directory = os.path.join(directory, "in")
        self.world = self.random.randint(2, 4)
        self.steps = self.random.randint(8, 16)
        self.grouped = self.random.random() < 0.4
        self.library, self.all_reduce = self.random.choice(GROUPED)
        self.late = self.random.randrange(self.world) if self.grouped else None
        self.communication = [self.all_reduce] if self.grouped else self.random.sample(
            DEVICE, self.random.randint(1, 4))
        self.computing = self.random.sample(COMPUTING, self.random.randint(1, 4))
        self.lengths = {name: self.random.randrange(100, 1200) for name in self.computing}
        room = 6000 // len(self.communication)
        self.lengths.update({name: self.random.randrange(room // 2, room) for name in self.communication})

    def launch(self, at, number):
        if self.library != "oneccl" or not self.grouped:
            return traces.launch(at, number)
        return traces.event("urEnqueueKernelLaunch", "xpu_runtime", at, 5, correlation=number)

    def rank(self, rank):
        """Kernels one after the other, computing first; all-reduces end at 9 ms on all ranks."""
        out, number = [], 0
        for i in range(self.steps):
            base = traces.STEP_US * i
            out.append(traces.step(i))
            at = base + 200 + 2500 * (rank == self.late)
            for name in self.computing:
                number += 1
                out += [self.launch(base + 20 + 10 * len(out) % 100, number),
                        traces.kernel(name, at, self.lengths[name], number)]
                at += self.lengths[name]
            for name in self.communication:
                number += 1
                end = base + 9000 if self.grouped else at + self.lengths[name]
                more = traces.group(self.world) if self.grouped else {}
                if self.library == "oneccl" and self.grouped:  # oneCCL's kernels do not tell the group
                    out.append(traces.event("record_param_comms", "cpu_op", base + 20, 150, **more))
                    out.append(self.launch(base + 150, number))
                    more = {}
                else:
                    out.append(self.launch(base + 150, number))
                out.append(traces.kernel(name, at, end - at, number, 7 if not self.grouped else 20, **more))
                at = end
        self.random.shuffle(out)
        return out

    def files(self):
        self.sums = {}
        out = []
        for rank in range(self.world):
            events = self.rank(rank)
            kernels = [one for one in events if one["cat"] == "kernel"]
            self.sums[rank] = [1000 * sum(one["dur"] for one in kernels if one["name"] in names)
                               for names in (self.communication, self.computing)]
            out.append(traces.write(os.path.join(self.directory, f"rank-{rank}.json"), events))
        return out

    def check(self, result):
        if result.status:
            return "refused"
        with h5py.File(os.path.join(result.directory, "cluster.h5")) as cluster:
            found = {int(row["rank"]): [int(row["comm_ns"]), int(row["compute_ns"])]
                     for row in cluster["gpu_ranks"]}
        if found != self.sums:
            return f"communication and computing {self.sums}, not {found} ns"
        count = self.world * self.steps * len(self.communication)
        if self.grouped:
            library = "NCCL operations" if self.library == "nccl" else "operations of oneCCL"
            sentence = f"Rank {self.late} held back {self.steps} of {self.steps} steps by 2.5 ms each"
        else:
            library = "operations of kernels of communication"
            sentence = ("Cannot tell whether a rank held the job back: of "
                        f"{count} kernels of communication is not known which ranks they are of")
        if f" {count} of them {library}" not in result.said:
            return f"{count} {library}"
        return None if result.headline.startswith(sentence) else f"expected: {sentence}"


def make(seed, directory):
    kernels = Kernels(seed, directory)
    return kernels.files(), [], kernels.check
