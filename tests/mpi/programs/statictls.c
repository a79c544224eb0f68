/* A library that takes 64 bytes of static thread-local storage: some copies of it use up what the
 * loader has. */
__attribute__((visibility("default"))) char *statictls(void);

static _Thread_local char taken[64] __attribute__((tls_model("initial-exec")));

char *statictls(void)
{
    return taken;
}
