/* The state machine of torch_training.h. All functions are called by threads that hold the GIL.
 * Threads other than the training thread modify nothing but `optimizers`. */
#include "collectors/torch/torch_training.h"

#include <string.h>

#include "profwrap.h"

void pw_training_init(struct pw_training *t, const struct pw_training_calls *calls,
                      const struct pw_training_marked *marked)
{
    memset(t, 0, sizeof(*t));
    t->calls = *calls;
    t->marked = marked;
    t->needs_mode = true;
}

/* Whether this is another thread than the training's, such as one that fetches batches. Before the
 * first forward it is also true in a process that only loads data. Later this need not be tested: a
 * process that is forked after the training process has recorded does not record. */
static bool is_elsewhere(const struct pw_training *t)
{
    return t->has_thread ? !pthread_equal(t->thread, pthread_self()) : t->calls.is_worker();
}

static void take_thread(struct pw_training *t)
{
    t->has_thread = true;
    t->thread = pthread_self();
}

void pw_training_report_forward(struct pw_training *t, bool is_on)
{
    if (t->is_reported == is_on)
        return;
    t->is_reported = is_on;
    t->calls.report_forward(is_on);
}

static void mark(struct pw_training *t, int phase)
{
    if (phase == t->phase)
        return;
    t->phase = phase;
    if (!t->marked->phases)
        t->calls.phase(phase);
}

static void mark_step(struct pw_training *t, int64_t step)
{
    if (t->marked->steps)
        return;
    t->phase = PROFWRAP_NO_PHASE;
    t->calls.step(step);
}

static void begin_step(struct pw_training *t)
{
    t->is_open = true;
    if (!t->sees_steps)
        t->calls.keep_state();
    t->is_adjacent = t->is_ahead;
    t->is_ahead = false;
    if (!t->is_adjacent)
        mark_step(t, t->number);
}

static void clear_step(struct pw_training *t)
{
    t->is_open = t->has_waited = t->has_backward = t->is_only_wait = false;
    t->n_stepped = 0;
}

/* Ends a step whose optimizers have made their steps. The next one begins here, so that what the
 * program does before its next wait or forward (batches that no DataLoader makes, checkpoints,
 * logs) is in a step. */
static void complete_step(struct pw_training *t)
{
    if (!t->is_open)
        return;
    clear_step(t);
    t->is_ahead = true;
    mark_step(t, ++t->number);
}

/* The step that was marked ahead is none: no training follows. */
static void cancel_ahead(struct pw_training *t)
{
    if (t->is_ahead)
        mark_step(t, PROFWRAP_CANCEL_STEP);
    t->is_ahead = false;
}

static void cancel_step(struct pw_training *t)
{
    clear_step(t);
    mark_step(t, PROFWRAP_CANCEL_STEP);
}

void pw_training_end_step(struct pw_training *t)
{
    cancel_ahead(t);
    if (!t->is_open)
        return;
    clear_step(t);
    t->number++;
    mark_step(t, PROFWRAP_NO_STEP);
}

/* Ends the step at the end of data of unknown length. If nothing but this wait was in it, it is
 * none; or, where it began with the end of the step before, the training may go on with it. */
static void end_after_wait(struct pw_training *t)
{
    if (t->is_open && t->is_only_wait && t->is_adjacent) {
        clear_step(t);
        t->is_ahead = true;
    } else if (t->is_open && t->is_only_wait) {
        cancel_step(t);
    } else {
        pw_training_end_step(t);
    }
}

/* ---- optimizers ---- */

static struct pw_training_optimizer *find(struct pw_training *t, const void *optimizer)
{
    for (int i = 0; i < t->n_optimizers; i++) {
        const int at = (t->found + i) % t->n_optimizers;
        if (t->optimizers[at].id == optimizer) {
            t->found = at;
            return &t->optimizers[at];
        }
    }
    return NULL;
}

static struct pw_training_optimizer *keep(struct pw_training *t, const void *optimizer)
{
    struct pw_training_optimizer *known = find(t, optimizer);
    if (known || t->n_optimizers == PW_TRAINING_OPTIMIZERS)
        return known;
    t->optimizers[t->n_optimizers] = (struct pw_training_optimizer){.id = optimizer};
    known = &t->optimizers[t->n_optimizers++];
    t->calls.found_optimizer(optimizer);
    return known;
}

