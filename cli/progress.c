/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress bar: phase, bar, percent and time left on one line of standard error, shown only on
 * a terminal and only for work that lasts. */
#include "cli.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 24, PHASE = 28, NARROW = PHASE + BAR + 26 };
static const double first_after = 0.4;  /* seconds; shorter work shows nothing */
static const double redraw_after = 0.1; /* seconds between two drawings */
static const char erase[] = "\r\033[K";

static struct {
    bool enabled;
    char phase[PHASE + 1];
    double started, phase_started, drawn;
} bar;
static volatile sig_atomic_t shown;

void cli_progress_enable(bool enabled)
{
    const char *terminal = getenv("TERM");
    bar.enabled = enabled && isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
    bar.started = 0;
}

void cli_progress(void *host, const char *phase, double done)
{
    (void)host;
    if (!bar.enabled)
        return;
    const double now = cli_now();
    if (bar.started == 0)
        bar.started = now;
    if (strncmp(bar.phase, phase, PHASE) != 0) {
        snprintf(bar.phase, sizeof bar.phase, "%s", phase);
        bar.phase_started = now;
    }
    if (now - bar.started < first_after || now - bar.drawn < redraw_after)
        return;
    bar.drawn = now;

    const double spent = now - bar.phase_started;
    char text[256];
    if (done >= 0) {
        const double share = done > 1 ? 1 : done;
        /* A line that wraps could not be erased: on a narrow terminal the bar goes. */
        const bool narrow = cli_terminal_width_of(STDERR_FILENO) < NARROW;
        char *filled = narrow ? cli_copy("") : cli_bar(share, BAR);
        cli_text left = {""};
        if (share > 0.01 && share < 1 && spent > 1)
            left = cli_text_seconds(ceil(spent * (1 - share) / share));
        snprintf(text, sizeof text, "%s%-*s %s %3.0f %%%s%s%s", erase, narrow ? 0 : PHASE,
                 bar.phase, filled, 100 * share, left.text[0] ? ", " : "", left.text,
                 left.text[0] ? " left" : "");
        free(filled);
    } else {
        snprintf(text, sizeof text, "%s%-*s %s", erase, PHASE, bar.phase,
                 cli_text_seconds(ceil(spent)).text);
    }
    shown = 1;
    fputs(text, stderr);
    fflush(stderr);
}

void cli_progress_clear(void)
{
    if (!shown)
        return;
    fputs(erase, stderr);
    fflush(stderr);
    shown = 0;
}

void cli_progress_clear_in_handler(void)
{
    if (shown && write(STDERR_FILENO, erase, sizeof erase - 1) < 0)
        return; /* the terminal is gone; so are we in a moment */
    shown = 0;
}
