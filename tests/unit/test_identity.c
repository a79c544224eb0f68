/* The identity of a rank: environments of launchers, also nested ones; what counts as a launcher;
 * and a rank's place in a directory. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank/run/identity.h"
#include "rank/run/rankenv.h"

static void clear_variables(void)
{
    static const char *const others[] = {"SLURM_JOB_ID",
                                         "SLURM_STEP_ID",
                                         "LOCAL_WORLD_SIZE",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "MS_SCHED_HOST",
                                         "MS_SCHED_PORT",
                                         "PMI_SPAWNED",
                                         "MPI_LOCALNRANKS",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "TORCHELASTIC_RESTART_COUNT",
                                         "TORCHELASTIC_ERROR_FILE"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        unsetenv(others[i]);
    for (enum pw_rank_row row = 0; row < PW_RANK_ROWS; row++) {
        const struct pw_rank_names *names = pw_rank_names(row);
        const char *const all[] = {names->rank, names->size, names->local, names->job};
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            if (*all[i])
                unsetenv(all[i]);
    }
}

/* The environment has exactly these variables of launchers: "NAME=VALUE NAME=VALUE ...". */
static void set_variables(const char *variables)
{
    char text[1024], *rest = text, *word;
    clear_variables();
    snprintf(text, sizeof(text), "%s", variables);
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        *value = '\0';
        setenv(word, value + 1, 1);
    }
}

static struct pw_identity identify_hinted(const char *variables, const char *launch,
                                          const char *had)
{
    struct pw_identity id;
    set_variables(variables);
    pw_identity_find(&id, &(struct pw_identity_hints){
                              .root = "", .hostname = "node-a", .launch = launch, .had = had});
    return id;
}

static struct pw_identity identify(const char *variables)
{
    return identify_hinted(variables, NULL, NULL);
}

static void assert_is(const struct pw_identity *id, int rank, int size, int local, const char *job,
                      int may_repeat)
{
    assert_int_equal(id->launched, 1);
    assert_int_equal(id->rank, rank);
    assert_int_equal(id->size, size);
    assert_int_equal(id->local_rank, local);
    if (job)
        assert_string_equal(id->job, job);
    assert_int_equal(id->job_may_repeat, may_repeat);
}

#define SRUN "SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1 SLURM_JOB_ID=991 SLURM_STEP_ID=4 "
#define BATCH "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_JOB_ID=991 "

static void assert_identified(const char *variables, int rank, int size, int local, const char *job,
                              int may_repeat)
{
    const struct pw_identity id = identify(variables);
    assert_is(&id, rank, size, local, job, may_repeat);
}

/* Whether all ranks are on this host is known only where the launcher tells it. */
static void test_one_host(void **state)
{
    (void)state;
    const struct {
        const char *variables;
        int local_size, is_one_host;
    } rows[] = {
        {"", 1, 1},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4", 4, 1},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", 2, 0},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1", 4, 0},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=5", 4, 0},
        {SRUN, 8, 0},
        {SRUN " SLURM_STEP_NUM_NODES=1", 8, 1},
        {SRUN " SLURM_STEP_NUM_NODES=2", 8, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct pw_identity id = identify(rows[i].variables);
        assert_int_equal(id.local_size, rows[i].local_size);
        assert_int_equal(id.is_one_host, rows[i].is_one_host);
    }
}

