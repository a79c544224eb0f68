/* Owns the parameters, the activations and the arithmetic, all float32 and in a fixed order: the
 * same inputs give the same bits. Called by the trainer's thread only. */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profwrap.h"
#include "random.h"

enum { EMBEDDING, OUTPUT = MODEL_LAYERS - 1 };

struct layer {
    const char *name;
    size_t in, out;
    size_t offset; /* of its first parameter in the vector of all; weights [in][out], bias [out] */
    size_t count;  /* parameters */
};

/* The embedding is a table: its `in` rows are the tokens, it has no bias. */
struct model {
    struct layer layers[MODEL_LAYERS];
    size_t batch;
    size_t count; /* parameters of all layers */
    int64_t updates;

    float *memory; /* backs all below, zeroed at first */
    float *parameters;
    float *gradients;            /* count + 1: the loss is behind the last */
    float *mean;                 /* Adam's first moment */
    float *square;               /* Adam's second moment */
    float *active[MODEL_LAYERS]; /* [batch][width]: what each layer puts out */
    float *delta[MODEL_LAYERS];  /* the loss's derivative by it; of OUTPUT: by its logits */
};

/* The floats a layer puts out for one sample. */
static size_t width(const struct model *m, int layer)
{
    return layer == EMBEDDING ? (size_t)MODEL_CONTEXT * MODEL_EMBED : m->layers[layer].out;
}

static void layers_init(struct model *m, size_t hidden)
{
    const struct layer layers[MODEL_LAYERS] = {
        {.name = "embedding", .in = MODEL_VOCAB, .out = MODEL_EMBED},
        {.name = "linear1", .in = (size_t)MODEL_CONTEXT * MODEL_EMBED, .out = hidden},
        {.name = "linear2", .in = hidden, .out = hidden},
        {.name = "output", .in = hidden, .out = MODEL_VOCAB},
    };
    memcpy(m->layers, layers, sizeof layers);

    for (int i = 0; i < MODEL_LAYERS; i++) {
        struct layer *layer = &m->layers[i];
        layer->offset = m->count;
        layer->count = layer->in * layer->out + (i == EMBEDDING ? 0 : layer->out);
        m->count += layer->count;
    }
}

static int memory_init(struct model *m)
{
    size_t floats = 4 * m->count + 1;
    for (int i = 0; i < MODEL_LAYERS; i++)
        floats += 2 * m->batch * width(m, i);

    float *at = m->memory = calloc(floats, sizeof *at);
    if (!at)
        return -ENOMEM;

    m->parameters = at;
    m->mean = at += m->count;
    m->square = at += m->count;
    m->gradients = at += m->count;
    at += m->count + 1;
    for (int i = 0; i < MODEL_LAYERS; i++) {
        m->active[i] = at;
        m->delta[i] = at + m->batch * width(m, i);
        at += 2 * m->batch * width(m, i);
    }
    return 0;
}

/* Uniform weights that keep the variance through tanh (Glorot); biases stay 0. */
static void parameters_init(struct model *m, uint64_t seed)
{
    struct random random = random_init(seed, 0);
    for (int i = 0; i < MODEL_LAYERS; i++) {
        const struct layer *layer = &m->layers[i];
        float limit = i == EMBEDDING ? 1.0f : sqrtf(6.0f / (float)(layer->in + layer->out));
        for (size_t w = 0; w < layer->in * layer->out; w++)
            m->parameters[layer->offset + w] = limit * random_signed(&random);
    }
}

int model_create(size_t batch, size_t hidden, uint64_t seed, struct model **out)
{
    struct model *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;

    m->batch = batch;
    layers_init(m, hidden);
    int err = memory_init(m);
    if (err) {
        free(m);
        return err;
    }
    parameters_init(m, seed);
    *out = m;
    return 0;
}

void model_destroy(struct model *m)
{
    if (!m)
        return;
    free(m->memory);
    free(m);
}

struct model_span model_parameters(struct model *m, int layer)
{
    return (struct model_span){.data = m->parameters + m->layers[layer].offset,
                               .count = m->layers[layer].count};
}

struct model_span model_gradient(struct model *m, int layer)
{
    return (struct model_span){.data = m->gradients + m->layers[layer].offset,
                               .count = m->layers[layer].count + (layer == OUTPUT)};
}

float model_loss(const struct model *m, float scale)
{
    return scale * m->gradients[m->count];
}

