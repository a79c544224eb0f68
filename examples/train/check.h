/* The self-test of the hand-written derivatives. */
#ifndef TRAIN_CHECK_H
#define TRAIN_CHECK_H

#include <stdio.h>

/* Compares gradients with finite differences on a small model and prints one line per layer.
 * 0, 1 if any differs by more than float32 explains, or -ENOMEM. */
int check_gradients(FILE *to);

#endif
