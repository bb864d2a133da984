#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files as C: page_embed.py OUT NAME=FILE...

Each becomes `const char NAME[]`, with a zero byte at its end. A list of numbers rather than .incbin, which no
compiler reports as something that the object depends on.
"""
import pathlib
import sys

parts = ['/* Made by report/page_embed.py. */\n#include "report/page_parts.h"\n']
for item in sys.argv[2:]:
    name, file = item.split("=", 1)
    numbers = ",".join(map(str, pathlib.Path(file).read_bytes()))
    parts.append(f"\nconst char {name}[] = {{{numbers},0}};\n")
pathlib.Path(sys.argv[1]).write_text("".join(parts), encoding="utf-8")
