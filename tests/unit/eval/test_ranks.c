/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations and choices shared by ranks: the result of one rank in all bits on each of them, with
 * every kind of rows held out; errors of all ranks, of one, and of the table end the call. */
#include "ranks.h"

#include "base/memory.h"

#include <mercer/mercer.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 41, D = 3, GROUPS = 8 };

static double x[N * D], test_x[9 * D], y[N];
static int64_t codes[N], test_codes[9], group[N];
static const int64_t split_start[] = {0, 4, 9, 11},
                     split_rows[] = {1, 5, 9, 30, 0, 2, 4, 6, 8, 3, 40};
static const char *const two[] = {"left", "right"};

/* One way to evaluate. */
struct setting {
    const char *name, *method, *head, *metric, *scale, *tune[2];
    int64_t folds, repeats, inner;
    bool test, splits, groups, ordered, importance, choose, only_tune, values, targets;
};

static const struct setting settings[] = {
    {.name = "plain", .method = "kpca", .head = "ls", .targets = true},
    {.name = "tuned",
     .method = "kpls",
     .tune = {"kernel.sigma=0.5:4:*2", "components=1,2,3"},
     .choose = true,
     .targets = true},
    {.name = "repeated", .method = "kpls", .repeats = 3, .folds = 3, .targets = true},
    {.name = "one row each", .method = "kpls", .folds = MERCER_LEAVE_ONE_OUT, .targets = true},
    {.name = "test rows",
     .method = "kpls",
     .tune = {"kernel.sigma=0.5:4:*2"},
     .test = true,
     .targets = true},
    {.name = "test rows as given", .method = "kpls", .test = true, .targets = true},
    {.name = "splits",
     .method = "kpls",
     .splits = true,
     .tune = {"components=1:4:+1"},
     .inner = 3,
     .targets = true},
    {.name = "groups",
     .method = "kpls",
     .groups = true,
     .tune = {"components=1:4:+1"},
     .targets = true},
    {.name = "few groups",
     .method = "kpls",
     .groups = true,
     .folds = 3,
     .inner = 2,
     .tune = {"components=1:4:+1"},
     .targets = true},
    {.name = "time",
     .method = "kpls",
     .ordered = true,
     .tune = {"components=1:2:+1"},
     .values = true,
     .targets = true},
    {.name = "importance", .method = "kpls", .importance = true, .targets = true},
    {.name = "structure", .method = "kpca", .scale = "standard", .tune = {"kernel.sigma=1,3"}},
    {.name = "columns", .method = "kpca", .metric = "columns", .tune = {"components=1,2"}},
    {.name = "heads",
     .method = "kpca",
     .head = "knn",
     .tune = {"kernel.sigma=1,3", "head.k=1,3"},
     .targets = true},
    {.name = "choice",
     .method = "kpls",
     .tune = {"kernel.sigma=0.25:8:*2"},
     .only_tune = true,
     .targets = true},
    {.name = "choices that fail",
     .method = "kpca",
     .head = "svm:type=nu",
     .tune = {"head.nu=0.3,0.99"},
     .choose = true,
     .targets = true},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* How a rank fails in the middle of its trials. */
enum failure { NONE, ALLOCATION, JOURNAL, CANCELLED, FAILURES };

/* What a rank came to: the report, and every number of the folds. */
struct told {
    struct rank_world *world; /* with `paused` */
    int rank, threads;        /* 0: one */
    bool paused;              /* trials take some milliseconds more, and are counted: */
    int64_t trials, late;     /* those that were done, and since another rank told of a failure */
    int64_t kept;             /* trials in the journal, at the end */
    enum failure failure;     /* after two trials */
    const struct setting *setting;
    char *json;
    double *numbers;
    int64_t count;
    char notices[4096];
    double changed; /* added to a number of the rows of this rank */
    const char *journal;
    bool cancel;
    uint64_t random; /* the next number of the context */
};

static void keep_notice(void *host, const mercer_notice *notice)
{
    struct told *told = host;
    size_t used = strlen(told->notices);
    snprintf(told->notices + used, sizeof told->notices - used, "%s\n", notice->text);
}

/* No more can be written to the journal of a rank. */
static void fill_journal(const struct told *told)
{
    char wanted[96], path[64], name[128];
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int found = -1;
    snprintf(wanted, sizeof wanted, "%s.%d", told->journal, told->rank);
    for (int fd = 0; fd < 256 && found < 0; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, name, sizeof name - 1);
        if (length > 0 && (size_t)length == strlen(wanted) &&
            memcmp(name, wanted, (size_t)length) == 0)
            found = fd;
    }
    assert_true(full >= 0 && found >= 0);
    assert_int_equal(dup3(full, found, O_CLOEXEC), found);
    close(full);
}

