/* What options of the merge say of the model and of GPUs. */
#ifndef PW_AGGREGATE_FINDINGS_FLOPSGIVEN_H
#define PW_AGGREGATE_FINDINGS_FLOPSGIVEN_H

/* 0: they do not. */
struct pw_flops_given {
    double peak;     /* FLOP/s of a GPU, or of a rank without one */
    double per_step; /* FLOPs that the model needs on each rank in a step */
    char type[8];    /* of the FLOPs, "bf16" */
};

#endif