static void test_each_launcher_alone(void **state)
{
    (void)state;
    assert_identified(SRUN, 5, 8, 1, "991.4", 0);
    assert_identified("MS_NODE_ID=3 MS_WORKER_NUM=8 MS_ROLE=MS_WORKER MS_SCHED_HOST=10.0.0.1 "
                      "MS_SCHED_PORT=8118",
                      3, 8, 0, "10.0.0.1-8118", 1);
    assert_identified("RANK_ID=2 RANK_SIZE=4 DEVICE_ID=1", 2, 4, 1, "job", 1);
    assert_identified("PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1", 1, 2, 1, "job", 1);
    assert_identified("PALS_RANKID=7 PMI_RANK=7 PMI_SIZE=9 PALS_LOCAL_RANKID=3 PALS_APID=a-1", 7, 9,
                      3, "a-1", 0);
    assert_identified("FLUX_TASK_RANK=4 FLUX_JOB_SIZE=6 FLUX_TASK_LOCAL_ID=2 FLUX_JOB_ID=f2bX "
                      "PMI_RANK=4 PMI_SIZE=6",
                      4, 6, 2, "f2bX", 0);
    assert_identified("PMIX_RANK=1 PMIX_JOB_SIZE=4 PMIX_NAMESPACE=psc-1", 1, 4, 0, "psc-1", 0);
    assert_int_equal(identify("PMIX_RANK=1 PMIX_NAMESPACE=psc-1").launched, 0); /* of how many? */
    /* msrun's scheduler is no rank. */
    assert_int_equal(identify("MS_WORKER_NUM=8 MS_ROLE=MS_SCHED").launched, 0);
    assert_int_equal(
        identify("MS_WORKER_NUM=8 MS_ROLE=MS_SCHED RANK_ID=0 RANK_SIZE=8 DEVICE_ID=0").launched, 0);
}

static void test_torchrun(void **state)
{
    (void)state;
    static const char alone[] =
        "RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=localhost "
        "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 "
        "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_a/none_b/attempt_0/1/error.json";
    char other[600];
    struct pw_identity first = identify(alone);
    assert_is(&first, 1, 4, 1, NULL, 0);
    assert_memory_equal(first.job, "torchrun-", 9);
    /* Another rank, and a restart, are of the same job. */
    snprintf(other, sizeof(other), "%s", alone);
    memcpy(strstr(other, "attempt_0/1"), "attempt_2/3", 11);
    memcpy(strstr(other, "COUNT=0"), "COUNT=2", 7);
    memcpy(strstr(other, "RANK=1"), "RANK=3", 6);
    struct pw_identity restarted = identify(other);
    assert_is(&restarted, 3, 4, 1, first.job, 0);
    assert_int_equal(restarted.restart, 2);
    /* Another torchrun is another job, with the same address and port. */
    memcpy(strstr(other, "none_b"), "none_c", 6);
    assert_string_not_equal(identify(other).job, first.job);
    /* On several hosts, only what the hosts share counts. */
    struct pw_identity id =
        identify("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node-1 "
                 "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none");
    assert_is(&id, 5, 8, 1, "torchrun-node-1-29500", 1);
    id = identify("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node-1 "
                  "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=mine");
    assert_is(&id, 5, 8, 1, "mine", 1);
}

/* The innermost launcher wins; what is left of others, and what a script exported, does not. */
static void test_launchers_inside_each_other(void **state)
{
    (void)state;
    struct pw_identity id =
        identify("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=991 SLURM_STEP_ID=4 "
                 "RANK=6 WORLD_SIZE=8 LOCAL_RANK=2 LOCAL_WORLD_SIZE=4 MASTER_ADDR=n1 "
                 "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none");
    assert_is(&id, 6, 8, 2, "991-torchrun-n1-29500", 1); /* torchrun in srun, 2 nodes */
    id = identify(BATCH "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 "
                        "OMPI_COMM_WORLD_LOCAL_RANK=3 PMIX_RANK=3 PMIX_NAMESPACE=17.1");
    assert_is(&id, 3, 4, 3, "991-17.1", 0); /* mpirun in sbatch */
    id = identify("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "
                  "PMIX_NAMESPACE=17.1 RANK=7 WORLD_SIZE=8 LOCAL_RANK=3 TORCHELASTIC_RUN_ID=t");
    assert_is(&id, 7, 8, 3, "t", 1); /* torchrun in mpirun */
    id = identify("RANK=1 WORLD_SIZE=2 MASTER_ADDR=m MASTER_PORT=2 OMPI_COMM_WORLD_RANK=5 "
                  "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_NAMESPACE=17.1");
    assert_is(&id, 5, 8, 1, "17.1", 0); /* mpirun in a pod of Kubernetes */
    assert_non_null(strstr(id.contradiction, "RANK is 1 of 2"));
    id = identify(SRUN "RANK=5 WORLD_SIZE=8"); /* export RANK=$SLURM_PROCID in the task */
    assert_is(&id, 5, 8, 1, "991.4", 0);
    assert_string_equal(id.contradiction, "");
    id = identify(SRUN "RANK=0 WORLD_SIZE=8"); /* the same in the batch script */
    assert_is(&id, 5, 8, 1, "991.4", 0);
    assert_non_null(strstr(id.contradiction, "SLURM_PROCID is 5 of 8"));
    id = identify(SRUN "PMI_RANK=5 PMI_SIZE=8 PMI_JOBID=991.4"); /* srun --mpi=pmi2 */
    assert_is(&id, 5, 8, 1, "991.4", 0);
    id = identify(BATCH "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=2"); /* mpiexec in sbatch */
    assert_is(&id, 2, 4, 2, "991-job", 1);
    id = identify(BATCH "RANK=2 WORLD_SIZE=4"); /* a loop in a batch script */
    assert_is(&id, 2, 4, 0, "991-job", 1);
}