static void count_trials(void *host, const char *phase, double done)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    struct told *told = host;
    struct rank_world *w = told->world;
    bool late = false;
    if (strcmp(phase, "fits") != 0 || done == 0)
        return;
    pthread_mutex_lock(&w->lock);
    for (int r = 0; r < w->size; r++)
        late = late || (r != told->rank && w->told[r] >= 0);
    pthread_mutex_unlock(&w->lock);
    told->late += late;
    if (++told->trials == 2 && told->failure == ALLOCATION)
        (void)mrc_alloc_fail_here(0);
    if (told->trials == 2 && told->failure == JOURNAL)
        fill_journal(told);
    nanosleep(&pause, NULL);
}

/* Whoever is asked whether to go on. */
static int cancel_after_trials(void *host)
{
    const struct told *told = host;
    return told->failure == CANCELLED && told->trials >= 2;
}

static void keep_numbers(struct told *told, const mercer_evaluation *e)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(e, &info);
    for (int64_t f = 0; f < info.folds; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, f, &fold);
        int64_t more = 4 + fold.rows * (2 + info.outputs);
        told->numbers = realloc(told->numbers, (size_t)(told->count + more) * sizeof(double));
        double *to = told->numbers + told->count;
        *to++ = fold.value;
        *to++ = isnan(fold.inner) ? -1 : fold.inner;
        *to++ = (double)fold.components;
        *to++ = (double)fold.points;
        for (int64_t i = 0; i < fold.rows; i++) {
            *to++ = (double)fold.row[i];
            *to++ = fold.codes ? (double)fold.codes[i] : -2;
            for (int64_t o = 0; o < info.outputs; o++)
                *to++ = fold.scores[i * info.outputs + o];
        }
        told->count += more;
    }
}