void pw_training_created(struct pw_training *t, const void *optimizer)
{
    keep(t, optimizer);
    if (!is_elsewhere(t))
        pw_training_report_forward(t, true);
}

void pw_training_forget(struct pw_training *t, const void *optimizer)
{
    struct pw_training_optimizer *known = find(t, optimizer);
    if (known)
        *known = t->optimizers[--t->n_optimizers];
}

static bool has_stepped(struct pw_training *t, const void *optimizer)
{
    const struct pw_training_optimizer *known = find(t, optimizer);
    return known && known->stepped == t->number + 1;
}

static void note_step(struct pw_training *t, const void *optimizer)
{
    struct pw_training_optimizer *known = keep(t, optimizer);
    t->sees_steps = true;
    t->latest = optimizer;
    if (known && known->stepped != t->number + 1) {
        known->stepped = t->number + 1;
        t->n_stepped++;
    }
}

/* ---- the end of a step ---- */

/* Ends a step whose optimizer.step() no hook saw, because it ran in compiled code
 * (torch.compile()). Such a step is recognised when the backward has ended and parameters have
 * changed. */
static void end_unseen(struct pw_training *t)
{
    if (!t->sees_steps && t->has_backward && !t->n_stepped && t->calls.has_changed())
        complete_step(t);
}

/* Called when the next batch is requested: ends the step if an optimizer has made its step. */
static void end_iteration(struct pw_training *t)
{
    if (!t->n_stepped) {
        end_unseen(t);
        return;
    }
    if (!t->is_mixed)
        t->last = t->latest;
    complete_step(t);
}

static void end_if_complete(struct pw_training *t)
{
    if (t->last && t->last == t->latest) {
        t->ended_by = t->last;
        complete_step(t);
    } else if (t->n_stepped >= t->n_optimizers) {
        complete_step(t);
    }
}

/* ---- waiting for data ---- */

static bool is_shared(const struct pw_training *t, uint64_t source)
{
    for (unsigned i = 0; i < t->n_shared && i < PW_TRAINING_SOURCES; i++)
        if (t->shared_sources[i] == source)
            return true;
    return false;
}

/* Whether the program evaluates, by the mode of the model. A trainer may request its next batch
 * for training before it calls train() again. This is recognised because the batch comes from a
 * loader with which it has trained before. */
static bool evaluates(struct pw_training *t, uint64_t source)
{
    if (!t->needs_mode || !t->root || !t->calls.root_is_evaluated())
        return false;
    t->is_guess = source && source == t->own_source && !is_shared(t, source);
    return !t->is_guess;
}

static void end_guess(struct pw_training *t)
{
    if (!t->is_guess)
        return;
    if (!is_shared(t, t->source))
        t->shared_sources[t->n_shared++ % PW_TRAINING_SOURCES] = t->source;
    t->is_guess = false;
    pw_training_end_step(t);
}

bool pw_training_may_wait(const struct pw_training *t)
{
    return t->n_optimizers && !t->waits && !is_elsewhere(t);
}

enum pw_training_wait pw_training_wait_begins(struct pw_training *t, bool has_gradients,
                                              bool has_more, uint64_t source)
{
    if (!pw_training_may_wait(t))
        return PW_WAIT_ELSEWHERE;
    t->waits = PW_WAIT_OTHER;
    t->depth = 0;                         /* an optimizer's step() may have raised */
    pw_training_report_forward(t, false); /* ignore modules that the data set calls */
    if (!has_gradients || evaluates(t, source)) {
        pw_training_end_step(t);
        return t->waits;
    }
    end_iteration(t);
    if (!has_more) {
        end_guess(t);
        return t->waits;
    }
    t->ended_by = NULL;
    t->source = source;
    if (!t->is_open) {
        begin_step(t);
        t->is_only_wait = true;
    }
    t->has_waited = true;
    mark(t, PROFWRAP_DATA);
    return t->waits = PW_WAIT_TRAINING;
}

void pw_training_wait_ends(struct pw_training *t, bool has_batch)
{
    if (t->waits == PW_WAIT_TRAINING) {
        mark(t, PROFWRAP_NO_PHASE);
        if (!has_batch) /* the end of data of unknown length */
            end_after_wait(t);
        t->is_only_wait = false;
    }
    t->waits = PW_WAIT_ELSEWHERE;
    pw_training_report_forward(t, true);
}