static void test_no_launcher(void **state)
{
    (void)state;
    struct pw_identity id = identify("");
    assert_int_equal(id.launched, 0);
    assert_int_equal(id.job_may_repeat, 0);
    id = identify(BATCH); /* no task: the script itself */
    assert_int_equal(id.launched, 0);
    assert_int_equal(id.size, 1);
    assert_memory_equal(id.job, "991-", 4);
    id = identify(BATCH "SLURM_STEP_ID=4294967291"); /* Slurm's number for the batch script */
    assert_int_equal(id.launched, 0);
    id = identify("RANK=4 WORLD_SIZE=4");
    assert_int_equal(id.launched, 0);
    assert_string_equal(id.contradiction, "RANK is 4, but WORLD_SIZE is 4");
}

static void test_address_and_port_only(void **state)
{
    (void)state;
    struct pw_identity id =
        identify("RANK=1 WORLD_SIZE=4 MASTER_ADDR=job-master-0 MASTER_PORT=23456");
    assert_is(&id, 1, 4, 0, "job-master-0-23456", 1);
    id = identify("RANK=1 WORLD_SIZE=4");
    assert_is(&id, 1, 4, 0, "job", 1);
    /* One launch has one job without a name: its own. */
    id = identify_hinted("RANK=1 WORLD_SIZE=4", "5f-a", "");
    assert_is(&id, 1, 4, 0, "5f-a", 0);
}

/* Under `profwrap LAUNCHER` it is known what the launcher itself had. */
static void test_what_the_launcher_had_is_left_out(void **state)
{
    (void)state;
    static const char pod[] = "RANK=1\x1eWORLD_SIZE=2\x1e";
    struct pw_identity id = identify_hinted("RANK=1 WORLD_SIZE=2", "l", pod);
    assert_int_equal(id.launched, 0);
    /* torchrun with one process on each of the two: the same numbers, and more. */
    id = identify_hinted("RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 TORCHELASTIC_RUN_ID=t", "l", pod);
    assert_is(&id, 1, 2, 0, "t", 1);
    id = identify_hinted("RANK=1 WORLD_SIZE=20", "l", pod);
    assert_is(&id, 1, 20, 0, "l", 0);
    id = identify_hinted("RANK=12 WORLD_SIZE=20", "l", "WORLD_SIZE=20\x1eRANK=1\x1f-q");
    assert_is(&id, 12, 20, 0, "l", 0);
    id = identify_hinted(SRUN "RANK=1 WORLD_SIZE=2", "l",
                         "SLURM_PROCID=5\x1eSLURM_NTASKS=8\x1eSLURM_LOCALID=1\x1eSLURM_STEP_ID=4");
    assert_is(&id, 1, 2, 0, NULL, 0);
}

/* A process in the directory that stands for the root; `words` are separated by blanks. */
static void make_process(void **state, int pid, int parent, const char *words)
{
    char path[UNIT_PATH], name[64], text[256];
    snprintf(name, sizeof(name), "proc/%d", pid);
    mkdir(unit_path(path, state, "proc"), 0700);
    assert_int_equal(mkdir(unit_path(path, state, name), 0700), 0);
    snprintf(name, sizeof(name), "proc/%d/stat", pid);
    const int length = snprintf(text, sizeof(text), "%d (a) b) S %d 1 1 0", pid, parent);
    unit_write(unit_path(path, state, name), text, (size_t)length, 0600);
    snprintf(name, sizeof(name), "proc/%d/cmdline", pid);
    const size_t size = (size_t)snprintf(text, sizeof(text), "%s", words) + 1;
    for (size_t i = 0; i < size; i++)
        if (text[i] == ' ')
            text[i] = '\0';
    unit_write(unit_path(path, state, name), text, size, 0600);
}

