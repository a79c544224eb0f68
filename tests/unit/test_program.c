/* Who we are, what the program is, how it is started and how it ends. */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/run/identity.h"
#include "rank/run/launch.h"
#include "rank/run/program.h"

static const char *const launcher_variables[] = {"OMPI_COMM_WORLD_RANK",
                                                 "OMPI_COMM_WORLD_SIZE",
                                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                                 "PMIX_NAMESPACE",
                                                 "PMI_RANK",
                                                 "PMI_SIZE",
                                                 "MPI_LOCALRANKID",
                                                 "PMI_JOBID",
                                                 "SLURM_PROCID",
                                                 "SLURM_NTASKS",
                                                 "SLURM_LOCALID",
                                                 "SLURM_JOB_ID",
                                                 "SLURM_STEP_ID",
                                                 "RANK",
                                                 "WORLD_SIZE",
                                                 "LOCAL_RANK",
                                                 "TORCHELASTIC_RUN_ID",
                                                 NULL};

/* The identity under exactly these variables: name, value, name, value, ..., NULL. */
static struct pw_identity identify(const char *const *pairs)
{
    struct pw_identity id;
    for (size_t i = 0; launcher_variables[i]; i++)
        unsetenv(launcher_variables[i]);
    for (; pairs[0]; pairs += 2)
        setenv(pairs[0], pairs[1], 1);
    pw_identity_find(&id, &(struct pw_identity_hints){.root = "", .hostname = "node-a"});
    return id;
}

#define IDENTIFY(...) identify((const char *const[]){__VA_ARGS__, NULL})

static void assert_rank(const struct pw_identity *id, int rank, int size, int local,
                        const char *job)
{
    assert_int_equal(id->launched, 1);
    assert_int_equal(id->rank, rank);
    assert_int_equal(id->size, size);
    assert_int_equal(id->local_rank, local);
    assert_string_equal(id->job, job);
}

static void test_launchers(void **state)
{
    (void)state;
    struct pw_identity id =
        IDENTIFY("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "8",
                 "OMPI_COMM_WORLD_LOCAL_RANK", "1", "PMIX_NAMESPACE", "prterun-a-17@1");
    assert_rank(&id, 3, 8, 1, "prterun-a-17_1"); /* fit for a file name */
    id = IDENTIFY("PMI_RANK", "0", "PMI_SIZE", "2", "MPI_LOCALRANKID", "0", "PMI_JOBID", "k");
    assert_rank(&id, 0, 2, 0, "k");
    id = IDENTIFY("SLURM_PROCID", "5", "SLURM_NTASKS", "6", "SLURM_LOCALID", "2", "SLURM_JOB_ID",
                  "991", "SLURM_STEP_ID", "4");
    assert_rank(&id, 5, 6, 2, "991.4");
    id = IDENTIFY("RANK", "1", "WORLD_SIZE", "4", "LOCAL_RANK", "1", "TORCHELASTIC_RUN_ID", "t");
    assert_rank(&id, 1, 4, 1, "t");
    /* mpirun inside a Slurm job: Open MPI's rank, both jobs' names. */
    id = IDENTIFY("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "PMIX_NAMESPACE", "n",
                  "SLURM_PROCID", "0", "SLURM_NTASKS", "1", "SLURM_JOB_ID", "7");
    assert_rank(&id, 1, 2, 0, "7-n");
}

static void test_nonsense_identity(void **state)
{
    (void)state;
    static const char *const ranks[] = {"", "x", "-1", "4", "1x", "99999999999999999999", "1 "};
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        struct pw_identity id = IDENTIFY("RANK", ranks[i], "WORLD_SIZE", "4");
        assert_int_equal(id.launched, 0);
        assert_int_equal(id.rank, 0);
        assert_int_equal(id.size, 1);
    }
    struct pw_identity id = IDENTIFY("RANK", "0", "WORLD_SIZE", "0");
    assert_int_equal(id.launched, 0);
    id = IDENTIFY("RANK", "2"); /* half of it */
    assert_int_equal(id.launched, 0);
    assert_true(id.job[0] != '\0');
    /* A launcher with half its variables does not hide the next. */
    id = IDENTIFY("OMPI_COMM_WORLD_RANK", "1", "RANK", "2", "WORLD_SIZE", "3",
                  "TORCHELASTIC_RUN_ID", "../../etc/x y");
    assert_int_equal(id.rank, 2);
    assert_null(strchr(id.job, '/'));
    char longest[300];
    memset(longest, 'j', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    id = IDENTIFY("RANK", "0", "WORLD_SIZE", "1", "TORCHELASTIC_RUN_ID", longest);
    assert_int_equal(strlen(id.job), 60);
}

