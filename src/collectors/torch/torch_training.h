/* What a PyTorch training is doing that marks nothing itself: its steps and phases, from what its
 * parts report. Used by torch_hooks.c, whose functions PyTorch calls. In-app, see probe.h.
 *
 * A step begins with the first wait for data, or forward, after the step before, and ends with an
 * optimizer's step. Of several optimizers it is the last one's: known when all of them have made a
 * step, or learned when the next batch is waited for, or when the first of them comes round again.
 * Knows nothing of Python: modules, optimizers and what calls these are addresses. */
#ifndef PW_COLLECTORS_TORCH_TRAINING_H
#define PW_COLLECTORS_TORCH_TRAINING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What a training needs of its surroundings. */
struct pw_training_calls {
    void (*step)(int64_t number); /* as in profwrap.h */
    void (*phase)(int phase);
    /* Whether the outermost module that is called next is to be reported. */
    void (*report_forward)(bool is_on);
    /* Whether this process only loads data for another one. */
    bool (*is_worker)(void);
    /* Whether the last root (pw_training.root) exists, and is in training mode. */
    bool (*root_is_evaluated)(void);
    void (*root_changed)(const void *module);
    /* An optimizer that was not known; pw_training_forget() is to follow when it is freed. */
    void (*found_optimizer)(const void *optimizer);
    /* Keeps how often parameters were changed until now; and whether they were since. */
    void (*keep_state)(void);
    bool (*has_changed)(void);
};

/* What the program has marked itself: that is then no longer done for it. */
struct pw_training_marked {
    bool steps, phases;
};

enum pw_training_wait { PW_WAIT_ELSEWHERE, PW_WAIT_OTHER, PW_WAIT_TRAINING };

/* Optimizers, of which some programs have one for each parameter. More than these are not known. */
enum { PW_TRAINING_OPTIMIZERS = 1 << 12, PW_TRAINING_DEPTH = 32, PW_TRAINING_SOURCES = 64 };

struct pw_training {
    struct pw_training_calls calls;
    const struct pw_training_marked *marked;
    int64_t number;  /* of the step that is open, or else of the next */
    bool needs_mode; /* false once a model was trained in eval() mode: a forward with gradients is
                        a training's */
    bool is_open;
    bool has_waited; /* for data in this step */
    bool has_backward;
    bool sees_steps;  /* optimizers report when they make a step: parameters need not be read */
    bool is_reported; /* the next forward is */
    bool is_guess;    /* this step was begun by a wait for data that evaluations use, too */
    bool is_mixed;    /* no single optimizer ends the steps */
    bool evaluated;   /* a forward with gradients in eval() mode came last */
    bool has_thread, has_root;
    enum pw_training_wait waits; /* what the wait that is open is */
    int phase;
    int backwards;    /* that are open: they nest with activation checkpointing */
    pthread_t thread; /* the training's */
    const void *root; /* the module whose forward came last; NULL when it was freed */

    /* Loaders, by numbers; 0: none, or not known. */
    uint64_t source;                              /* that was waited for last */
    uint64_t own_source;                          /* whose batch a training's forward followed */
    uint64_t shared_sources[PW_TRAINING_SOURCES]; /* that evaluations use as well; the last ones */
    unsigned n_shared;

    /* What makes steps of optimizers now: optimizers, and what calls them. */
    const void *stack[PW_TRAINING_DEPTH];
    int depth;

    const void *latest;   /* optimizer that made a step last */
    const void *last;     /* whose step ends a step, once that was learned */
    const void *ended_by; /* the learned one that ended the step before */
    struct pw_training_optimizer {
        const void *id;
        int64_t stepped; /* 1 + the step in which it made one last, 0 none */
    } optimizers[PW_TRAINING_OPTIMIZERS];
    int n_optimizers;
    int found;     /* where the last one was found: they mostly come in the same order */
    int n_stepped; /* of them in this step, also those that were freed since */
};

/* Begins anew, with step 0. */
void pw_training_init(struct pw_training *t, const struct pw_training_calls *calls,
                      const struct pw_training_marked *marked);

void pw_training_created(struct pw_training *t, const void *optimizer);
void pw_training_forget(struct pw_training *t, const void *optimizer);
void pw_training_end_step(struct pw_training *t);

/* From now on the next forward is reported, or none. */
void pw_training_report_forward(struct pw_training *t, bool is_on);

/* False when a wait that begins now would be PW_WAIT_ELSEWHERE. */
bool pw_training_may_wait(const struct pw_training *t);

/* A wait for the next batch of a loader begins. Unless it is PW_WAIT_ELSEWHERE,
 * pw_training_wait_ends() is to follow. */
enum pw_training_wait pw_training_wait_begins(struct pw_training *t, bool has_gradients,
                                              bool has_more, uint64_t source);
void pw_training_wait_ends(struct pw_training *t, bool has_batch);

/* The forward of an outermost module, with gradients. */
void pw_training_forward_begins(struct pw_training *t, const void *module);

/* The same in eval() mode or without gradients. True when no forward need be reported until this
 * one has ended, with pw_training_evaluation_ends(). */
bool pw_training_evaluation_begins(struct pw_training *t, const void *module, bool has_gradients);
void pw_training_evaluation_ends(struct pw_training *t);

/* True when it is the training's, and pw_training_backward_ends() is to follow. */
bool pw_training_backward_begins(struct pw_training *t);
void pw_training_backward_ends(struct pw_training *t);

/* `caller`, unless it is NULL, makes the step of the optimizer, or skips it: a GradScaler. */
void pw_training_optimizer_begins(struct pw_training *t, const void *optimizer, const void *caller);
void pw_training_optimizer_ends(struct pw_training *t, const void *optimizer, const void *caller);

#endif
