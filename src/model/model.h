/* The one model form from the inside.
 *
 *   features(x) = B' k(Z, x) + t mean(x) + b    mean(x) = v' k(Z, x), squared norm of the mean: g
 *
 * Z: m x d expansion points in scaled units; B: m' x l over the first m' points; b: l offsets;
 * v: m coefficients of the mean in feature space. A linear kernel may be collapsed: then m = 0 and
 * features(x) = W' (x - center), W: d x l.
 * The directions are w_j = sum_i B_ij phi(z_i) + t_j mean, and b_j = -<w_j, mean> for centred
 * models. t is there for sparse models on exactly centred images alone: all others have none. */
#ifndef MRC_MODEL_MODEL_H
#define MRC_MODEL_MODEL_H

#include "data/prepare.h"
#include "data/scale.h"
#include "kernel/kernel.h"

#include <mercer/model.h>

typedef enum mrc_center { MRC_CENTER_NONE, MRC_CENTER_EXACT, MRC_CENTER_SPAN } mrc_center;
const char *mrc_center_name(mrc_center center);

/* What turns features into predictions; see heads/. A score belongs to each output: a target
 * column, whose prediction it is, or a class. Unless the head is whole, every part is about all l
 * features and its leading part about the first ones, so that shorter models need no other fit.
 * This is the one place for what a head keeps: a part is a field here, freed in model.c, and a line
 * in list_tensors (file.c) and copy_head (truncate.c). */
typedef struct mrc_head {
    char *spec;              /* NAME[:key=value,...]; NULL: there is no head */
    mercer_target_kind kind; /* classes or values */
    int64_t outputs;         /* classes, or target columns */
    char **names;            /* of the outputs; NULL: target columns without names */
    mrc_scale_kind scale;    /* of the target values when the method saw them */
    bool whole;              /* it needs all features: nothing follows for the first ones */
    int64_t rows;            /* training rows it keeps */
    double *errors;          /* l: on the training rows with the first 1, 2, ... features; NaN: not
                                known */
    double *center;          /* l: of the features */
    double *basis;           /* l x l, unit lower triangular: makes them uncorrelated, or NULL */
    double *weights;         /* l x outputs, of the uncorrelated ones */
    double *intercept;       /* outputs */
    double *class_centers;   /* outputs x l */
    double *increments;      /* l x (l + 1) outputs: what feature j adds to the intercept and to the
                                coefficients of the features up to it, output by output */
    double *points;          /* rows x l: features of the rows it keeps, */
    int64_t *codes;          /* rows: their classes, */
    double *values;          /* rows x outputs: their target values, */
    double *dual;            /* rows x functions: their coefficients in decision functions; or */
    double *function_weights; /* l x functions: those of the features, where they are linear */
    double *function_offsets; /* functions */
} mrc_head;

/* Decision functions of a head that has them: one for each pair of classes (0 and 1, 0 and 2, ...,
 * 1 and 2, ...), positive for the first of both, or one for each target column. */
int64_t mrc_head_functions(const mrc_head *head);

/* What a streaming method goes on from; see methods/streaming.h. The points of the model have the
 * coordinates `factor` in an orthonormal frame of their span (factor factor' is their kernel
 * matrix), and directions and mean stand in the same frame: B, b and the mean of the model are
 * derived from them. */
typedef struct mrc_state {
    double *factor;            /* m x m, lower triangular; NULL: the model cannot be updated */
    int64_t rank;              /* directions kept, at least as many as the model has components */
    double *basis;             /* m x rank, orthonormal columns */
    double *singular;          /* rank, decreasing: square roots of the scatter along them */
    double *mean;              /* m */
    int64_t blocks;            /* folded in so far */
    int64_t compressed;        /* 1: the points span less than the rows did */
    int64_t evaluations;       /* kernel values computed for all blocks, */
    int64_t block_evaluations; /* and for the newest */
    int64_t uncounted;         /* blocks from before kernel values were counted */
    double weight;             /* of the rows: their number, less when some are forgotten */
    double diagonal;           /* sum of k(x,x), weighted likewise */
    double largest;            /* k(x,x) so far */
    double lost;        /* bound of the scatter that truncation took from any one direction */
    double halving;     /* kha: rows looked at after which rates are half, */
    double reach;       /* and the longest centred image, squared */
    double outside;     /* of the newest block: share of its norms that the points do not span */
    int64_t input_rows; /* of the input that is being read: rows behind us, */
    int64_t input_crc;  /* and their checksum; */
    int64_t input_finished; /* 1: there are no more */
    uint64_t random[4];     /* of the generator */
    int64_t window;         /* rows at the start of `kept` that the model is about; 0: all seen */
    double *coordinates;    /* window x m: theirs */
    int64_t pending; /* rows at the end of `kept` that wait for a block, in units of the input */
    double *kept;    /* (window + pending) x d */
    mrc_csr_owned kept_csr; /* the same of sparse rows, kept_entries entries */
    int64_t kept_entries;
} mrc_state;

