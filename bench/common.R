# SPDX-License-Identifier: BSD-3-Clause
# What the programs in R share. They begin with
#     source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "common.R"))
suppressPackageStartupMessages(library(kernlab))

argument <- commandArgs(trailingOnly = TRUE)

# A file of raw doubles, row by row, with "ROWSxCOLUMNS" as its ending.
read_rows <- function(path) {
  shape <- as.integer(strsplit(sub(".*\\.", "", path), "x")[[1]])
  matrix(readBin(path, "double", prod(shape)), shape[1], shape[2], byrow = TRUE)
}

# Smallest wall time of work(1), work(2), ..., its CPU time, and the sum of the wall times.
smallest <- function(repeats, work) {
  times <- sapply(seq_len(repeats), function(i) {
    t <- system.time(work(i))
    c(t[["elapsed"]], t[["user.self"]] + t[["sys.self"]])
  })
  c(times[, which.min(times[1, ])], sum(times[1, ]))
}
