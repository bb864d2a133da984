/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress bar: phase, bar, percent and time left on one line of standard error, shown only on
 * a terminal and only for work that lasts.
 *
 * The library says where it is now and then; a thread draws each second besides, so that a phase
 * that says nothing for a minute still shows that time goes by. The last words about the phase also
 * stand in what an interruption says. */
#include "cli.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, PHASE = 28, NARROW = PHASE + BAR + 26 };
static const double first_after = 0.4;  /* seconds; shorter work shows nothing */
static const double redraw_after = 0.1; /* seconds between two drawings */
static const char erase[] = "\r\033[K";

static struct {
    bool enabled;
    char phase[PHASE + 1];
    double started, phase_started, drawn;
    double done;      /* share of the phase, when it was last told; negative: not known */
    double told;      /* when that was */
    double left;      /* seconds, as it seemed then; negative: not known */
    bool active;      /* something is going on, and nothing else is being printed */
    pthread_t thread; /* draws each second */
    bool has_thread, ending;
    pthread_mutex_t lock; /* of all this */
    pthread_cond_t end;
} bar = {.lock = PTHREAD_MUTEX_INITIALIZER};
static volatile sig_atomic_t shown;
static double begun; /* when the command was; 0: not yet */

void cli_progress_enable(bool enabled)
{
    const char *terminal = getenv("TERM");
    bar.enabled = enabled && isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
    bar.started = 0;
    begun = cli_now();
}

/* "12 s left", "more than 73 s left" once that is over; "" while it is not known. */
static void write_time_left(double now, char *out, size_t size)
{
    const double left = bar.left - (now - bar.told);
    out[0] = 0;
    if (bar.left >= 0)
        snprintf(out, size, ", %s%s left", left > 0 ? "" : "more than ",
                 cli_text_seconds(ceil(left > 0 ? left : bar.left)).text);
}

static void draw(double now)
{
    char text[256], left[64];
    bar.drawn = now;
    if (bar.done >= 0) {
        const double share = bar.done > 1 ? 1 : bar.done;
        /* A line that wraps could not be erased: on a narrow terminal the bar goes. */
        const bool narrow = cli_terminal_width_of(STDERR_FILENO) < NARROW;
        char *filled = narrow ? cli_copy("") : cli_bar(share, BAR);
        write_time_left(now, left, sizeof left);
        snprintf(text, sizeof text, "%s%-*s %s %3.0f %%%s", erase, narrow ? 0 : PHASE, bar.phase,
                 filled, 100 * share, left);
        free(filled);
    } else {
        snprintf(text, sizeof text, "%s%-*s %s", erase, PHASE, bar.phase,
                 cli_text_seconds(ceil(now - bar.phase_started)).text);
    }
    shown = 1;
    fputs(text, stderr);
    fflush(stderr);
}

static void *tick(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&bar.lock);
    while (!bar.ending) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&bar.end, &bar.lock, &until);
        const double now = cli_now();
        if (!bar.ending && bar.active && now - bar.started >= first_after &&
            now - bar.drawn >= redraw_after)
            draw(now);
    }
    pthread_mutex_unlock(&bar.lock);
    return NULL;
}

/* Signals are for the thread that works. */
static void start_thread(void)
{
    sigset_t all, before;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&bar.end, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bar.has_thread = pthread_create(&bar.thread, NULL, tick, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_progress(void *host, const char *phase, double done)
{
    (void)host;
    const double now = cli_now();
    if (bar.enabled && !bar.has_thread)
        start_thread();
    pthread_mutex_lock(&bar.lock);
    if (bar.started == 0)
        bar.started = now;
    if (strncmp(bar.phase, phase, PHASE) != 0) {
        snprintf(bar.phase, sizeof bar.phase, "%s", phase);
        bar.phase_started = now;
    }
    const double spent = now - bar.phase_started;
    bar.told = now;
    bar.done = done;
    bar.left = done > 0.01 && done < 1 && spent > 1 ? spent * (1 - done) / done : -1;
    bar.active = true;
    if (bar.enabled && now - bar.started >= first_after && now - bar.drawn >= redraw_after)
        draw(now);
    pthread_mutex_unlock(&bar.lock);
}

void cli_progress_clear(void)
{
    pthread_mutex_lock(&bar.lock);
    bar.active = false;
    if (shown) {
        fputs(erase, stderr);
        fflush(stderr);
        shown = 0;
    }
    pthread_mutex_unlock(&bar.lock);
}

void cli_progress_end(void)
{
    cli_progress_clear();
    if (!bar.has_thread)
        return;
    pthread_mutex_lock(&bar.lock);
    bar.ending = true;
    pthread_cond_signal(&bar.end);
    pthread_mutex_unlock(&bar.lock);
    pthread_join(bar.thread, NULL);
    bar.has_thread = false;
}

void cli_progress_clear_in_handler(void)
{
    if (shown && write(STDERR_FILENO, erase, sizeof erase - 1) < 0)
        return; /* the terminal is gone; so are we in a moment */
    shown = 0;
}

/* ---- what an interruption says ---- */

static char notes[2][256] = {"; nothing was written"};
static volatile sig_atomic_t note; /* which of them holds */

void cli_interrupt_note(const char *text)
{
    char *other = notes[1 - note];
    snprintf(other, sizeof notes[0], "%s%s", *text ? "; " : "", text);
    cli_clean(other);
    note = 1 - note;
}

/* Only calls that a signal handler may make. */
static size_t add(char *line, size_t used, size_t size, const char *text)
{
    while (*text && used + 1 < size)
        line[used++] = *text++;
    return used;
}

void cli_interrupt_tell(void)
{
    char line[512], digits[16];
    size_t used = 0, at = sizeof digits - 1;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double spent = begun > 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - begun : 0;
    unsigned long seconds = spent > 0 && spent < 1e9 ? (unsigned long)spent : 0;
    digits[at] = 0;
    do
        digits[--at] = (char)('0' + seconds % 10);
    while ((seconds /= 10) && at > 0);
    used = add(line, used, sizeof line, "mercer: interrupted after ");
    used = add(line, used, sizeof line, digits + at);
    used = add(line, used, sizeof line, " s");
    if (bar.phase[0]) {
        used = add(line, used, sizeof line, " (");
        used = add(line, used, sizeof line, bar.phase);
        used = add(line, used, sizeof line, ")");
    }
    used = add(line, used, sizeof line, notes[note]);
    used = add(line, used, sizeof line, "\n");
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* nobody is there to be told */
}
