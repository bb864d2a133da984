/* SPDX-License-Identifier: BSD-3-Clause */
/* The one model form: features(x) = B' k(Z, x) + b, with the mean as part of the model. */
#ifndef MERCER_MODEL_H
#define MERCER_MODEL_H

#include <mercer/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Immutable after fit or load; any number of threads may use one model at a time, each with a
 * context of its own. */
typedef struct mercer_model mercer_model;

/* Give up a model; it goes when its last owner does. */
MERCER_API void mercer_model_free(mercer_model *model);
/* One more owner of a model, also of one that is borrowed from a stream: nothing is copied, and
 * whoever frees the model last releases it. The result is the model itself and is freed with
 * mercer_model_free(), in any order and on any thread. The model must be alive during the call:
 * another thread may share or free it meanwhile only if the caller owns it too. NULL for NULL. */
MERCER_API MERCER_EXPERIMENTAL mercer_model *mercer_model_share(const mercer_model *model);

/* What is known of each selected row: its score, its squared distance from the span of the rows
 * before it, and with it the mean reconstruction error and the variance captured so far. */
enum {
    MERCER_SELECTION_SCORE,
    MERCER_SELECTION_RESIDUAL,
    MERCER_SELECTION_ERROR,
    MERCER_SELECTION_VARIANCE,
    MERCER_SELECTION_COLUMNS
};

/* Terms of the stability bound of supervised methods. */
enum {
    MERCER_BOUND_EMPIRICAL,
    MERCER_BOUND_COMPLEXITY,
    MERCER_BOUND_CONFIDENCE,
    MERCER_BOUND_COLUMNS
};

/* What is known of each step of a search for features (koca): its number, the performance of the
 * features, their recognition rate, and how far they are from where the search started. */
enum {
    MERCER_TRACE_ITERATION,
    MERCER_TRACE_PERFORMANCE,
    MERCER_TRACE_RATE,
    MERCER_TRACE_DISTANCE,
    MERCER_TRACE_COLUMNS
};

/* What a model is, every pointer borrowed from it. Set struct_size before the call. */
typedef struct mercer_model_info {
    size_t struct_size;
    const char *method;          /* with its keys as used, "kpca" */
    const char *kernel;          /* with the numbers really used, "rbf:sigma=4" */
    const char *center;          /* "none", "exact" or "span" */
    const char *scale;           /* input scaling */
    int64_t components;          /* l, features per row */
    int64_t columns;             /* d, input columns; for a precomputed kernel, training rows */
    int64_t rows;                /* n, rows the model was fitted to */
    int64_t expansion_points;    /* m, rows of Z kept; 0 for a collapsed linear model */
    int orthonormal;             /* 1: reconstruction errors and pre-images are defined */
    const double *spectrum;      /* l values, decreasing; NULL when the method has none */
    double total_variance;       /* mean squared (centred) norm of the mapped training rows */
    double reconstruction_error; /* mean over the training rows; NaN when undefined */
    const int64_t *selected;     /* 0-based training rows in order of selection, or NULL */
    int64_t selected_count;
    const char *version; /* provenance: library version, command, seed, data hash */
    const char *command;
    const char *data_hash;
    uint64_t seed;
    double novelty_threshold;   /* rows with a larger error are novel; NaN when it was not learnt */
    double novelty_share;       /* of rows like the training rows above it; 0: not learnt */
    const char *image_features; /* "pixels" or "haar"; NULL: not fitted to images */
    int64_t image_width, image_height, image_channels;
    const char *missing;       /* "error", "mean" or "drop" */
    const char *encode;        /* "onehot" when text columns are encoded, else "none" */
    int64_t expansion_entries; /* of sparse rows kept; -1 when they are dense, or none are kept */
    int correlated; /* 1: features of the training rows may be correlated, and spectrum holds their
                       sums of squares instead of eigenvalues */
    const double *selection; /* selected_count x MERCER_SELECTION_COLUMNS, row-major; NULL: none */
    /* Methods that learn from targets, else NULL; of each feature on the training rows, sums over
     * target columns: */
    const double *alignment;  /* (t'y)^2 / (t't y'y): the share of the targets it explains */
    const double *covariance; /* (t'y / n)^2 for a direction of length one */
    const int64_t
        *kernel_evaluations; /* kernel values that a new row needs for it and those before */
    const double *bound; /* components x MERCER_BOUND_COLUMNS, row-major: for the first 1, 2, ...
                            features, terms of a lower bound of the mean of |y|^2 |features|^2 on
                            new rows: empirical - complexity - confidence, with probability 0.9 */
    const double *influence; /* influence_count pairs: training rows with the largest |y|^2 k(x,x),
                                on which the bound hangs, and that value; decreasing */
    int64_t influence_count;
    double kernel_alignment; /* cosine between the kernel matrix and that of the targets; NaN: not
                                known, or no targets */
    const char *head;        /* what predicts from the features, "ls"; NULL: nothing does */
    mercer_target_kind head_kind; /* what it predicts: classes or values */
    int64_t head_outputs;         /* classes, or target columns */
    int64_t head_rows;            /* training rows it keeps */
    const double *head_errors; /* components values: its error on the training rows with the first
                                  1, 2, ... features; share of rows in the wrong class, or root
                                  mean square over rows and target columns; NaN: not known (knn, svm
                                  and linsvm give it only for all features) */
    const char *scale_target;  /* "none", "standard" or "norm" */
    const double *trace;       /* trace_count x MERCER_TRACE_COLUMNS, row-major; NULL: no search */
    const double *trace_seconds; /* trace_count: since the search began; NULL for a loaded model */
    int64_t trace_count;
    /* Streaming methods, else 0: */
    int64_t stream_blocks;            /* folded in */
    int64_t stream_evaluations;       /* kernel values computed for them; 0: not known, */
    int64_t stream_block_evaluations; /* and for the newest */
    int stream_unfinished; /* 1: its last input has not come to its end, perhaps by an interruption
                            */
    double weight; /* of the training rows, over which the spectrum is summed: rows, less when old
                      ones are forgotten; spectrum / weight are variances along the components */
    int nested; /* 1: the first k features are those of a fit with k components, to rounding; 0: a
                   fit with k components has others (koca, kica, kha; others when the rows they use
                   depend on the number of components) */
    int invertible;  /* 1: mercer_model_inverse() gives rows in the units of the input; 0: it
                        refuses, or cannot undo the scaling of rows */
    int precomputed; /* 1: rows are kernel values with the training rows, not columns of data */
    int sparse;      /* 1: the rows it keeps are sparse; 0: they are dense, or none are kept */
    const char *label_column; /* the column of classes that the training table was told to have, by
                                 its name; NULL: none was named */
    const char *id_column;    /* the column of ids likewise, as mercer_table_id_name() */
    double left_out_share;    /* of the variance, outside the span of the rows that
                                 nystroem:sampling=rpcholesky drew; NaN: not known */
    double head_left_out;     /* error of the head on the training rows, each left out of what
                                 predicts it (but not of the features): knn; NaN: not known */
    const char *map;     /* as it was learnt, "agop:steps=2,form=full,..."; NULL: there is none */
    int64_t map_columns; /* columns that the kernel sees; 0 without a map */
    const double
        *map_weights; /* columns: how much each counts, on the mean 1; NULL without a map */
} mercer_model_info;
MERCER_VERSIONED(model_info)
MERCER_API void mercer_model_get_info(const mercer_model *model, mercer_model_info *info);

