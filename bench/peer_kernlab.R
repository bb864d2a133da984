# SPDX-License-Identifier: BSD-3-Clause
# Time kernlab's kpca in a process of its own, fit and predict alone.
#
#     Rscript peer_kernlab.R DATA GAMMA COMPONENTS REPEATS [NEW-DATA]
#
# Prints one JSON object with the fields of bench_mercer.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "common.R"))

status_mb <- function(key) {
  line <- grep(key, readLines("/proc/self/status"), value = TRUE)
  as.numeric(strsplit(line, "[[:space:]]+")[[1]][2]) / 1024
}

rows <- read_rows(argument[1])
sigma <- as.numeric(argument[2]) # kernlab's sigma is our gamma
components <- as.integer(argument[3])
repeats <- as.integer(argument[4])
try(writeLines("5", "/proc/self/clear_refs"), silent = TRUE)
base <- status_mb("VmRSS")
fit <- smallest(repeats, function(i) {
  model <<- kpca(rows, kernel = "rbfdot", kpar = list(sigma = sigma), features = components)
})
peak <- status_mb("VmHWM") - base
extra <- ""
timed <- fit[3]
if (length(argument) > 4) {
  fresh <- read_rows(argument[5])
  transform <- smallest(repeats, function(i) predict(model, fresh))
  extra <- sprintf("\"transform_s\": %.6g, \"transform_cpu_s\": %.6g, ", transform[1], transform[2])
  timed <- timed + transform[3]
}
# kernlab divides its eigenvalues by the number of rows.
values <- paste(sprintf("%.17g", eig(model) * nrow(rows)), collapse = ", ")
cat(sprintf("{\"fit_s\": %.6g, \"fit_cpu_s\": %.6g, %s\"base_mb\": %.1f, \"peak_mb\": %.1f, \"timed_s\": %.6g, \"eig\": [%s]}\n",
            fit[1], fit[2], extra, base, peak, timed, values))
