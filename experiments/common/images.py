# SPDX-License-Identifier: BSD-3-Clause
"""Reading the images of the face sets."""
import numpy as np


def read_pgm(path):
    """A binary PGM of 8 bits."""
    data = path.read_bytes()
    fields, place = [], 0
    while len(fields) < 4:
        end = place
        while not data[end:end + 1].isspace():
            end += 1
        fields.append(data[place:end])
        place = end + 1
    width, height = int(fields[1]), int(fields[2])
    return np.frombuffer(data, np.uint8, width * height, place).reshape(height, width).astype(float)
