/* The model: it predicts the next character from the MODEL_CONTEXT before it.
 *
 *     embedding -> linear1 + tanh -> linear2 + tanh -> output + softmax
 *
 * It knows nothing of MPI: backward tells its caller when each layer's gradient is complete. */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_CONTEXT = 16, /* characters */
    MODEL_VOCAB = 96,   /* different characters */
    MODEL_EMBED = 16,   /* floats per character */
    MODEL_LAYERS = 4    /* that have parameters: embedding, linear1, linear2, output */
};

struct model;

struct model_batch {
    uint8_t *context; /* count rows of MODEL_CONTEXT tokens */
    uint8_t *target;  /* the token that follows each row */
    size_t count;
};

struct model_span {
    float *data;
    size_t count;
};

/* Called by model_backward() once a layer's gradient will not change any more. */
typedef void model_ready_fn(void *arg, int layer);

/* `batch` is the count of every batch to come. 0, or -ENOMEM with *out untouched. */
int model_create(size_t batch, size_t hidden, uint64_t seed, struct model **out);
void model_destroy(struct model *model);

/* The parameters of a layer. */
struct model_span model_parameters(struct model *model, int layer);

/* The gradient of a layer. The last layer's has one float more than it has parameters: the mean
 * loss of the batch, so that averaging gradients over ranks averages the loss on the way. */
struct model_span model_gradient(struct model *model, int layer);

/* Computes the loss of the batch and returns it: nats per character. */
float model_forward(struct model *model, const struct model_batch *batch);

/* Computes all gradients, last layer first, of the batch that model_forward() has just seen. */
void model_backward(struct model *model, const struct model_batch *batch, model_ready_fn *ready,
                    void *arg);

/* One step of Adam with `scale` times the gradients. */
void model_update(struct model *model, float lr, float scale);

/* `scale` times the float behind the last gradient. */
float model_loss(const struct model *model, float scale);

#endif