/* y += a * x */
static void add_scaled(size_t n, float a, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Four sums at once: one alone would wait for the previous addition each time. */
static float dot(size_t n, const float *restrict x, const float *restrict y)
{
    float sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        sum[0] += x[i] * y[i];
        sum[1] += x[i + 1] * y[i + 1];
        sum[2] += x[i + 2] * y[i + 2];
        sum[3] += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++)
        sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void embedding_forward(struct model *m, const struct model_batch *batch)
{
    const float *table = m->parameters + m->layers[EMBEDDING].offset;
    float *out = m->active[EMBEDDING];
    for (size_t i = 0; i < batch->count * MODEL_CONTEXT; i++)
        memcpy(out + i * MODEL_EMBED, table + (size_t)batch->context[i] * MODEL_EMBED,
               MODEL_EMBED * sizeof *out);
}

static void embedding_backward(struct model *m, const struct model_batch *batch)
{
    struct model_span gradient = model_gradient(m, EMBEDDING);
    const float *delta = m->delta[EMBEDDING];
    memset(gradient.data, 0, gradient.count * sizeof *gradient.data);
    for (size_t i = 0; i < batch->count * MODEL_CONTEXT; i++)
        add_scaled(MODEL_EMBED, 1.0f, delta + i * MODEL_EMBED,
                   gradient.data + (size_t)batch->context[i] * MODEL_EMBED);
}

static void linear_forward(struct model *m, int index)
{
    const struct layer *layer = &m->layers[index];
    const float *weights = m->parameters + layer->offset;
    const float *bias = weights + layer->in * layer->out;
    for (size_t b = 0; b < m->batch; b++) {
        const float *x = m->active[index - 1] + b * layer->in;
        float *y = m->active[index] + b * layer->out;
        memcpy(y, bias, layer->out * sizeof *y);
        for (size_t i = 0; i < layer->in; i++)
            add_scaled(layer->out, x[i], weights + i * layer->out, y);
    }
}

/* From the layer's delta, its gradient. */
static void linear_backward_weights(struct model *m, int index)
{
    const struct layer *layer = &m->layers[index];
    float *weights = m->gradients + layer->offset;
    float *bias = weights + layer->in * layer->out;
    memset(weights, 0, layer->count * sizeof *weights);
    for (size_t b = 0; b < m->batch; b++) {
        const float *x = m->active[index - 1] + b * layer->in;
        const float *dy = m->delta[index] + b * layer->out;
        for (size_t i = 0; i < layer->in; i++)
            add_scaled(layer->out, x[i], dy, weights + i * layer->out);
        add_scaled(layer->out, 1.0f, dy, bias);
    }
}

/* From the layer's delta, that of the layer below. */
static void linear_backward_input(struct model *m, int index)
{
    const struct layer *layer = &m->layers[index];
    const float *weights = m->parameters + layer->offset;
    for (size_t b = 0; b < m->batch; b++) {
        const float *dy = m->delta[index] + b * layer->out;
        float *dx = m->delta[index - 1] + b * layer->in;
        for (size_t i = 0; i < layer->in; i++)
            dx[i] = dot(layer->out, weights + i * layer->out, dy);
    }
}

static void tanh_forward(struct model *m, int index)
{
    float *y = m->active[index];
    for (size_t i = 0; i < m->batch * width(m, index); i++)
        y[i] = tanhf(y[i]);
}

static void tanh_backward(struct model *m, int index)
{
    const float *y = m->active[index];
    float *dy = m->delta[index];
    for (size_t i = 0; i < m->batch * width(m, index); i++)
        dy[i] *= 1.0f - y[i] * y[i];
}

/* Turns one sample's logits into probabilities and returns the target's loss. */
static double softmax(float *logits, size_t target)
{
    float highest = logits[0];
    for (size_t v = 1; v < MODEL_VOCAB; v++)
        highest = fmaxf(highest, logits[v]);

    double loss = (double)highest - (double)logits[target];
    float sum = 0.0f;
    for (size_t v = 0; v < MODEL_VOCAB; v++)
        sum += logits[v] = expf(logits[v] - highest);
    for (size_t v = 0; v < MODEL_VOCAB; v++)
        logits[v] /= sum;
    return loss + log((double)sum);
}

static float cross_entropy_forward(struct model *m, const struct model_batch *batch)
{
    double loss = 0.0;
    for (size_t b = 0; b < m->batch; b++)
        loss += softmax(m->active[OUTPUT] + b * MODEL_VOCAB, batch->target[b]);
    return (float)(loss / (double)m->batch);
}

/* Of the mean loss by the logits: (probability - 1 at the target) / batch. */
static void cross_entropy_backward(struct model *m, const struct model_batch *batch)
{
    float share = 1.0f / (float)m->batch;
    float *delta = m->delta[OUTPUT];
    for (size_t i = 0; i < m->batch * MODEL_VOCAB; i++)
        delta[i] = share * m->active[OUTPUT][i];
    for (size_t b = 0; b < m->batch; b++)
        delta[b * MODEL_VOCAB + batch->target[b]] -= share;
}

float model_forward(struct model *m, const struct model_batch *batch)
{
    profwrap_range_push(m->layers[EMBEDDING].name);
    embedding_forward(m, batch);
    profwrap_range_pop();

    for (int i = EMBEDDING + 1; i <= OUTPUT; i++) {
        profwrap_range_push(m->layers[i].name);
        linear_forward(m, i);
        if (i < OUTPUT)
            tanh_forward(m, i);
        profwrap_range_pop();
    }
    return m->gradients[m->count] = cross_entropy_forward(m, batch);
}

void model_backward(struct model *m, const struct model_batch *batch, model_ready_fn *ready,
                    void *arg)
{
    cross_entropy_backward(m, batch);
    for (int i = OUTPUT; i > EMBEDDING; i--) {
        profwrap_range_push(m->layers[i].name);
        if (i < OUTPUT)
            tanh_backward(m, i);
        linear_backward_weights(m, i);
        ready(arg, i); /* before the layer below is begun: its sum travels meanwhile */
        linear_backward_input(m, i);
        profwrap_range_pop();
    }

    profwrap_range_push(m->layers[EMBEDDING].name);
    embedding_backward(m, batch);
    ready(arg, EMBEDDING);
    profwrap_range_pop();
}

void model_update(struct model *m, float lr, float scale)
{
    const float keep_mean = 0.9f, keep_square = 0.999f, tiny = 1e-8f;
    m->updates++;
    float mean_fix = 1.0f - powf(keep_mean, (float)m->updates);
    float square_fix = 1.0f - powf(keep_square, (float)m->updates);
    for (size_t i = 0; i < m->count; i++) {
        float g = scale * m->gradients[i];
        m->mean[i] = keep_mean * m->mean[i] + (1.0f - keep_mean) * g;
        m->square[i] = keep_square * m->square[i] + (1.0f - keep_square) * g * g;
        m->parameters[i] -=
            lr * (m->mean[i] / mean_fix) / (sqrtf(m->square[i] / square_fix) + tiny);
    }
}
