#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print src/base/powers_of_five.inc: 128-bit leading parts of 5^q for q = -64 .. 64.

Used by the number reader (Eisel-Lemire). Positive powers are cut off, negative ones (reciprocals)
are rounded up, which is what the proof of that algorithm asks for.
"""


def leading(q):
    if q >= 0:
        power = 5**q
        while power < 1 << 127:
            power *= 2
        while power >= 1 << 128:
            power //= 2
        return power
    power = 5**-q
    bits = 0
    while (1 << bits) < power:
        bits += 1
    value = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // power + 1
    while value >= 1 << 128:
        value //= 2
    return value


print("/* Made by tools/powers_of_five.py; do not edit. */")
for q in range(-64, 65):
    value = leading(q)
    print("{0x%016xu, 0x%016xu}, /* 5^%d */" % (value >> 64, value & (2**64 - 1), q))