static void test_host_and_clock_domain(void **state)
{
    struct pw_identity a, b;
    char path[UNIT_PATH];
    pw_identity_find(&a, &(struct pw_identity_hints){.root = ""});
    pw_identity_find(&b, &(struct pw_identity_hints){.root = "", .hostname = "elsewhere"});
    assert_true(a.hostname[0] != '\0');
    assert_string_equal(b.hostname, "elsewhere");
    assert_string_equal(a.clock_domain, b.clock_domain); /* one machine, whatever its name */
    assert_true(a.clock_domain_hash == b.clock_domain_hash);
    static const char *const dirs[] = {"proc", "proc/sys", "proc/sys/kernel",
                                       "proc/sys/kernel/random"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(mkdir(unit_path(path, state, dirs[i]), 0700), 0);
    unit_write(unit_path(path, state, "proc/sys/kernel/random/boot_id"), "another-boot\n", 13,
               0600);
    pw_identity_find(&b, &(struct pw_identity_hints){.root = *state});
    assert_memory_equal(b.clock_domain, "another-boot ", 13);
    assert_true(a.clock_domain_hash != b.clock_domain_hash);
    pw_identity_find(
        &b, &(struct pw_identity_hints){.root = "/nonexistent",
                                        .hostname = "h"}); /* no boot id: the host stands for it */
    assert_memory_equal(b.clock_domain, "h ", 2);
}

static void test_output_directory_is_expanded(void **state)
{
    (void)state;
    const struct pw_identity id = {.rank = 12, .job = "j1", .hostname = "n"};
    char out[32];
    assert_int_equal(pw_identity_expand(&id, "out-%j/%r.%h", out, sizeof(out)), 0);
    assert_string_equal(out, "out-j1/12.n");
    assert_int_equal(pw_identity_expand(&id, "%%j %x %", out, sizeof(out)), 0);
    assert_string_equal(out, "%j1 %x %");
    assert_int_equal(pw_identity_expand(&id, "", out, sizeof(out)), 0);
    assert_string_equal(out, "");
    assert_int_equal(pw_identity_expand(&id, "%j%j%r", out, 7), 0); /* 6 and the NUL */
    assert_string_equal(out, "j1j112");
    assert_int_equal(pw_identity_expand(&id, "%j%j%r", out, 6), -ENAMETOOLONG);
    assert_int_equal(pw_identity_expand(&id, "abc", out, 3), -ENAMETOOLONG);
}

static void test_program_is_found_in_the_path(void **state)
{
    char path[UNIT_PATH], dir[UNIT_PATH], file[UNIT_PATH], found[UNIT_PATH];
    assert_int_equal(mkdir(unit_path(dir, state, "bin"), 0700), 0);
    unit_write(unit_path(file, state, "bin/tool"), "#!/bin/sh\n", 10, 0700);
    unit_write(unit_path(path, state, "bin/data"), "x", 1, 0600);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(pw_program_find("tool", found, sizeof(found)), -ENOENT);
    char list[UNIT_PATH + 32];
    snprintf(list, sizeof(list), "/nonexistent:%s", dir);
    setenv("PATH", list, 1);
    assert_int_equal(pw_program_find("tool", found, sizeof(found)), 0);
    assert_string_equal(found, file);
    assert_int_equal(pw_program_find("data", found, sizeof(found)), -EACCES);
    assert_int_equal(pw_program_find("", found, sizeof(found)), -ENOENT);
    assert_int_equal(pw_program_find(file, found, sizeof(found)), 0);
    assert_int_equal(pw_program_find(dir, found, sizeof(found)), -EACCES); /* a directory */
    assert_int_equal(pw_program_find("./none", found, sizeof(found)), -ENOENT);
    strcat(file, "/x"); /* below a file */
    assert_int_equal(pw_program_find(file, found, sizeof(found)), -ENOENT);
    setenv("PATH", "/usr/bin:/bin", 1);
    assert_int_equal(pw_program_find("sh", found, sizeof(found)), 0);
}

static enum pw_program_kind inspect(void **state, const void *bytes, size_t size)
{
    char path[UNIT_PATH];
    unit_write(unit_path(path, state, "image"), bytes, size, 0700);
    return pw_program_inspect(path);
}

/* A dynamic executable of 64 bits that needs `library`, as small as it gets. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Dyn dynamic[4];
    char strings[64];
};

static struct image image_of(const char *library)
{
    struct image i = {
        .header = {.e_type = ET_DYN,
                   .e_phoff = offsetof(struct image, segments),
                   .e_phnum = 3,
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_ehsize = sizeof(Elf64_Ehdr)},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(i)},
                     {.p_type = PT_INTERP},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(struct image, dynamic),
                      .p_filesz = sizeof(i.dynamic)}},
        .dynamic = {{DT_NEEDED, {20}},
                    {DT_NEEDED, {1}},
                    {DT_STRTAB, {0x10000 + offsetof(struct image, strings)}}},
    };
    memcpy(i.header.e_ident, ELFMAG, SELFMAG);
    i.header.e_ident[EI_CLASS] = ELFCLASS64;
    i.header.e_ident[EI_DATA] = ELFDATA2LSB;
#if defined(__x86_64__)
    i.header.e_machine = EM_X86_64;
#elif defined(__aarch64__)
    i.header.e_machine = EM_AARCH64;
#endif
    strcpy(i.strings + 1, library);
    strcpy(i.strings + 20, "libc.so.6");
    return i;
}

static void test_inspect(void **state)
{
    struct image image = image_of("libmpi.so.40");
    assert_int_equal(inspect(state, &image, sizeof(image)), PW_PROGRAM_OK);
    image.segments[1].p_type = PT_NULL; /* no loader: nothing would preload */
    assert_int_equal(inspect(state, &image, sizeof(image)), PW_PROGRAM_STATIC);
    image = image_of("libm.so.6");
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(inspect(state, &image, sizeof(image)), PW_PROGRAM_OTHER_ARCH);
    image = image_of("libm.so.6");
    image.header.e_machine = EM_S390;
    assert_int_equal(inspect(state, &image, sizeof(image)), PW_PROGRAM_OTHER_ARCH);
    assert_int_equal(inspect(state, "#!/bin/sh\n", 10), PW_PROGRAM_OK);
    assert_int_equal(inspect(state, "", 0), PW_PROGRAM_OK);
    assert_int_equal(pw_program_inspect("/nonexistent"), PW_PROGRAM_OK);
    assert_int_equal(pw_program_inspect("/proc/self/exe"), PW_PROGRAM_OK);
}