/* ---- forward and backward ---- */

static void set_root(struct pw_training *t, const void *module)
{
    t->has_root = true;
    if (t->root == module)
        return;
    t->root = module;
    t->calls.root_changed(module);
}

void pw_training_forward_begins(struct pw_training *t, const void *module)
{
    if (!t->n_optimizers || t->backwards || is_elsewhere(t))
        return;
    pw_training_report_forward(t, false);
    take_thread(t);
    t->own_source = t->source;
    t->is_guess = false;
    set_root(t, module);
    if (!t->sees_steps && !t->depth)
        end_unseen(t);
    if (!t->is_open)
        begin_step(t);
    mark(t, PROFWRAP_FORWARD);
}

bool pw_training_evaluation_begins(struct pw_training *t, const void *module, bool has_gradients)
{
    if (t->backwards || is_elsewhere(t))
        return false;
    cancel_ahead(t);
    if (!t->has_root) {
        set_root(t, module);
        if (t->is_open) /* the loader of the evaluation had begun one */
            cancel_step(t);
    } else if (t->n_stepped) {
        pw_training_end_step(t);
    }
    end_guess(t);
    t->evaluated = has_gradients;
    pw_training_report_forward(t, false);
    return true;
}

void pw_training_evaluation_ends(struct pw_training *t)
{
    if (!is_elsewhere(t))
        pw_training_report_forward(t, true);
}

bool pw_training_backward_begins(struct pw_training *t)
{
    if (!t->n_optimizers || is_elsewhere(t))
        return false;
    take_thread(t);
    if (t->backwards++)
        return true;
    if (t->evaluated && t->phase != PROFWRAP_FORWARD)
        t->needs_mode = false;
    t->evaluated = false;
    pw_training_report_forward(t, false);
    if (!t->is_open)
        begin_step(t);
    t->has_backward = true;
    mark(t, PROFWRAP_BACKWARD);
    return true;
}

void pw_training_backward_ends(struct pw_training *t)
{
    if (--t->backwards)
        return;
    mark(t, t->depth ? PROFWRAP_OPTIMIZER : PROFWRAP_NO_PHASE);
    pw_training_report_forward(t, true);
    if (t->n_stepped && !t->depth) /* optimizers that make their step inside of backward */
        end_if_complete(t);
}

/* ---- steps of optimizers ---- */

/* Returns the index of `key` in the stack, or -1. */
static int place_of(const struct pw_training *t, const void *key)
{
    for (int i = 0; i < t->depth; i++)
        if (t->stack[i] == key)
            return i;
    return -1;
}

static void enter_optimizer(struct pw_training *t, const void *optimizer)
{
    if (t->is_open && !t->has_waited && has_stepped(t, optimizer))
        end_iteration(t);
    if (t->ended_by && t->ended_by != optimizer) { /* the step was not ended by the last
                                                    * optimizer */
        t->is_mixed = true;
        t->last = NULL;
    }
    t->ended_by = NULL;
    if (!t->is_open)
        begin_step(t);
    mark(t, PROFWRAP_OPTIMIZER);
    pw_training_report_forward(t, true); /* step() may call a closure that runs the model */
}

void pw_training_optimizer_begins(struct pw_training *t, const void *optimizer, const void *caller)
{
    if (t->backwards || is_elsewhere(t))
        return;
    take_thread(t);
    const void *key = caller ? caller : optimizer;
    const int place = place_of(t, key);
    if (place >= 0) /* the last step() of this optimizer raised */
        t->depth = place;
    if (!t->depth)
        enter_optimizer(t, optimizer);
    if (t->depth < PW_TRAINING_DEPTH)
        t->stack[t->depth++] = key;
}

void pw_training_optimizer_ends(struct pw_training *t, const void *optimizer, const void *caller)
{
    const int place = place_of(t, caller ? caller : optimizer);
    if (t->backwards && place < 0) {
        note_step(t, optimizer);
    } else if (place >= 0 && !is_elsewhere(t)) {
        t->depth = place;
        note_step(t, optimizer);
        if (t->depth)
            return;
        pw_training_report_forward(t, true);
        end_if_complete(t);
        mark(t, PROFWRAP_NO_PHASE); /* as mark_step() does */
    }
}