static mercer_status evaluate_here(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    struct told *told = rank->arg;
    const struct setting *s = told->setting;
    mercer_fit_options fit;
    mercer_evaluate_options options;
    mercer_rows *rows = NULL, *test = NULL;
    mercer_targets *targets = NULL, *test_targets = NULL;
    mercer_evaluation *e = NULL;
    mercer_status rc = MERCER_OK;
    double own[N * D];
    memcpy(own, x, sizeof own);
    own[7] += told->changed;
    mercer_ctx_set_notice(ctx, keep_notice, told);
    MRC_TRY(view_f64(ctx, own, N, D, D, &rows, err));
    MRC_TRY(view_f64(ctx, test_x, 9, D, D, &test, err));
    if (s->values)
        MRC_TRY(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
    else if (s->targets)
        MRC_TRY(mercer_targets_new_classes(codes, N, two, 2, NULL, &targets, err));
    MRC_TRY(mercer_targets_new_classes(test_codes, 9, two, 2, NULL, &test_targets, err));
    mercer_fit_options_init(&fit);
    fit.method = s->method;
    fit.kernel = "rbf:sigma=2";
    fit.head = s->head;
    fit.scale = s->scale;
    fit.components = 3;
    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    options.metric = s->metric;
    options.folds = s->folds;
    options.repeats = s->repeats;
    options.inner_folds = s->inner;
    options.tune = s->tune;
    options.tune_count = !s->tune[0] ? 0 : s->tune[1] ? 2 : 1;
    options.groups = s->groups ? group : NULL;
    options.ordered = s->ordered;
    options.importance = s->importance;
    options.choose = s->choose;
    options.journal = told->journal;
    if (s->test) {
        options.test = test;
        options.test_targets = test_targets;
    }
    if (s->splits) {
        options.splits = 3;
        options.split_start = split_start;
        options.split_rows = split_rows;
    }
    if (told->cancel)
        mercer_ctx_cancel(ctx);
    if (told->paused) {
        told->rank = rank->rank;
        told->world = rank->world;
        mercer_ctx_set_progress(ctx, count_trials, told);
        mercer_ctx_set_poll(ctx, cancel_after_trials, told);
        MRC_TRY(mercer_ctx_set_threads(ctx, told->threads > 1 ? told->threads : 1, err));
    }
    rc = (s->only_tune ? mercer_tune : mercer_evaluate)(ctx, &options, rows, targets, &e, err);
    assert_true((rc == MERCER_OK) == (e != NULL));
    told->random = mrc_rng_next(&ctx->rng);
    if (rc == MERCER_OK && rank->fail_alloc < 0) {
        MRC_TRY(mercer_evaluation_json(e, &told->json, err));
        keep_numbers(told, e);
    }
out:
    mercer_evaluation_free(e);
    mercer_targets_free(targets);
    mercer_targets_free(test_targets);
    mercer_rows_free(rows);
    mercer_rows_free(test);
    return rc == MERCER_OK ? rc : mercer_ctx_agree(ctx, rc, err);
}

static void told_free(struct told *told)
{
    mercer_free(told->json);
    free(told->numbers);
}

static int set_up(void **state)
{
    (void)state;
    double *normal = normal_rows(3, N + 9, D, 0, 1);
    for (int64_t i = 0; i < N + 9; i++) {
        int64_t code = i % 2;
        normal[i * D] += 1.5 * (double)code;
        if (i < N) {
            codes[i] = code;
            group[i] = i % GROUPS;
            y[i] = sin(normal[i * D]) + 0.1 * normal[i * D + 1];
        } else {
            test_codes[i - N] = code;
        }
    }
    memcpy(x, normal, sizeof x);
    memcpy(test_x, normal + (ptrdiff_t)N * D, sizeof test_x);
    free(normal);
    return 0;
}

/* Run a setting; told has world->size entries whose other members are the caller's. */
static void run(const struct setting *setting, struct rank_world *world, struct told *told,
                struct rank *ranks)
{
    for (int r = 0; r < world->size; r++) {
        told[r].setting = setting;
        ranks[r].arg = &told[r];
    }
    run_ranks(world, ranks, evaluate_here);
}

static void test_results_are_those_of_one_rank(void **state)
{
    static const int sizes[] = {2, 3, 4, 7};
    (void)state;
    for (int s = 0; s < SETTINGS; s++) {
        struct rank_world one = {.size = 1, .fail_rank = -1};
        struct rank first[MAX_RANKS] = {{.fail_alloc = -1}};
        struct told alone = {0};
        run(&settings[s], &one, &alone, first);
        if (first[0].rc != MERCER_OK)
            fail_msg("%s: %s", settings[s].name, first[0].why.text);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            struct rank_world world = {.size = sizes[k], .fail_rank = -1};
            struct rank ranks[MAX_RANKS] = {0};
            struct told told[MAX_RANKS] = {0};
            for (int r = 0; r < sizes[k]; r++)
                ranks[r].fail_alloc = -1;
            run(&settings[s], &world, told, ranks);
            for (int r = 0; r < sizes[k]; r++) {
                if (ranks[r].rc != MERCER_OK)
                    fail_msg("%s, rank %d: %s", settings[s].name, r, ranks[r].why.text);
                assert_string_equal(told[r].json, alone.json);
                assert_string_equal(told[r].notices, alone.notices);
                assert_true(told[r].count == alone.count);
                assert_memory_equal(told[r].numbers, alone.numbers,
                                    (size_t)alone.count * sizeof(double));
                assert_true(told[r].random == alone.random);
                told_free(&told[r]);
            }
            assert_true(world.exchanges > 0);
        }
        told_free(&alone);
    }
}