static void test_inspect_static(void **state)
{
    (void)state;
#ifdef STATIC_PROGRAM
    assert_int_equal(pw_program_inspect(STATIC_PROGRAM), PW_PROGRAM_STATIC);
#else
    skip(); /* no static C library here */
#endif
}

/* Cut anywhere, or with random bytes in it: any answer will do, but there must be one. */
static void test_hostile_images(void **state)
{
    char path[UNIT_PATH];
    struct image image = image_of("libmpich.so.12");
    unit_path(path, state, "image");
    for (size_t size = 1; size < sizeof(image); size++) {
        unit_write(path, &image, size, 0700);
        assert_in_range(pw_program_inspect(path), 0, PW_PROGRAM_OTHER_ARCH);
    }
    uint64_t seed = 99;
    for (int round = 0; round < 3000; round++) {
        image = image_of("libmpich.so.12");
        for (uint64_t n = 1 + unit_random(&seed) % 4; n > 0; n--) {
            uint64_t where = unit_random(&seed) % (sizeof(image) - 16 - 8);
            uint64_t what = unit_random(&seed) >> (unit_random(&seed) % 64);
            memcpy((char *)&image + 16 + (where & ~UINT64_C(1)), &what, 2 << (what % 3));
        }
        unit_write(path, &image, sizeof(image), 0700);
        assert_in_range(pw_program_inspect(path), 0, PW_PROGRAM_OTHER_ARCH);
    }
}

static struct pw_lifeline *line;

/* Runs a command to its end; the status that a shell would see. */
static int run(const char *path, char **argv)
{
    const struct pw_launch launch = {.argv = argv, .lifeline = line};
    struct pw_exit end;
    pid_t pid = pw_launch_start(&launch, path);
    if (pid < 0)
        return pid;
    assert_int_equal(atomic_load(&line->program_pid), pid);
    while (!pw_launch_has_ended(line, &end))
        usleep(500);
    return pw_exit_status(&end);
}

