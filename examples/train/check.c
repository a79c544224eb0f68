/* Owns the comparison of model_backward() with central differences of model_forward(). */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "random.h"

enum { BATCH = 12, HIDDEN = 20, PROBES = 97 };

struct check {
    struct model *model;
    struct model_batch batch;
    int ready[MODEL_LAYERS]; /* times each layer was announced */
};

static void count_ready(void *arg, int layer)
{
    struct check *c = arg;
    c->ready[layer]++;
}

/* The slope of the loss along one parameter. float32 rounds the loss to about 3e-7 of itself, so
 * the step must not be small: 2e-2 keeps rounding and curvature both near 1e-4. */
static double slope(struct check *c, float *parameter)
{
    const float step = 2e-2f;
    const float kept = *parameter;
    *parameter = kept + step;
    double above = (double)model_forward(c->model, &c->batch);
    *parameter = kept - step;
    double below = (double)model_forward(c->model, &c->batch);
    *parameter = kept;
    return (above - below) / (2.0 * (double)step);
}

/* Probes parameters spread over the layer, its last one (a bias) among them. */
static bool check_layer(struct check *c, int layer, FILE *to)
{
    struct model_span parameters = model_parameters(c->model, layer);
    struct model_span gradient = model_gradient(c->model, layer);
    double worst = 0.0, largest = 0.0;
    for (size_t p = 1; p <= PROBES; p++) {
        size_t i = parameters.count * p / PROBES - 1;
        double expected = slope(c, &parameters.data[i]);
        worst = fmax(worst, fabs(expected - (double)gradient.data[i]));
        largest = fmax(largest, fabs(expected));
    }

    bool good = worst <= 0.005 * largest && largest > 0.0 && c->ready[layer] == 1;
    fprintf(to, "layer %d: %d gradients, largest %.5f, worst difference %.6f: %s\n", layer, PROBES,
            largest, worst, good ? "ok" : "WRONG");
    return good;
}

int check_gradients(FILE *to)
{
    uint8_t context[BATCH * MODEL_CONTEXT], target[BATCH];
    struct check c = {.batch = {.context = context, .target = target, .count = BATCH}};
    struct random random = random_init(7, 7);
    for (size_t i = 0; i < sizeof context; i++)
        context[i] = (uint8_t)(random_next(&random) % MODEL_VOCAB);
    for (size_t i = 0; i < sizeof target; i++)
        target[i] = (uint8_t)(random_next(&random) % MODEL_VOCAB);

    int err = model_create(BATCH, HIDDEN, 7, &c.model);
    if (err)
        return err;

    model_forward(c.model, &c.batch);
    model_backward(c.model, &c.batch, count_ready, &c);
    bool good = true;
    for (int layer = 0; layer < MODEL_LAYERS; layer++)
        good = check_layer(&c, layer, to) && good;
    model_destroy(c.model);
    return good ? 0 : 1;
}