/* Rows of their own on one rank would make a result that nobody asked for. */
static void test_other_rows_are_refused(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct rank_world world = {.size = 3, .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
        struct told told[MAX_RANKS] = {0};
        told[2].changed = 1e-12;
        run(&settings[s], &world, told, ranks);
        assert_int_equal(ranks[2].rc, MERCER_ERR_DATA);
        assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
        assert_non_null(strstr(ranks[0].why.text, "rank 2: the rows, the options or the seed"));
    }
}

/* An error of the call is each rank's own; one of a fold is told as one rank tells it. */
static void test_errors_of_all(void **state)
{
    static const struct setting wrong[] = {
        {.name = "call", .method = "kpls", .tune = {"kernel.sigmoid=1"}, .targets = true},
        {.name = "fold", .method = "kpca:groups=39", .head = "ls", .targets = true},
        {.name = "no choice",
         .method = "kpca",
         .head = "svm:type=nu",
         .tune = {"head.nu=0.98,0.99"},
         .targets = true},
    };
    (void)state;
    for (size_t s = 0; s < sizeof wrong / sizeof *wrong; s++) {
        struct rank_world one = {.size = 1, .fail_rank = -1}, world = {.size = 3, .fail_rank = -1};
        struct rank first[MAX_RANKS] = {{.fail_alloc = -1}};
        struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
        struct told alone = {0}, told[MAX_RANKS] = {0};
        run(&wrong[s], &one, &alone, first);
        assert_int_not_equal(first[0].rc, MERCER_OK);
        run(&wrong[s], &world, told, ranks);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(ranks[r].rc, first[0].rc);
            assert_string_equal(ranks[r].why.text, first[0].why.text);
        }
    }
}

