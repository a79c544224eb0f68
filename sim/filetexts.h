/* The texts of a synthetic rank file, in the order of its /strings. Their row numbers are TEXT_*,
 * used only by the files that make rows (workranges.c, gpuwork.c, samples.c, runwrite.c);
 * pw_sim_text() of workranges.h returns the texts. New texts come last, so that the files of a seed
 * keep their numbers. */
#ifndef PW_SIM_FILETEXTS_H
#define PW_SIM_FILETEXTS_H

/* T(identifier, text). */
#define PW_SIM_TEXTS(T)                                                                   \
    T(NOTHING, "")                                                                        \
    T(DATA, "data")                                                                       \
    T(FORWARD, "forward")                                                                 \
    T(BACKWARD, "backward")                                                               \
    T(ALLREDUCE, "allreduce")                                                             \
    T(OPTIMIZER, "optimizer")                                                             \
    T(ATTENTION, "attention")                                                             \
    T(CONV, "conv2d")                                                                     \
    T(LINEAR, "linear")                                                                   \
    T(NORM, "layer_norm")                                                                 \
    T(RELU, "relu")                                                                       \
    T(ATTENTION_B, "attention_backward")                                                  \
    T(CONV_B, "conv2d_backward")                                                          \
    T(LINEAR_B, "linear_backward")                                                        \
    T(NORM_B, "layer_norm_backward")                                                      \
    T(RELU_B, "relu_backward")                                                            \
    T(DECODE, "decode")                                                                   \
    T(ADAM, "adam")                                                                       \
    T(GEMM, "gemm")                                                                       \
    T(BLOCK, "block")                                                                     \
    T(FRAME, "run (model.py:42)")                                                         \
    T(T_MATRIX, "matrix")                                                                 \
    T(T_POINT, "pointwise")                                                               \
    T(T_INPUT, "input")                                                                   \
    T(T_KERNEL, "kernel")                                                                 \
    T(SHAPE_0, "[32, 64, 56, 56]")                                                        \
    T(SHAPE_1, "[32, 128, 28, 28]")                                                       \
    T(SHAPE_2, "[32, 1024]")                                                              \
    /* The data pipeline: its key and value in the metadata, then its queues in order. */ \
    T(PIPELINE, "pipeline")                                                               \
    T(PIPELINE_OPERATORS, "read files [raw] map decode [ready] transfer [device]")        \
    T(RAW, "raw")                                                                         \
    T(READY, "ready")                                                                     \
    T(DEVICE, "device")                                                                   \
    T(K_GEMM, "gemm_f16_128x64_kernel")                                                   \
    T(K_ATTENTION, "flash_attention_kernel")                                              \
    T(K_NORM, "layer_norm_kernel")                                                        \
    T(K_POINT, "vectorized_elementwise_kernel")                                           \
    T(K_ADAM, "multi_tensor_adam_kernel")                                                 \
    T(K_NCCL, "ncclDevKernel_AllReduce_Sum_f16_RING_LL")                                  \
    T(ALLREDUCE_OP, "nccl:all_reduce")                                                    \
    T(COPY_OP, "to_device")                                                               \
    T(F16, "float16")                                                                     \
    T(RING, "RING")                                                                       \
    T(LL, "LL")                                                                           \
    T(PIPELINE_CPUS, "pipeline_cpus")                                                     \
    T(CPUS_OF_OPERATORS, "0.25 1.5 0.125")

#define PW_SIM_TEXT_ID(id, text) TEXT_##id,
enum { PW_SIM_TEXTS(PW_SIM_TEXT_ID) TEXT_COUNT };
#undef PW_SIM_TEXT_ID

#endif