/* Name of an input column, or NULL when the training rows had no names. */
MERCER_API const char *mercer_model_column_name(const mercer_model *model, int64_t column);

/* Name of target column k that the training table was told to have; NULL past the last. */
MERCER_API const char *mercer_model_target_name(const mercer_model *model, int64_t k);

/* Name of a class or target column that the head predicts; NULL when it has none. */
MERCER_API const char *mercer_model_output_name(const mercer_model *model, int64_t output);

/* Set what a reader of new rows for this model needs: its columns by name, how many there are (for
 * LIBSVM text), and how they are prepared. A column called label or target is data if it was data
 * for the model, unless the options name another. What is set is borrowed from the model. */
MERCER_API void mercer_model_read_options(const mercer_model *model, mercer_read_options *options);

/* Features of new rows: out is n x l, row-major, tightly packed. Columns are matched by name when
 * both sides have names (extra ones are ignored), else by position. errors, when not NULL,
 * receives n squared reconstruction errors in feature space. self, when not NULL, gives k(x,x) of
 * the n rows: needed for errors with a precomputed kernel, ignored otherwise. A row gives the same
 * bits whichever rows stand beside it and however many threads run. */
MERCER_API mercer_status mercer_model_transform(mercer_ctx *ctx, const mercer_model *model,
                                                const mercer_rows *rows, const double *self,
                                                double *out, double *errors, mercer_error *err);

/* The same into an array of the caller's: n x l values of type MERCER_F64 or MERCER_F32, in any
 * layout whose values do not overlap (rank 1: one feature). The numbers are those of
 * mercer_model_transform(), as floats rounded once; one that no float can hold is MERCER_ERR_DATA.
 * Beside the array a block of rows is held, not all. out->data is written to, though it is const
 * there; out->release is not called. On error the array may be filled in part. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_model_transform_into(
    mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows, const double *self,
    const mercer_array *out, double *errors, mercer_error *err);

/* Predictions for new rows by the model's head, from the first `components` features (0: all;
 * heads svm and linsvm refuse fewer). Where features are nested (mercer_model_info) they are what a
 * fit with that many components predicts. scores is n x head_outputs,
 * row-major, tightly packed. Values: the predictions, one column a target, in the units of the
 * targets; codes is left alone and may be NULL. Classes: the larger the score, the more likely the
 * class (ls: its indicator, fitted; centre: minus the squared distance from its centre; knn: share
 * of the votes; svm, linsvm: decision value); codes, unless NULL, receives n indices of the
 * predicted classes for mercer_model_output_name(): those of the largest score, the first among
 * equals, except for ties of votes in knn (by its key `ties`; MERCER_NO_CLASS where nobody wins)
 * and svm (the first class). Rows and columns as for mercer_model_transform().
 * MERCER_ERR_UNSUPPORTED when the model has no head. */