static void assert_hydra(void **state, int pid, const char *wanted)
{
    char name[64];
    pw_hydra_name(*state, pid, name, sizeof(name));
    assert_string_equal(name, wanted);
}

/* Hydra names its jobs nowhere: its proxies, one on each host, all know their mpiexec. */
static void test_hydra(void **state)
{
    make_process(state, 1, 0, "init");
    make_process(state, 7, 1, "/opt/bin/hydra_pmi_proxy --control-port node-1:35001 --pgid 0");
    make_process(state, 8, 7, "sh -c ./a");
    make_process(state, 9, 8, "numactl ./a");
    assert_hydra(state, 7, "node-1-35001");
    assert_hydra(state, 9, "node-1-35001");
    make_process(state, 17, 1, "hydra_pmi_proxy --pgid 2 --control-port node-1:35001");
    make_process(state, 18, 17, "./child"); /* of MPI_Comm_spawn */
    assert_hydra(state, 18, "node-1-35001-2");
    make_process(state, 27, 1, "hydra_pmi_proxy --control-port");
    assert_hydra(state, 27, "");
    make_process(state, 28, 1, "./a --control-port b:1");
    assert_hydra(state, 28, "");
    assert_hydra(state, 99, ""); /* has ended */
}

static void assert_job_below_hydra(void **state, const char *variables, const char *wanted)
{
    struct pw_identity id;
    set_variables(variables);
    pw_identity_find(&id, &(struct pw_identity_hints){.root = *state, .hostname = "node-a"});
    assert_string_equal(id.job, wanted);
    assert_int_equal(id.job_may_repeat, 1);
}

/* The proxy of MPICH 5 has the same command line for processes that MPI_Comm_spawn starts. */
static void test_spawned_below_the_same_proxy(void **state)
{
    make_process(state, (int)getppid(), 1,
                 "hydra_pmi_proxy --control-port node-1:35001 --pgid 0 --proxy-id 0");
    assert_job_below_hydra(state, "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1", "hydra-node-1-35001");
    assert_job_below_hydra(state, "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 PMI_SPAWNED=1",
                           "hydra-spawned2-node-1-35001");
    assert_job_below_hydra(state, "PMI_RANK=1 PMI_SIZE=3 MPI_LOCALRANKID=1 PMI_SPAWNED=1",
                           "hydra-spawned3-node-1-35001");
}

static int is_launcher(const char *command)
{
    char text[512], *rest = text, *argv[16];
    int n = 0;
    snprintf(text, sizeof(text), "%s", command);
    while (n < 15 && (argv[n] = strtok_r(rest, " ", &rest)))
        n++;
    argv[n] = NULL;
    return pw_rank_is_launcher(argv);
}

