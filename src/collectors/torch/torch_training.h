/* Finds the steps and phases of a PyTorch training that marks none, from the events of its modules,
 * loaders and optimizers. Used by torch_hooks.c, whose functions PyTorch calls. In-app, see
 * probe.h.
 *
 * A step ends with an optimizer's step, where the next one begins. The first one, and one after an
 * evaluation, begins with the first wait for data, or forward. What begins with the last step's end
 * is none. With several optimizers a step ends with the step of the last one. Which one is the
 * last is known when all have made a step, when the program waits for the next batch, or when the
 * first optimizer makes a step again. Modules, optimizers and their callers are only addresses
 * here; nothing depends on Python. */
#ifndef PW_COLLECTORS_TORCH_TRAINING_H
#define PW_COLLECTORS_TORCH_TRAINING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The functions that the state machine calls. */
struct pw_training_calls {
    void (*step)(int64_t number); /* as in profwrap.h */
    void (*phase)(int phase);
    /* Sets whether the next outermost module that is called must be reported. */
    void (*report_forward)(bool is_on);
    /* Whether this process only loads data for another one. */
    bool (*is_worker)(void);
    /* Whether the last root (pw_training.root) exists and is in evaluation mode. */
    bool (*root_is_evaluated)(void);
    void (*root_changed)(const void *module);
    /* Reports a new optimizer; pw_training_forget() must be called when it is freed. */
    void (*found_optimizer)(const void *optimizer);
    /* Stores the number of changes of parameters; returns whether there were changes since then. */
    void (*keep_state)(void);
    bool (*has_changed)(void);
};

/* What the program has marked itself; these marks are then not made automatically. */
struct pw_training_marked {
    bool steps, phases;
};

enum pw_training_wait { PW_WAIT_ELSEWHERE, PW_WAIT_OTHER, PW_WAIT_TRAINING };

/* Limits. Some programs have an optimizer for each parameter; further optimizers are ignored. */
enum { PW_TRAINING_OPTIMIZERS = 1 << 12, PW_TRAINING_DEPTH = 32, PW_TRAINING_SOURCES = 64 };

struct pw_training {
    struct pw_training_calls calls;
    const struct pw_training_marked *marked;
    int64_t number;  /* number of the open step, or of the next one */
    bool needs_mode; /* false once a model was trained in eval() mode: a forward with gradients is
                        a training's */
    bool is_open;
    bool is_ahead;     /* the next step was marked at the end of the step before; nothing of the
                        * training has come since */
    bool is_adjacent;  /* the open step was */
    bool has_waited;   /* the program has waited for data in this step */
    bool is_only_wait; /* the step began with the wait that is open */
    bool has_backward;
    bool sees_steps;  /* optimizers report when they make a step: parameters need not be read */
    bool is_reported; /* the next forward will be reported */
    bool is_guess;    /* this step was begun by a wait for data that evaluations use, too */
    bool is_mixed;    /* no single optimizer ends the steps */
    bool evaluated;   /* a forward with gradients in eval() mode came last */
    bool has_thread, has_root;
    enum pw_training_wait waits; /* kind of the open wait */
    int phase;
    int backwards;    /* number of open backwards: they nest with activation checkpointing */
    pthread_t thread; /* thread of the training */
    const void *root; /* the module whose forward came last; NULL when it was freed */

    /* Numbers of loaders; 0: none, or not known. */
    uint64_t source;                              /* the loader that was waited for last */
    uint64_t own_source;                          /* the loader whose batch was used by a forward of
                                                   * the training */
    uint64_t shared_sources[PW_TRAINING_SOURCES]; /* the last loaders that evaluations use as
                                                   * well */
    unsigned n_shared;

    /* The optimizers that make a step now, and the objects that call them. */
    const void *stack[PW_TRAINING_DEPTH];
    int depth;

    const void *latest;   /* the optimizer that made the latest step */
    const void *last;     /* the optimizer whose step ends a step of the training; NULL: not
                           * known */
    const void *ended_by; /* the optimizer, known as the last one, that ended the step before */
    struct pw_training_optimizer {
        const void *id;
        int64_t stepped; /* 1 + the last step in which it made a step; 0: none */
    } optimizers[PW_TRAINING_OPTIMIZERS];
    int n_optimizers;
    int found;     /* index of the optimizer found last: they mostly come in the same order */
    int n_stepped; /* number of optimizers that made a step in this step, freed ones included */
};

/* Initialises the state; the next step has the number 0. */
void pw_training_init(struct pw_training *t, const struct pw_training_calls *calls,
                      const struct pw_training_marked *marked);

void pw_training_created(struct pw_training *t, const void *optimizer);
void pw_training_forget(struct pw_training *t, const void *optimizer);
void pw_training_end_step(struct pw_training *t);

/* Sets whether the next forward is reported. */
void pw_training_report_forward(struct pw_training *t, bool is_on);

/* Returns false when a wait that begins now would be PW_WAIT_ELSEWHERE. */
bool pw_training_may_wait(const struct pw_training *t);

/* Called when a wait for the next batch of a loader begins. Returns the kind of the wait; unless it
 * is PW_WAIT_ELSEWHERE, call pw_training_wait_ends() when it ends. */
enum pw_training_wait pw_training_wait_begins(struct pw_training *t, bool has_gradients,
                                              bool has_more, uint64_t source);
void pw_training_wait_ends(struct pw_training *t, bool has_batch);

/* Called when the forward of an outermost module begins, with gradients. */
void pw_training_forward_begins(struct pw_training *t, const void *module);

/* As pw_training_forward_begins(), in eval() mode or without gradients. Returns true when no
 * forward need be reported until this one has ended; then call pw_training_evaluation_ends(). */
bool pw_training_evaluation_begins(struct pw_training *t, const void *module, bool has_gradients);
void pw_training_evaluation_ends(struct pw_training *t);

/* Called when a backward begins. Returns true when it belongs to the training; then call
 * pw_training_backward_ends() when it ends. */
bool pw_training_backward_begins(struct pw_training *t);
void pw_training_backward_ends(struct pw_training *t);

/* Called when an optimizer's step begins. `caller` (may be NULL) is an object such as a GradScaler,
 * which calls the optimizer's step or skips it. */
void pw_training_optimizer_begins(struct pw_training *t, const void *optimizer, const void *caller);
void pw_training_optimizer_ends(struct pw_training *t, const void *optimizer, const void *caller);

#endif