enum { MERCER_NO_CLASS = -1 };
MERCER_API mercer_status mercer_model_predict(mercer_ctx *ctx, const mercer_model *model,
                                              const mercer_rows *rows, int64_t components,
                                              double *scores, int64_t *codes, mercer_error *err);

/* What rows held out from a fit say about new ones, whatever the distribution is, as long as all
 * rows come from the same source (split conformal prediction). p-values of reconstruction errors,
 * p = (1 + h') / (h + 1), h' of the h held-out errors being at least as large: p is at most a with
 * probability a at most. NaN where an error is. MERCER_ERR_UNSUPPORTED when the model was fitted
 * without novelty, or by an early version that did not keep the errors. */
MERCER_API mercer_status mercer_model_p_values(const mercer_model *model, const double *errors,
                                               int64_t count, double *p, mercer_error *err);
/* Half the widths of intervals around predictions, one per target (head_outputs): the true value of
 * a new row lies within with this probability at least, each target on its own. The k-th
 * smallest held-out distance, k = ceil(coverage (h + 1)). MERCER_ERR_UNSUPPORTED when the model was
 * fitted without intervals; MERCER_ERR_ARGUMENT, naming what is possible, where h is too small. */
MERCER_API mercer_status mercer_model_half_widths(const mercer_model *model, double coverage,
                                                  double *half, mercer_error *err);

/* Pre-images: for n feature vectors (n x l, tightly packed) rows whose images are near, out n x d
 * in the units of the input. errors, when not NULL, receives n squared distances in feature space
 * between the given vector and the image of its pre-image. Gaussian: fixed point; polynomial:
 * closed start and descent; linear: exact; else MERCER_ERR_UNSUPPORTED. */
MERCER_API mercer_status mercer_model_inverse(mercer_ctx *ctx, const mercer_model *model,
                                              const double *features, int64_t n, double *out,
                                              double *errors, mercer_error *err);

/* The first components of a model as a model of its own, 1 to as many as it has; the model itself
 * is unchanged. Its features are the first ones of the model up to rounding (1e-12 of their size:
 * the products have another shape), and a head predicts from them what it predicts from them in the
 * model. Where features are not nested (mercer_model_info), a fit with that many components has
 * others: a notice says so. reconstruction_error grows by what the dropped components carried; a
 * novelty threshold no longer fits and is left out, with a notice; method and command stay as they
 * were for the fit. On MERCER_OK the caller frees *out with mercer_model_free(). */
MERCER_API mercer_status mercer_model_truncate(mercer_ctx *ctx, const mercer_model *model,
                                               int64_t components, mercer_model **out,
                                               mercer_error *err);

/* Files in the safetensors format, described in docs/format.md. Saving writes a temporary file in
 * the same folder, syncs and renames it: the old file stays until the new one is whole. Devices,
 * pipes and "-" (standard output) are written through. Loading checks every length and the
 * checksum; on error *out is NULL. */
MERCER_API mercer_status mercer_model_save(mercer_ctx *ctx, const mercer_model *model,
                                           const char *path, mercer_error *err);
MERCER_API mercer_status mercer_model_load(mercer_ctx *ctx, const char *path, mercer_model **out,
                                           mercer_error *err);

/* The bytes of a model file without a file, the same that are saved. On MERCER_OK the caller frees
 * *out with mercer_free(), which accepts NULL; on error *out is NULL and *size is 0. From
 * bytes a model is loaded as from a file; they are borrowed for the call only. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_model_to_bytes(mercer_ctx *ctx,
                                                                   const mercer_model *model,
                                                                   void **out, size_t *size,
                                                                   mercer_error *err);
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_model_from_bytes(mercer_ctx *ctx,
                                                                     const void *bytes, size_t size,
                                                                     mercer_model **out,
                                                                     mercer_error *err);

/* The arrays of a model by the names they have in its file; docs/format.md says what each is, and
 * "trace_seconds" is not in files. Names are counted from 0; NULL past the last: some model has
 * each of them. Set out->struct_size before the call. What out points to is borrowed from the
 * model, packed and row-major, and must not be changed. MERCER_ERR_UNSUPPORTED when this model has
 * no such array, MERCER_ERR_ARGUMENT when no model has; out is then left alone. */
MERCER_API MERCER_EXPERIMENTAL const char *mercer_model_array_name(int index);
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_model_array(const mercer_model *model,
                                                                const char *name, mercer_array *out,
                                                                mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