static void test_launchers_are_recognised(void **state)
{
    (void)state;
    static const char *const launchers[] = {"mpirun -np 4 ./a",
                                            "/opt/openmpi/bin/mpiexec",
                                            "orterun",
                                            "prterun",
                                            "srun -n 2 ./a",
                                            "torchrun t.py",
                                            "python /venv/bin/torchrun t.py",
                                            "python3.11 -m torch.distributed.run",
                                            "python -u -X dev -m torch.distributed.launch t.py",
                                            "accelerate launch t.py",
                                            "python -maccelerate.commands.launch",
                                            "/v/bin/python3 /v/bin/accelerate launch t.py",
                                            "deepspeed t.py",
                                            "msrun --worker_num=8 t.py",
                                            "flux run -n 4 ./a",
                                            "/usr/bin/env python3 /v/bin/torchrun t.py",
                                            "env A=b -u C mpirun",
                                            "bash /opt/mpirun -np 2"};
    static const char *const others[] = {"",
                                         "./a",
                                         "python t.py",
                                         "python",
                                         "python -c torchrun",
                                         "python -m torch",
                                         "python -m",
                                         "python -W ignore t.py torchrun",
                                         "accelerate config",
                                         "accelerate",
                                         "bash",
                                         "env",
                                         "bash -c mpirun",
                                         "./mpirun.py",
                                         "mpirunner",
                                         "python -X"};
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
        if (!is_launcher(launchers[i]))
            fail_msg("%s is a launcher", launchers[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (is_launcher(others[i]))
            fail_msg("%s is none", others[i]);
}

static const struct pw_identity ranks[] = {
    {.rank = 0, .size = 3, .job_may_repeat = 1, .clock_domain_hash = 7},
    {.rank = 1, .size = 3, .job_may_repeat = 1, .clock_domain_hash = 7},
    {.rank = 2, .size = 3, .job_may_repeat = 1, .clock_domain_hash = 7},
};

static void test_each_place_is_taken_once(void **state)
{
    int other = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pw_claim_take(*state, &ranks[i], &other), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pw_claim_take(*state, &ranks[i], &other), -EEXIST);
}

static void test_merged_job_is_over(void **state)
{
    char path[UNIT_PATH];
    int other = 0;
    unit_write(unit_path(path, state, "cluster.h5"), "", 0, 0600);
    assert_int_equal(pw_claim_take(*state, &ranks[0], &other), -EEXIST);
}

/* By a process that has ended. */
static void take_and_end(const char *dir, const struct pw_identity *id)
{
    int other, status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(pw_claim_take(dir, id, &other) ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The next job does not take the places that a job leaves whose rank was killed. */
static void test_killed_rank_closes_the_directory(void **state)
{
    char path[UNIT_PATH];
    int other = 0;
    take_and_end(*state, &ranks[0]);
    assert_int_equal(pw_claim_take(*state, &ranks[1], &other), -EEXIST);
    /* It ended in order, just now: a short program. */
    unit_write(unit_path(path, state, "rank-00000.h5"), "", 0, 0600);
    assert_int_equal(pw_claim_take(*state, &ranks[1], &other), 0);
    /* Long ago. */
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    assert_int_equal(pw_claim_take(*state, &ranks[2], &other), -EEXIST);
}

/* Only times are known from another host. */
static void test_rank_of_another_host(void **state)
{
    char path[UNIT_PATH];
    struct pw_identity far = ranks[0];
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    int other = 0;
    far.clock_domain_hash = 8;
    take_and_end(*state, &far);
    assert_int_equal(pw_claim_take(*state, &ranks[1], &other), 0);
    unit_path(path, state, ".rank-00000");
    assert_int_equal(utimensat(AT_FDCWD, path, then, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(pw_claim_take(*state, &ranks[2], &other), -EEXIST);
    unit_write(unit_path(path, state, "rank-00000.journal"), "", 0, 0600); /* it writes */
    assert_int_equal(pw_claim_take(*state, &ranks[2], &other), 0);
}

static void test_sizes_that_contradict(void **state)
{
    struct pw_identity wrong = ranks[1];
    int other = 0;
    assert_int_equal(pw_claim_take(*state, &ranks[0], &other), 0);
    wrong.size = 5;
    assert_int_equal(pw_claim_take(*state, &wrong, &other), -EPROTO);
    assert_int_equal(other, 3);
    wrong.rank = 2;
    assert_int_equal(pw_claim_take(*state, &wrong, &other), -EPROTO);
    assert_int_equal(other, 0);                                    /* it was said */
    assert_int_equal(pw_claim_take(*state, &ranks[1], &other), 0); /* its place is free */
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, unit_dir_create, unit_dir_destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_host),
        cmocka_unit_test(test_each_launcher_alone),
        cmocka_unit_test(test_torchrun),
        cmocka_unit_test(test_launchers_inside_each_other),
        cmocka_unit_test(test_no_launcher),
        cmocka_unit_test(test_address_and_port_only),
        cmocka_unit_test(test_what_the_launcher_had_is_left_out),
        IN_DIR(test_hydra),
        IN_DIR(test_spawned_below_the_same_proxy),
        cmocka_unit_test(test_launchers_are_recognised),
        IN_DIR(test_each_place_is_taken_once),
        IN_DIR(test_merged_job_is_over),
        IN_DIR(test_killed_rank_closes_the_directory),
        IN_DIR(test_rank_of_another_host),
        IN_DIR(test_sizes_that_contradict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