static void test_cancelled(void **state)
{
    (void)state;
    struct rank_world world = {.size = 3, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
    struct told told[MAX_RANKS] = {0};
    told[1].cancel = true;
    run(&settings[1], &world, told, ranks);
    for (int r = 0; r < 3; r++)
        assert_int_equal(ranks[r].rc, MERCER_ERR_CANCELLED);
}

/* The table fails in each of its calls in turn. */
static void test_lost_network(void **state)
{
    static const struct setting *const some[] = {&settings[1], &settings[4]};
    (void)state;
    for (int s = 0; s < 2; s++) {
        int64_t call = 0;
        for (bool failed = true; failed; call++) {
            struct rank_world world = {.size = 3, .fail_rank = (int)(call % 3), .fail_call = call};
            struct rank ranks[MAX_RANKS] = {
                {.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
            struct told told[MAX_RANKS] = {0};
            run(some[s], &world, told, ranks);
            failed = world.lost;
            for (int r = 0; r < 3; r++) {
                if (!failed)
                    assert_int_equal(ranks[r].rc, MERCER_OK);
                else if (r == world.fail_rank)
                    assert_string_equal(ranks[r].why.text, "the network is gone");
                else
                    assert_int_equal(ranks[r].rc, MERCER_ERR_PEER);
                told_free(&told[r]);
            }
        }
        assert_true(call > 20);
    }
}

/* Allocations of one rank fail in turn: nobody hangs, nothing is left, and where the rank cannot do
 * without the memory it says so and the others name it. */
static void test_failing_allocations(void **state)
{
    static const struct setting small = {.name = "small",
                                         .method = "kpls",
                                         .folds = 2,
                                         .inner = 2,
                                         .tune = {"components=1,2"},
                                         .targets = true};
    (void)state;
    int64_t told_of = 0, quiet = 0;
    for (int64_t k = 0; quiet < 3; k++) { /* on each of the ranks in turn */
        const int failing = (int)(k % 3);
        struct rank_world world = {.size = 3, .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
        struct told told[MAX_RANKS] = {0};
        int64_t live = mrc_alloc_live();
        ranks[failing].fail_alloc = k;
        run(&small, &world, told, ranks);
        for (int r = 0; r < 3; r++)
            told_free(&told[r]);
        assert_true(mrc_alloc_live() == live);
        const mercer_status rc = ranks[failing].rc;
        assert_true(rc == MERCER_OK || (rc == MERCER_ERR_MEMORY && ranks[failing].alloc_failed));
        for (int r = 0; r < 3; r++) /* that of a fold is told to all as one rank tells it */
            if (r != failing)
                assert_true(rc == MERCER_OK ? ranks[r].rc == rc
                                            : ranks[r].rc == MERCER_ERR_PEER ||
                                                  strstr(ranks[r].why.text, "fold "));
        told_of += rc != MERCER_OK;
        quiet = ranks[failing].alloc_failed ? 0 : quiet + 1;
    }
    assert_true(told_of > 100);
}

/* ---- the journal ---- */

static char folder[] = "/tmp/mercer-test-XXXXXX";
static char journal[64];

/* The file of a rank; FILE* of it when mode is given. */
static FILE *open_journal(int rank, const char *mode)
{
    char path[96];
    snprintf(path, sizeof path, "%s.%d", journal, rank);
    return fopen(path, mode);
}

static char *read_journal(int rank, long *size)
{
    FILE *file = open_journal(rank, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)*size + 1);
    assert_non_null(text);
    assert_int_equal((long)fread(text, 1, (size_t)*size, file), *size);
    text[*size] = 0;
    fclose(file);
    return text;
}

static void write_journal(int rank, const char *text, long size)
{
    FILE *file = open_journal(rank, "wb");
    assert_non_null(file);
    assert_int_equal((long)fwrite(text, 1, (size_t)size, file), size);
    fclose(file);
}

static int64_t lines_of(int rank)
{
    long size;
    int64_t lines = 0;
    char *text = read_journal(rank, &size);
    for (long i = 0; text && i < size; i++)
        lines += text[i] == '\n' && i > 0 && text[i - 1] != '\n';
    free(text);
    return lines;
}

static int set_up_journal(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(journal, sizeof journal, "%s/journal", folder);
    return 0;
}

static int tear_down_journal(void **state)
{
    (void)state;
    assert_ok(mercer_journal_remove(journal, err));
    assert_int_equal(rmdir(folder), 0); /* nothing else was left */
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return 0;
}

/* Run a setting on `size` ranks with the journal; the result must be that of `alone`. */
static void go_on(const struct setting *setting, int size, const struct told *alone)
{
    struct rank_world world = {.size = size, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {0};
    struct told told[MAX_RANKS] = {0};
    for (int r = 0; r < size; r++) {
        ranks[r].fail_alloc = -1;
        told[r].journal = journal;
    }
    run(setting, &world, told, ranks);
    for (int r = 0; r < size; r++) {
        if (ranks[r].rc != MERCER_OK)
            fail_msg("%s, rank %d: %s", setting->name, r, ranks[r].why.text);
        assert_string_equal(told[r].json, alone->json);
        assert_string_equal(told[r].notices, alone->notices);
        assert_true(told[r].count == alone->count && told[r].random == alone->random);
        assert_memory_equal(told[r].numbers, alone->numbers, (size_t)alone->count * sizeof(double));
        told_free(&told[r]);
    }
}

static void run_alone(const struct setting *setting, struct told *alone)
{
    struct rank_world one = {.size = 1, .fail_rank = -1};
    struct rank first[MAX_RANKS] = {{.fail_alloc = -1}};
    *alone = (struct told){0};
    run(setting, &one, alone, first);
    assert_int_equal(first[0].rc, MERCER_OK);
}

/* A run that was ended anywhere leaves a beginning of its files, of any length. From each the same
 * result comes, with any number of ranks, and what is known is not done again. */
static void test_going_on(void **state)
{
    (void)state;
    for (int s = 0; s < SETTINGS; s++) {
        struct told alone;
        long size[3] = {0};
        char *text[3] = {NULL};
        run_alone(&settings[s], &alone);
        go_on(&settings[s], 3, &alone); /* writes it */
        for (int r = 0; r < 3; r++) {
            text[r] = read_journal(r, &size[r]);
            assert_non_null(text[r]);
        }
        int64_t lines[3] = {lines_of(0), lines_of(1), lines_of(2)};
        assert_true(lines[0] + lines[1] + lines[2] > 3 || settings[s].test);
        go_on(&settings[s], 2, &alone); /* all is known */
        for (int r = 0; r < 3; r++)
            assert_true(lines_of(r) == lines[r]);
        for (int part = 0; part < 6; part++) {
            const int count = 1 + part % 4;
            assert_ok(mercer_journal_remove(journal, err));
            for (int r = 0; r < 3; r++) { /* torn at another place in each */
                long kept = 17 + (size[r] - 17) * (part * 3 + r) / 18;
                write_journal(r, text[r], kept);
            }
            go_on(&settings[s], count, &alone);
        }
        for (int r = 0; r < 3; r++)
            free(text[r]);
        assert_ok(mercer_journal_remove(journal, err));
        assert_null(open_journal(0, "rb"));
        told_free(&alone);
    }
}

/* Bytes that are not what was written: no line of them is believed. */
static void test_damaged_journals(void **state)
{
    const struct setting *setting = &settings[1];
    struct told alone;
    long size = 0;
    (void)state;
    run_alone(setting, &alone);
    go_on(setting, 1, &alone);
    char *text = read_journal(0, &size);
    assert_non_null(text);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        mrc_rng rng;
        mrc_rng_seed(&rng, seed);
        char *bad = malloc((size_t)size);
        assert_non_null(bad);
        memcpy(bad, text, (size_t)size);
        for (int i = 0; i < 200; i++) {
            long at = 17 + (long)mrc_rng_below(&rng, size - 17);
            static const char bytes[] = {0, '\n', ' ', '0', '1', 'f', (char)255};
            bad[at] = bytes[mrc_rng_below(&rng, sizeof bytes)];
        }
        write_journal(0, bad, size);
        free(bad);
        go_on(setting, 1 + (int)(seed % 3), &alone);
        assert_ok(mercer_journal_remove(journal, err));
    }
    /* A crash of the machine may leave less than the first line, or zeros in its place. */
    for (long kept = 0; kept <= 16; kept += 8)
        for (long zeros = 0; kept + zeros <= 17; zeros += 17 - kept) {
            char torn[17] = {0};
            memcpy(torn, text, (size_t)kept);
            write_journal(0, torn, kept + zeros);
            go_on(setting, 1, &alone);
            assert_int_equal(lines_of(0) > 1, 1);
            assert_ok(mercer_journal_remove(journal, err));
            assert_null(open_journal(0, "rb"));
        }
    /* Files of the user's that have such a name are neither read, written nor removed. */
    static const char own[] = "mercer's notes\n"; /* shorter than the first line, too */
    write_journal(0, own, sizeof own - 1);
    write_journal(7, own, sizeof own - 1);
    struct rank_world world = {.size = 2, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}};
    struct told told[MAX_RANKS] = {{.journal = journal}, {.journal = journal}};
    run(setting, &world, told, ranks);
    assert_int_equal(ranks[0].rc, MERCER_ERR_FORMAT);
    assert_int_equal(ranks[1].rc, MERCER_ERR_PEER);
    assert_ok(mercer_journal_remove(journal, err));
    for (int r = 0; r < 8; r += 7) {
        long length;
        char *there = read_journal(r, &length), path[96];
        assert_non_null(there);
        assert_string_equal(there, own);
        free(there);
        snprintf(path, sizeof path, "%s.%d", journal, r);
        assert_int_equal(unlink(path), 0);
    }
    told_free(&alone);
    free(text);
}

/* Another evaluation does not believe what is there, and both can have one journal. */
static void test_other_evaluations(void **state)
{
    struct setting other = settings[1];
    struct told alone, of_other;
    (void)state;
    other.inner = 4;
    run_alone(&settings[1], &alone);
    run_alone(&other, &of_other);
    assert_string_not_equal(alone.json, of_other.json);
    go_on(&settings[1], 1, &alone);
    go_on(&other, 2, &of_other);
    const int64_t lines = lines_of(0) + lines_of(1);
    go_on(&other, 1, &of_other);
    go_on(&settings[1], 2, &alone);
    assert_true(lines_of(0) + lines_of(1) == lines);
    assert_ok(mercer_journal_remove(journal, err));
    told_free(&alone);
    told_free(&of_other);
}

/* A folder that is not there, on one rank of several: all end. */
static void test_journals_that_cannot_be(void **state)
{
    (void)state;
    struct rank_world world = {.size = 3, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
    struct told told[MAX_RANKS] = {
        {.journal = journal}, {.journal = "/nowhere/journal"}, {.journal = journal}};
    run(&settings[0], &world, told, ranks);
    assert_int_equal(ranks[1].rc, MERCER_ERR_IO);
    assert_non_null(strstr(ranks[0].why.text, "rank 1: /nowhere/journal.1: cannot be written"));
    assert_int_equal(ranks[2].rc, MERCER_ERR_PEER);
    assert_int_equal(mercer_journal_remove("/nowhere/journal", NULL), MERCER_ERR_IO);
}

/* ---- failures in the middle ---- */

static const struct setting many[] = {
    {.name = "many folds", .method = "kpls", .folds = 5, .repeats = 150, .targets = true},
    {.name = "many choices",
     .method = "kpls",
     .folds = 5,
     .repeats = 8,
     .inner = 3,
     .tune = {"kernel.sigma=0.5:8:*2"},
     .targets = true},
    {.name = "one choice",
     .method = "kpls",
     .inner = 12,
     .tune = {"kernel.sigma=0.01:1e13:*2"},
     .only_tune = true,
     .targets = true},
};
enum { MANY = sizeof many / sizeof *many, FEW = 60 }; /* trials in 0.1 s, and some more */

static const mercer_status statuses[FAILURES] = {MERCER_OK, MERCER_ERR_MEMORY, MERCER_ERR_IO,
                                                 MERCER_ERR_CANCELLED};

/* Run a setting on `size` ranks, of which one fails. */
static void run_failing(const struct setting *setting, int size, int failing, enum failure failure,
                        bool mute, int threads, struct told *told, struct rank *ranks)
{
    struct rank_world world = {.size = size, .fail_rank = -1, .mute = mute};
    const int64_t live = mrc_alloc_live();
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){.fail_alloc = -1};
        told[r] = (struct told){.paused = true, .journal = journal, .threads = threads};
    }
    told[failing].failure = failure;
    run(setting, &world, told, ranks);
    for (int r = 0; r < size; r++)
        told[r].kept = lines_of(r);
    assert_true(mrc_alloc_live() == live);
    assert_ok(mercer_journal_remove(journal, err));
}

/* A rank whose journal is full, that has no memory, or is cancelled, in the middle of its trials:
 * the others have done few more when they end, and say why. */
static void test_failures_between_trials(void **state)
{
    int64_t most = 0;
    (void)state;
    for (int s = 0; s < MANY; s++)
        for (int failure = NONE + 1; failure < FAILURES; failure++)
            for (int failing = 0; failing < 3; failing++) {
                struct told told[MAX_RANKS];
                struct rank ranks[MAX_RANKS];
                char begin[16];
                run_failing(&many[s], 3, failing, failure, false, 1, told, ranks);
                snprintf(begin, sizeof begin, "rank %d: ", failing);
                for (int r = 0; r < 3; r++) {
                    const char *text = ranks[r].why.text;
                    if (r == failing) {
                        assert_int_equal(ranks[r].rc, statuses[failure]);
                        assert_true(told[r].trials < FEW);
                        continue;
                    }
                    assert_int_equal(ranks[r].rc,
                                     failure == CANCELLED ? MERCER_ERR_CANCELLED : MERCER_ERR_PEER);
                    assert_true(strncmp(text, begin, 8) == 0);
                    assert_string_equal(text + 8, ranks[failing].why.text);
                    if (told[r].late >= FEW)
                        fail_msg("%s, rank %d of %d: %lld trials after rank %d had failed",
                                 many[s].name, r, 3, (long long)told[r].late, failing);
                    most = told[r].late > most ? told[r].late : most;
                }
                if (failure == JOURNAL) /* what is said is what one rank says */
                    assert_non_null(strstr(ranks[failing].why.text, "cannot be written: No space"));
            }
    print_message("at most %lld trials were done after a rank had failed\n", (long long)most);
}

/* By an older table the others hear of it at the end of their trials, and say the same. */
static void test_ranks_that_cannot_tell(void **state)
{
    struct told told[MAX_RANKS];
    struct rank ranks[MAX_RANKS];
    (void)state;
    run_failing(&many[0], 2, 1, JOURNAL, true, 1, told, ranks);
    assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
    assert_int_equal(ranks[1].rc, MERCER_ERR_IO);
    assert_true(strncmp(ranks[0].why.text, "rank 1: fold ", 13) == 0);
    assert_true(told[0].trials == 375 && told[1].trials < FEW);
}

/* One rank alone ends at once: the thread that fails does no trial more, and the others leave most
 * of the work undone, which is so long that it is not the machine's scheduler that is tested. */
static void test_failures_alone(void **state)
{
    struct setting longer[MANY];
    enum { MOST = 17000 }; /* half of the trials at most: of 100,000, 105,000 and 34,464 */
    (void)state;
    memcpy(longer, many, sizeof many);
    longer[0].repeats = 20000;
    longer[1].repeats = 1312;
    longer[2].tune[0] = "kernel.sigma=0.01:1e13:*1.0121";
    for (int s = 0; s < MANY; s++)
        for (int threads = 1; threads <= 3; threads += 2)
            for (int failure = NONE + 1; failure < CANCELLED; failure++) {
                struct told told[MAX_RANKS];
                struct rank ranks[MAX_RANKS];
                run_failing(&longer[s], 1, 0, failure, false, threads, told, ranks);
                assert_int_equal(ranks[0].rc, statuses[failure]);
                assert_true(told->trials <= 3);
                assert_true(told->kept <= (threads > 1 ? MOST : 3));
                if (failure == JOURNAL)
                    assert_non_null(strstr(ranks[0].why.text, "cannot be written: No space"));
                assert_true(many[s].only_tune == (strncmp(ranks[0].why.text, "fold ", 5) != 0));
            }
}

/* The first fold, which learns from few rows, cannot be: one that is alone runs none of the others,
 * and several ranks, which find that out when all are done, tell the same. */
static void test_first_fold_fails(void **state)
{
    static const struct setting first = {.name = "first fold",
                                         .method = "kpca:groups=8",
                                         .head = "ls",
                                         .folds = 5,
                                         .ordered = true,
                                         .values = true,
                                         .targets = true};
    char text[sizeof((mercer_error *)NULL)->text] = "";
    (void)state;
    for (int size = 1; size <= 3; size++) {
        struct told told[MAX_RANKS];
        struct rank ranks[MAX_RANKS];
        int64_t trials = 0;
        run_failing(&first, size, 0, NONE, false, 1, told, ranks);
        if (size == 1)
            snprintf(text, sizeof text, "%s", ranks[0].why.text);
        for (int r = 0; r < size; r++) {
            assert_int_equal(ranks[r].rc, ranks[0].rc);
            assert_string_equal(ranks[r].why.text, text);
            trials += told[r].trials;
        }
        assert_true(strncmp(text, "fold 1: ", 8) == 0);
        assert_true(trials == (size == 1 ? 0 : 4));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_those_of_one_rank),
        cmocka_unit_test(test_other_rows_are_refused),
        cmocka_unit_test(test_errors_of_all),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_lost_network),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test_setup_teardown(test_going_on, set_up_journal, tear_down_journal),
        cmocka_unit_test_setup_teardown(test_damaged_journals, set_up_journal, tear_down_journal),
        cmocka_unit_test_setup_teardown(test_other_evaluations, set_up_journal, tear_down_journal),
        cmocka_unit_test_setup_teardown(test_journals_that_cannot_be, set_up_journal,
                                        tear_down_journal),
        cmocka_unit_test_setup_teardown(test_failures_between_trials, set_up_journal,
                                        tear_down_journal),
        cmocka_unit_test_setup_teardown(test_ranks_that_cannot_tell, set_up_journal,
                                        tear_down_journal),
        cmocka_unit_test_setup_teardown(test_failures_alone, set_up_journal, tear_down_journal),
        cmocka_unit_test_setup_teardown(test_first_fold_fails, set_up_journal, tear_down_journal),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