static int run_shell(const char *script)
{
    return run("/bin/sh", (char *[]){"sh", "-c", (char *)script, NULL});
}

static void test_launch(void **state)
{
    char path[UNIT_PATH];
    assert_int_equal(run_shell("exit 0"), 0);
    assert_int_equal(run_shell("exit 3"), 3);
    assert_int_equal(run_shell("exit 255"), 255);
    assert_int_equal(run_shell("kill -KILL $$"), 128 + SIGKILL);
    assert_int_equal(run_shell("kill -TERM $$"), 128 + SIGTERM);
    assert_int_equal(run(unit_path(path, state, "none"), (char *[]){"x", NULL}), -ENOENT);
    unit_write(unit_path(path, state, "data"), "x", 1, 0600);
    assert_int_equal(run(path, (char *[]){"x", NULL}), -EACCES);
    unit_write(unit_path(path, state, "badshebang"), "#!/nonexistent\n", 15, 0700);
    assert_int_equal(run(path, (char *[]){"x", NULL}), -ENOENT);
    /* A script without #! gets its arguments from a shell. */
    unit_write(unit_path(path, state, "script"), "exit $(($1 + $#))\n", 18, 0700);
    assert_int_equal(run(path, (char *[]){"script", "40", "b", NULL}), 42);
    assert_int_equal(pw_exit_status(&(struct pw_exit){7, 0}), 7);
    assert_int_equal(pw_exit_status(&(struct pw_exit){-1, 9}), 137);
}

static void test_launch_environment(void **state)
{
    (void)state;
    struct pw_launch launch = {.probe = "/nonexistent-a.so", .segment = "/seg", .lifeline = line};
    struct pw_exit end;
    setenv("LD_PRELOAD", "/nonexistent-b.so", 1);
    launch.argv = (char *[]){"sh", "-c",
                             "[ \"$LD_PRELOAD\" = /nonexistent-a.so:/nonexistent-b.so ] && "
                             "[ \"$PROFWRAP_SEGMENT\" = /seg ]",
                             NULL};
    pid_t pid = pw_launch_start(&launch, "/bin/sh");
    assert_true(pid > 0);
    while (!pw_launch_has_ended(line, &end))
        usleep(500);
    assert_int_equal(end.code, 0);
    assert_string_equal(getenv("LD_PRELOAD"), "/nonexistent-b.so"); /* our own is untouched */
    unsetenv("LD_PRELOAD");
    assert_null(getenv("PROFWRAP_SEGMENT"));
}

/* Last: it changes this process's handlers. */
static void test_signals_are_relayed(void **state)
{
    (void)state;
    _Atomic uint32_t wake = 0;
    const struct pw_launch launch = {
        .argv = (char *[]){"sh", "-c", "trap 'exit 9' USR1; while :; do sleep 0.05; done", NULL},
        .lifeline = line};
    struct pw_exit end;
    pw_launch_outlive_signals(&wake); /* both processes in one: the later one decides */
    pw_launch_relay_signals(line);
    pid_t pid = pw_launch_start(&launch, "/bin/sh");
    assert_true(pid > 0);
    assert_int_equal(pw_launch_has_ended(line, &end), 0);
    usleep(200000); /* the shell sets its trap */
    raise(SIGUSR1);
    for (int i = 0; !pw_launch_has_ended(line, &end); i++) {
        assert_in_range(i, 0, 5000);
        pw_launch_sleep(&wake, atomic_load(&wake), 1000000);
    }
    assert_int_equal(end.code, 9);
    assert_true(atomic_load(&wake) > 0); /* by its end */
    assert_int_equal(pw_launch_end_requested(), 0);
    raise(SIGTERM); /* no program now: only noted */
    assert_int_equal(pw_launch_end_requested(), SIGTERM);
}

int main(void)
{
    line = pw_lifeline_create();
    if (!line)
        return 1;
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_launchers),
        UNIT_IN_DIR(test_nonsense_identity),
        UNIT_IN_DIR(test_host_and_clock_domain),
        UNIT_IN_DIR(test_output_directory_is_expanded),
        UNIT_IN_DIR(test_program_is_found_in_the_path),
        UNIT_IN_DIR(test_inspect),
        UNIT_IN_DIR(test_inspect_static),
        UNIT_IN_DIR(test_hostile_images),
        UNIT_IN_DIR(test_launch),
        UNIT_IN_DIR(test_launch_environment),
        UNIT_IN_DIR(test_signals_are_relayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
