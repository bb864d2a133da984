#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a crash of the machine leaves: run_crashes.py MERCER [CASE...] [--long] [-jN] [--seed N]

The commands of common.py run once, and record.c notes what they do to files. Bytes reach the disk for certain once their
file is synced, names once the folder is; before that each piece of a write (4096 bytes), each length, mode and name may
be lost on its own, except that a mode is lost with a name that the file got before: file systems keep these in order.
States of the folder after a crash: every moment of the run with everything done up to it; with
everything lost that was not synced; with one such thing lost, each in turn; and with random sets of them lost. In all of
them the output must be a whole version, not older than what was synced, and inputs must be there; then the next command
runs in the folder: it must come to the same result, and leave nothing behind. Equal states are tried once.
"""
import hashlib
import os
import pathlib
import random
import struct
import sys
import tempfile

from common import KINDS, MERCER, arguments, harness, in_parallel, mercer, prepare, workplace

ENTRY = struct.Struct("6q")  # struct entry of record.c
CREATE, WRITE, TRUNCATE, SYNC, SYNC_FOLDER, RENAME, UNLINK, LINK, MODE = range(1, 10)
PIECE = 4096
RANDOM, QUICK_RANDOM = 10000, 500
QUICK_STATES = 25  # in so many the next command runs without --long


class Step:
    """One thing that a crash keeps or loses."""

    def __init__(self, what, file, offset=0, name="", other="", data=b""):
        self.what, self.file, self.offset, self.name, self.other, self.data = what, file, offset, name, other, data
        self.synced = None  # index of the step that makes it certain


def read_record(path):
    """(what, inode, offset, name, other name, bytes) of each entry."""
    raw = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(raw):
        what, file, offset, *sizes = ENTRY.unpack_from(raw, at)
        at += ENTRY.size
        parts = []
        for size in sizes:
            parts.append(raw[at:at + size])
            at += size
        yield what, file, offset, os.path.normpath(parts[0].decode()), os.path.normpath(parts[1].decode()), parts[2]


def steps_of(entries, case, inodes):
    """Steps of a run, with files as numbers of our own, since inodes are used again; and which one makes which certain."""
    names = {name: index for index, name in enumerate(sorted(case.before))}
    number = {inodes[name]: index for name, index in names.items()}
    steps, count = [], len(names)
    for what, inode, offset, name, other, data in entries:
        if os.path.isabs(name) or what not in (CREATE, RENAME, UNLINK, LINK) and inode and inode not in number:
            continue  # a file elsewhere
        if what == CREATE:
            number[inode] = names[name] = count
            count += 1
            steps.append(Step(CREATE, number[inode], offset, name))
        elif what == WRITE:
            end = offset + len(data)
            cuts = [offset, *range(offset - offset % PIECE + PIECE, end, PIECE), end]
            for start, stop in zip(cuts, cuts[1:]):
                steps.append(Step(WRITE, number[inode], start, data=data[start - offset:stop - offset]))
        elif what in (TRUNCATE, MODE, SYNC):
            steps.append(Step(what, number[inode], offset))
        elif what == SYNC_FOLDER:
            steps.append(Step(what, None))
        elif what == UNLINK:
            steps.append(Step(what, names.pop(name), name=name))
        else:
            names[other] = names[name]
            steps.append(Step(what, names[name], name=name, other=other))
            if what == RENAME:
                del names[name]
    for index, step in enumerate(steps):
        for earlier in steps[:index]:
            of_file = earlier.what in (WRITE, TRUNCATE, MODE)
            if earlier.synced is None and (step.what == SYNC and of_file and earlier.file == step.file
                                           or step.what == SYNC_FOLDER and not of_file):
                earlier.synced = index
    return steps


def state_after(case, steps, moment, lost):
    """Files and modes of the folder, {name: (bytes, mode)}, when the first steps are done and some of them are lost."""
    names = {name: index for index, name in enumerate(sorted(case.before))}
    content = {index: bytearray(case.before[name]) for name, index in names.items()}
    mode = dict.fromkeys(content, 0o644)
    for index, step in enumerate(steps[:moment]):
        file = step.file
        if step.what == CREATE:  # the file is there in any case; its name may be lost
            content[file], mode[file] = bytearray(), step.offset
        if index in lost:
            continue
        if step.what == CREATE:
            names[step.name] = file
        elif step.what == WRITE:
            short = step.offset + len(step.data) - len(content[file])
            content[file].extend(bytes(max(short, 0)))
            content[file][step.offset:step.offset + len(step.data)] = step.data
        elif step.what == TRUNCATE:
            content[file][step.offset:] = bytes(max(step.offset - len(content[file]), 0))
        elif step.what == MODE:
            mode[file] = step.offset
        elif step.what in (RENAME, LINK):
            names[step.other] = file
            if step.what == RENAME and names.get(step.name) == file:
                del names[step.name]
        elif step.what == UNLINK and names.get(step.name) == file:
            del names[step.name]
    return {name: (bytes(content[file]), mode[file]) for name, file in names.items()}


def digest(files):
    """What tells states of the folder apart."""
    hashed = hashlib.sha256()
    for name in sorted(files):
        data, mode = files[name]
        hashed.update(f"{name} {mode} {len(data)} ".encode() + data)
    return hashed.digest()


def with_modes(steps, lost):
    """What is lost, and with it the modes that files got after names that are lost."""
    nameless = {steps[index].file: index for index in sorted(lost, reverse=True) if steps[index].what in (CREATE, RENAME)}
    return lost | {index for index, step in enumerate(steps)
                   if step.what == MODE and nameless.get(step.file, len(steps)) < index}


def crashes(steps, draw, count):
    """(moment, the steps that are lost) of all crashes to be tried."""
    def open_steps(moment):
        return [index for index, step in enumerate(steps[:moment])
                if step.what not in (SYNC, SYNC_FOLDER) and (step.synced is None or step.synced >= moment)]

    for moment in range(len(steps) + 1):
        at_stake = open_steps(moment)
        yield moment, frozenset()
        yield moment, frozenset(at_stake)
        yield from ((moment, frozenset([index])) for index in at_stake)
    for _ in range(count):
        moment = draw.randrange(len(steps) + 1)
        share = draw.random()
        yield moment, frozenset(index for index in open_steps(moment) if draw.random() < share)


def oldest_allowed(case, steps, moment):
    """Index of the version of the output that a crash at this moment must not go behind."""
    return sum(step.what == RENAME and step.other == case.output and step.synced is not None and step.synced < moment
               for step in steps[:moment])


def record(case, module):
    with workplace(case) as folder, tempfile.NamedTemporaryFile(prefix="mercer-record-") as file:
        inodes = {name: os.stat(folder / name).st_ino for name in case.before}
        done = mercer(*case.words, folder=folder, env={**os.environ, "LD_PRELOAD": module, "MERCER_RECORD": file.name})
        assert done.returncode == 0, done.stderr
        return steps_of(read_record(file.name), case, inodes)


def start_in(case, files):
    """Run the next command in a folder as a crash has left it; "" or what is wrong."""
    with workplace(case, {}) as folder:
        for name, (data, mode) in files.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(mode)
        shown = ", ".join(f"{name} ({len(data)} bytes, mode {mode:o})" for name, (data, mode) in files.items())
        done = mercer(*case.again, folder=folder)
        if done.returncode or done.stderr:
            return f"status {done.returncode}, {done.stderr!r} with {shown}"
        if (folder / case.output).read_bytes() != case.new:
            return f"another result with {shown}"
        if os.stat(folder / case.output).st_mode & 0o7777 != 0o644:
            return f"another mode with {shown}"
        rest = sorted(set(os.listdir(folder)) - set(case.before) - {case.output})
        return f"{', '.join(rest)} left behind with {shown}" if rest else ""


def try_case(case, module, given):
    steps = record(case, module)
    states, wrong, tried = {}, [], 0
    for moment, lost in crashes(steps, random.Random(given.seed), RANDOM if given.long else QUICK_RANDOM):
        tried += 1
        lost = with_modes(steps, lost)
        files = state_after(case, steps, moment, lost)
        output, _ = files.get(case.output, (None, 0))
        allowed = case.versions[oldest_allowed(case, steps, moment):]
        if output not in allowed:
            what = ", ".join(f"{steps[index].what}:{steps[index].name or steps[index].offset}" for index in sorted(lost))
            wrong.append(f"after step {moment} of {len(steps)}, without {what or 'any loss'}: {case.output} is none of the "
                         f"{len(allowed)} versions that may be there")
        if any(files.get(name, (None,))[0] != case.before[name] for name in case.inputs):
            wrong.append(f"after step {moment}: an input has changed")
        states.setdefault(digest(files), (moment, lost))
    chosen = list(states.values())
    if not given.long and len(chosen) > QUICK_STATES:
        chosen = random.Random(given.seed).sample(chosen, QUICK_STATES)
    wrong += [text for text in in_parallel(given.jobs, lambda crash: start_in(case, state_after(case, steps, *crash)), chosen)
              if text]
    harness.check(f"{case.name}: {len(steps)} steps, {tried} crashes, {len(states)} states of the folder; the next command "
                  f"ran in {len(chosen)}", not wrong, "".join(f"\n     {text}" for text in wrong[:20]))


def main():
    given = arguments()
    try:
        modules = [harness.preloaded(MERCER, name) for name in ("faults", "record")]
    except harness.Skip as why:
        harness.skip("crashes", why)
        return harness.close()
    cases = prepare(modules[0], given.cases)
    print(f"seed {given.seed}, {RANDOM if given.long else QUICK_RANDOM} random sets of losses per command")
    for case in cases:
        if case.kinds == KINDS:  # the others are about memory and threads
            try_case(case, modules[1], given)
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