struct mercer_model {
    char *method, *version, *command, *data_hash;
    mrc_kernel kernel;
    char kernel_text[1024];
    mrc_center center;
    mercer_prepare prepare; /* from the columns of a file to ours */
    mrc_scale scale;
    int64_t rows, columns; /* n and d of the training data, prepared */
    double weight;         /* of the rows: their number, less when some are forgotten; 0: not set */
    char **column_names;   /* d, or NULL */
    int64_t components;    /* l */
    int64_t points;        /* m; 0 when collapsed */
    int64_t basis_points;  /* m' <= m */
    double *z;             /* m x d; NULL when collapsed, precomputed, packed or sparse */
    void *z_packed; /* m x d instead, of type z_dtype, which is MRC_F64 when there are none */
    mrc_dtype z_dtype;
    mrc_csr_owned z_csr; /* m sparse rows instead; z_entries entries */
    int64_t z_entries;
    double *coefficients; /* B, m' x l */
    double *offsets;      /* b, l */
    double *mean;         /* v, m; NULL when not centred or collapsed */
    double *mean_weights; /* t, l; NULL: zero */
    double mean_norm2;    /* g */
    double *weights;      /* W, d x l, collapsed linear models only */
    double *input_center; /* d, collapsed linear models only */
    bool orthonormal;
    bool whole;       /* features of fewer components would be others than the first ones */
    bool correlated;  /* features of the training rows may be: the spectrum is no eigenvalues */
    double *spectrum; /* l, or NULL */
    double total_variance, reconstruction_error;
    int64_t *selected; /* or NULL */
    int64_t selected_count;
    double *alignment;    /* l: share of the targets that each feature explains, or NULL */
    double *covariance;   /* l: its squared covariance with them, or NULL */
    int64_t *evaluations; /* l: kernel values that a new row needs for it and those before */
    double *bound;        /* l x MERCER_BOUND_COLUMNS, or NULL */
    double *influence;    /* influence_count x 2: row, |y|^2 k(x,x); or NULL */
    int64_t influence_count;
    double kernel_alignment; /* NaN: not known */
    double *selection;       /* selected_count x MERCER_SELECTION_COLUMNS, or NULL */
    double *trace;           /* trace_count x MERCER_TRACE_COLUMNS: steps of a search, or NULL */
    double *trace_seconds;   /* trace_count, or NULL; not stored: equal fits are equal files */
    int64_t trace_count;
    uint64_t seed;
    double novelty_share, novelty_threshold; /* share 0: no threshold */
    mrc_head head;
    mrc_state state;
    /* Derived at load or fit, never stored: Z as rows and prepared for the kernel, and [B, v] side
     * by side over the first m' points (m' x (l + 1)), so that one product gives features and the
     * mean term. The points from m' on carry only the mean: features never touch them. */
    mercer_rows *z_rows;
    mrc_points z_points;
    const struct mrc_pairs
        *z_pairs;     /* of the set that Z was taken from, or NULL: see pairs.h. It */
    int64_t *z_place; /* must outlive the model; places in it, until sealed */
    double *extended;
};

/* A model with nothing but zeroes, for a method or the loader to fill. */
mercer_status mrc_model_new(mercer_model **out, mercer_error *err);
/* The numbers of rows, which keep only what tells about them, become the points of the model. */
void mrc_model_take_points(mercer_model *model, mercer_rows *rows);
/* Check that the parts fit together and build the derived ones; sets kernel_text, and offsets to
 * zero when there are none. Called once, last. A precomputed kernel has z = NULL; its points are
 * the training rows in order when m = columns, else point i is training row selected[i]. */
mercer_status mrc_model_seal(mercer_model *model, mercer_ctx *ctx, mercer_error *err);
/* Check that the parts of the head fit together, of a model that may have none. */
mercer_status mrc_model_check_head(const mercer_model *model, mercer_error *err);
/* Where each input column of the model stands in rows: map has room for model->columns entries.
 * Not for a precomputed kernel. MERCER_ERR_DATA when a column is missing. */
mercer_status mrc_model_map_columns(const mercer_model *model, const mercer_rows *rows,
                                    int64_t *map, mercer_error *err);

/* Copy what does not depend on points and components: names, scaling, kernel, provenance. */
mercer_status mrc_model_copy_description(mercer_model *copy, const mercer_model *model,
                                         mercer_error *err);
void mrc_state_destroy(mrc_state *state);
/* Check that the parts of the state fit together, of a model that may have none. */
mercer_status mrc_model_check_state(const mercer_model *model, mercer_error *err);

/* A model file that is already in memory; name stands in messages. */
mercer_status mrc_model_load_memory(mercer_ctx *ctx, const char *name, const void *bytes,
                                    size_t size, mercer_model **out, mercer_error *err);

#endif
