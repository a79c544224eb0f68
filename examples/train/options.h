/* The options of the command line. All ranks parse the same words, so they agree without
 * communication. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "inject.h"

struct options {
    int64_t steps;
    int64_t batch; /* samples per rank and step */
    int64_t hidden;
    int64_t seed;
    double lr;
    double pace;      /* ms: the least that forward, backward and optimizer take, each */
    const char *data; /* a file, or a directory of files */
    bool timing;
    bool check_gradients;
    bool help;
    struct inject_list inject;
};

/* Fills *out from the defaults and argv. On failure returns -EINVAL with one sentence in `why` that
 * names the option and what it expects; *out is then unspecified. */
int options_parse(int argc, char **argv, int nrank, struct options *out, char *why,
                  size_t why_size);

void options_help(FILE *to);

#endif
