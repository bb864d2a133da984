# SPDX-License-Identifier: BSD-3-Clause
# Why kernlab's kfa cannot judge Mercer's skfa: Rscript kernlab_kfa_bug.R MERCER [ROWS [FEATURES]]
#
# kfa draws rows at random and computes K = k(drawn rows, all rows), but then takes columns of K by
# the numbers of drawn rows, as if both sides were in the drawn order. So it subtracts projections on
# the wrong images, and its features, which should be orthogonal, are not. With the draw replaced by
# the order of the data both sides agree, and so do Mercer and kfa, row for row. Prints both; the
# status is 1 when that is not what is seen, 77 without kernlab.
if (!requireNamespace("kernlab", quietly = TRUE)) {
  message("kernlab is not installed")
  quit(status = 77)
}
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "common.R"))

if (length(argument) < 1) {
  message("usage: Rscript kernlab_kfa_bug.R MERCER [ROWS [FEATURES]]")
  quit(status = 2)
}
count <- if (length(argument) > 1) as.integer(argument[2]) else 300
features <- if (length(argument) > 2) as.integer(argument[3]) else 10
gamma <- 1 / 32
data <- tempfile(fileext = ".csv")
run <- function(...) system2(argument[1], c(...), stdout = TRUE)
invisible(run("generate", "circle", "--rows", count, "--seed", 1, "-o", data, "--quiet"))
rows <- as.matrix(read.csv(data))

# Largest |cosine| between two features of a model, in the space of the kernel.
largest_cosine <- function(model) {
  weights <- t(alpha(model)) # a column for each feature
  inner <- t(weights) %*% kernelMatrix(kernelf(model), xmatrix(model)) %*% weights
  cosine <- abs(cov2cor(inner))
  max(cosine[upper.tri(cosine)])
}

# The method once more, from its own text, where `sample` gives the order of the data. (To change the
# environment of the function is not enough: the body is a function inside it.)
place <- new.env(parent = asNamespace("kernlab"))
assign("sample", function(x, size, ...) x[seq_len(size)], envir = place)
kfa_in_order <- eval(parse(text = deparse(getMethod("kfa", "matrix")@.Data)), envir = place)

fit <- function(method, subset) {
  set.seed(1)
  method(rows, kernel = "rbfdot", kpar = list(sigma = gamma), features = features, subset = subset)
}
json <- run("fit", data, "-m", "skfa:criterion=variance", "-k", sprintf("rbf:gamma=%.17g", gamma),
            "-n", features, "--center", "none", "--json", "--quiet")
list <- sub(".*\"selected\":[^[]*\\[([^]]*)\\].*", "\\1", paste(json, collapse = " "))
ours <- as.integer(strsplit(list, ",")[[1]]) + 1

stock <- largest_cosine(fit(kfa, count))
default <- largest_cosine(fit(kfa, 59))
ordered <- fit(kfa_in_order, count)
neutral <- largest_cosine(ordered)
same <- isTRUE(all.equal(as.numeric(alphaindex(ordered)), ours))
cat(sprintf("kernlab %s, a ring of %d rows, %d features\n", packageVersion("kernlab"), count, features))
cat(sprintf("largest |cosine| between two features, kfa, 59 candidates:   %.6g\n", default))
cat(sprintf("largest |cosine| between two features, kfa, all candidates:  %.6g\n", stock))
cat(sprintf("largest |cosine| between two features, sample neutralised:   %.6g\n", neutral))
cat("rows, kfa with sample neutralised:", alphaindex(ordered), "\n")
cat("rows, mercer skfa:                ", ours, "\n")
cat("the same rows:", if (same) "yes" else "no", "\n")
quit(status = if (same && default > 0.1 && stock > 0.1 && neutral < 1e-6) 0 else 1)
