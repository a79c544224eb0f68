/* `profwrap ctl metrics DIR`: a running job's figures for Prometheus, once; what serves them is a
 * program of its own (metrics_main.c), for its HTTP library brings TLS, which every `profwrap run`
 * would load at its start. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/ctl.h"
#include "cli/metrics_text.h"
#include "core/log.h"
#include "run/ask.h"

static int print_once(const char *dir, const sigset_t *ends)
{
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    pw_inquiry_init(&inquiry, dir);
    int status = pw_ctl_ask(&inquiry, &request, ends);
    if (!status && (pw_metrics_print(&inquiry, stdout) || fflush(stdout))) {
        pw_error("cannot write the metrics: %s", strerror(errno));
        status = 1;
    }
    pw_inquiry_fini(&inquiry);
    return status;
}

int pw_ctl_metrics(const char *dir, const struct pw_options *options)
{
    sigset_t ends;
    const char *listen = options->text[PW_OPT_CTL_LISTEN];
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    if (listen[0] || pw_option_flag(options, PW_OPT_CTL_SERVE))
        return pw_cli_serve_metrics(dir, listen, options->text[PW_OPT_CTL_TOKEN]);
    pw_ctl_block_signals(&ends);
    return print_once(dir, &ends);
}
