#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers by counter, written from their definition with whole numbers of any size.

Prints the table of test_rng.c; with FILE, fails unless FILE has just that."""
import math
import sys

WORD = (1 << 64) - 1
STEP, ODD = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95


def mix(x):
    """The output function of splitmix64 (Steele, Lea, Flood 2014; constants of Stafford's mix 13)."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def bits(seed, stream, index):
    key = mix(mix(seed + STEP & WORD) + stream * ODD + STEP & WORD)
    return mix(key ^ mix(index * ODD + STEP & WORD))


def unmix(x):
    x ^= x >> 31 ^ x >> 62
    x = x * pow(0x94D049BB133111EB, -1, 1 << 64) & WORD
    x ^= x >> 27 ^ x >> 54
    x = x * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & WORD
    return x ^ x >> 30 ^ x >> 60


def index_of(seed, stream, wanted):
    """The index at which these bits are."""
    key = mix(mix(seed + STEP & WORD) + stream * ODD + STEP & WORD)
    return (unmix(unmix(wanted) ^ key) - STEP) * pow(ODD, -1, 1 << 64) & WORD


def uniform(seed, stream, index):
    return (2 * (bits(seed, stream, index) >> 12) + 1) / (1 << 53)


def normal(seed, stream, index):
    u, v = uniform(seed, stream, 2 * index & WORD), uniform(seed, stream, 2 * index + 1 & WORD)
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def lines():
    seeds, streams = (0, 1, 2, 1 << 63, WORD), (0, 1, 7, WORD)
    for seed in seeds:
        for stream in streams:
            for index in (0, 1, 2, 1000003, (1 << 62) - 1, index_of(seed, stream, 0), index_of(seed, stream, WORD)):
                at = (seed, stream, index)
                yield '    {0x%xu, 0x%xu, 0x%xu, 0x%016xu, %s, %.15g},' % (*at, bits(*at), uniform(*at).hex(), normal(*at))


table = '/* SPDX-License-Identifier: BSD-3-Clause */\n/* Printed by rng_values.py. */\n' + '\n'.join(lines()) + '\n'
if len(sys.argv) == 1:
    print(table, end='')
elif open(sys.argv[1], encoding='ascii').read() != table:
    sys.exit(f'{sys.argv[1]} is not what rng_values.py prints')
