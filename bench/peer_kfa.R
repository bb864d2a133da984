# SPDX-License-Identifier: BSD-3-Clause
# Time kernlab's kfa in a process of its own, as it comes: 59 random candidates, drawn once.
#
#     Rscript peer_kfa.R DATA GAMMA FEATURES REPEATS
#
# Repetition i has seed i. Prints one JSON object: the smallest time, and for each repetition the rows
# (counted from 0) that its features are made of.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "common.R"))

rows <- read_rows(argument[1])
sigma <- as.numeric(argument[2]) # kernlab's sigma is our gamma
features <- as.integer(argument[3])
selected <- list()
fit <- smallest(as.integer(argument[4]), function(i) {
  set.seed(i)
  model <- kfa(rows, kernel = "rbfdot", kpar = list(sigma = sigma), features = features)
  selected[[i]] <<- alphaindex(model) - 1
})
lists <- sapply(selected, function(index) paste0("[", paste(index, collapse = ", "), "]"))
cat(sprintf("{\"fit_s\": %.6g, \"fit_cpu_s\": %.6g, \"selected\": [%s]}\n", fit[1], fit[2],
            paste(lists, collapse = ", ")))
