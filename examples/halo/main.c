/* Heat in a plate: a 2-D halo exchange as simulations have it. Owns MPI, the command line, the loop
 * and what is printed. Exit status: 0; 1: no memory; 2: the command line is wrong. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "grid.h"
#include "inject.h"
#include "pace.h"
#include "profwrap.h"

enum { EXIT_MEMORY = 1, EXIT_USAGE = 2, SIDE_MOST = 1 << 14 };
enum { COMPUTE, EXCHANGE, PHASES };

struct options {
    long steps, side, every;
    long pace; /* ms: the least that computing takes */
    struct inject_list inject;
};

static const char help[] =
    "usage: halo [OPTIONS]\n"
    "Heat spreads in a square plate, of which each rank has a part.\n"
    "  --steps N      steps (200)\n"
    "  --side N       cells of a rank's part, N x N (400)\n"
    "  --every N      steps from one reduction of the largest change to the next (10)\n"
    "  --pace MS      make computing take MS milliseconds, by sleeping\n"
    "  --inject SPEC  delay one rank, as rank=3,phase=compute,ms=5,steps=20-40; phases are "
    "compute\n"
    "                 and exchange, steps count from 0; repeatable\n"
    "  --help         this text\n";

static int parse_number(const char *text, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end == text || *end || *out < 1 || *out > most ? -1 : 0;
}

/* 0, 1 for --help, or -1 with one sentence in `why`. */
static int parse(int argc, char **argv, int nrank, struct options *o, char *why, size_t size)
{
    static const struct option rows[] = {
        {"steps", required_argument, NULL, 's'},
        {"side", required_argument, NULL, 'n'},
        {"every", required_argument, NULL, 'e'},
        {"inject", required_argument, NULL, 'i'},
        {"pace", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static const char *const names[PHASES] = {[COMPUTE] = "compute", [EXCHANGE] = "exchange"};
    static const struct inject_phases phases = {names, PHASES, "compute or exchange"};
    char part[160] = "expects a whole number from 1";
    int err = 0, row;
    opterr = 0;
    while (!err && (row = getopt_long(argc, argv, "", rows, NULL)) != -1) {
        switch (row) {
        case 's':
            err = parse_number(optarg, 1L << 30, &o->steps);
            break;
        case 'n':
            err = parse_number(optarg, SIDE_MOST, &o->side);
            break;
        case 'e':
            err = parse_number(optarg, 1L << 30, &o->every);
            break;
        case 'p':
            err = parse_number(optarg, 1L << 30, &o->pace);
            break;
        case 'i':
            err = inject_parse(&o->inject, optarg, &phases, nrank, part, sizeof part);
            break;
        case 'h':
            return 1;
        default:
            snprintf(part, sizeof part, "is unknown or lacks its value; --help lists the options");
            err = -1;
        }
        if (err)
            snprintf(why, size, "'%.80s' %s", argv[optind - 1], part);
    }
    if (!err && optind < argc) {
        snprintf(why, size, "'%.80s' is no option; --help lists those expected", argv[optind]);
        err = -1;
    }
    return err ? -1 : 0;
}

static void delay(const struct options *o, int rank, int phase, long step)
{
    inject_sleep(inject_delay_ns(&o->inject, rank, phase, step));
}

static void run(const struct options *o, struct grid *grid, int rank)
{
    double largest = 0.0, everywhere = 0.0;
    for (long step = 0; step < o->steps; step++) {
        profwrap_step(step);
        profwrap_range_push("exchange");
        delay(o, rank, EXCHANGE, step);
        grid_begin_exchange(grid);
        profwrap_range_pop();

        profwrap_range_push("compute");
        delay(o, rank, COMPUTE, step);
        int64_t start = pace_now();
        largest = grid_update_inside(grid);
        pace_until(start, 1000000 * (int64_t)o->pace);
        profwrap_range_pop();

        grid_end_exchange(grid);
        largest = fmax(largest, grid_update_border(grid));
        grid_swap(grid);
        if ((step + 1) % o->every)
            continue;
        MPI_Allreduce(&largest, &everywhere, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0)
            printf("step %5ld  change %.6e\n", step + 1, everywhere);
    }
    profwrap_step(PROFWRAP_NO_STEP);
}

int main(int argc, char **argv)
{
    struct options options = {.steps = 200, .side = 400, .every = 10};
    int rank, nrank, status = 0, dims[2] = {0, 0}, periodic[2] = {0, 0};
    char why[320] = "";
    MPI_Comm plate;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nrank);
    int told = parse(argc, argv, nrank, &options, why, sizeof why);
    if (told) {
        if (rank == 0)
            fprintf(told > 0 ? stdout : stderr, "%s%s\n", told > 0 ? help : "halo: ", why);
        MPI_Finalize();
        return told > 0 ? 0 : EXIT_USAGE;
    }

    MPI_Dims_create(nrank, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &plate);
    MPI_Comm_set_name(plate, "plate");
    struct grid *grid = grid_create(plate, (int)options.side);
    int good = grid != NULL, all_good;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all_good) {
        run(&options, grid, rank);
    } else {
        status = EXIT_MEMORY;
        if (rank == 0)
            fprintf(stderr, "halo: no memory for the plate; try a smaller --side\n");
    }
    grid_destroy(grid);
    MPI_Comm_free(&plate);
    MPI_Finalize();
    return status;
}
