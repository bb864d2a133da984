/* SPDX-License-Identifier: BSD-3-Clause */
// Time dlib's linearly_independent_subset_finder in a process of its own.
//
//     peer_dlib DATA ROWS COLUMNS GAMMA POINTS REPEATS
//
// DATA is a file of raw doubles, row by row. Every row is offered to the finder once, which keeps
// at most POINTS of them. Prints one JSON object: the smallest time, and the rows kept at the end
// (counted from 0). The tolerance is the one its documentation gives, 0.001.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include <dlib/matrix.h>
#include <dlib/svm.h>

using sample = dlib::matrix<double, 0, 1>;
using kernel = dlib::radial_basis_kernel<sample>;
using finder = dlib::linearly_independent_subset_finder<kernel>;

static std::vector<sample> read_rows(const char *path, long count, long columns)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<sample> rows(count, sample(columns));
    for (sample &row : rows)
        file.read(reinterpret_cast<char *>(&row(0)),
                  static_cast<std::streamsize>(columns * sizeof(double)));
    if (!file)
        rows.clear();
    return rows;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        std::fputs("usage: peer_dlib DATA ROWS COLUMNS GAMMA POINTS REPEATS\n", stderr);
        return 2;
    }
    const std::vector<sample> rows =
        read_rows(argv[1], std::strtol(argv[2], nullptr, 10), std::strtol(argv[3], nullptr, 10));
    if (rows.empty()) {
        std::fprintf(stderr, "%s: too short\n", argv[1]);
        return 1;
    }
    const kernel gaussian(std::strtod(argv[4], nullptr));
    const unsigned long points = std::strtoul(argv[5], nullptr, 10);
    finder kept(gaussian, points, 0.001);
    double smallest = 0;
    for (long i = 0; i < std::strtol(argv[6], nullptr, 10); i++) {
        finder fresh(gaussian, points, 0.001);
        const auto start = std::chrono::steady_clock::now();
        for (const sample &row : rows)
            fresh.add(row);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        smallest = i == 0 || took.count() < smallest ? took.count() : smallest;
        kept = fresh;
    }

    std::map<std::vector<double>, long> number; // which row a kept vector is
    for (long i = static_cast<long>(rows.size()) - 1; i >= 0; i--)
        number[std::vector<double>(rows[i].begin(), rows[i].end())] = i;
    std::printf("{\"fit_s\": %.6g, \"selected\": [", smallest);
    for (unsigned long i = 0; i < kept.size(); i++)
        std::printf("%s%ld", i ? ", " : "",
                    number[std::vector<double>(kept[i].begin(), kept[i].end())]);
    std::printf("]}\n");
    return 0;
}
