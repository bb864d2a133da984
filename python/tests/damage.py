# SPDX-License-Identifier: BSD-3-Clause
"""Damaged models, pickles and Arrow streams, made by a generator of random numbers. test_core.py tries some by a
fixed seed, and fuzz/fuzz_python.py as many as its time allows. Needs NumPy alone.

Each try_...() makes one input and gives None when it was accepted, else the text of the refusal. Whatever else
comes, an exception of another kind or wrong numbers, is a fault and is raised.
"""
import io
import pickle
import re
import traceback
import zlib

import numpy as np

from support import ArrowTable, Fault, blobs, fit, quiet, same

import mercer
from mercer import _model, _runtime

DAMAGED = (mercer.FormatError, mercer.UnsupportedError)  # what bytes with a wrong checksum must give
MOST_COLUMNS = 1000  # a model may announce more than is worth computing with


def model_bytes():
    """Models of all kinds of parts: spectra, a stream, selected rows, heads, names, single precision."""
    X, y = blobs(40)
    with quiet():
        models = [fit(X, components="2"), fit(X, "ikpca:first=20,block=10", components="2"),
                  fit(X, "koca:iterations=2", y, components="2"), fit(X, "kpls", y, components="2", head="knn:k=3"),
                  fit(X.astype(np.float32), "akfa", components="2", names=["a", "b", "c", "d"]), fit(X, "pca", components="2")]
    return [model.to_bytes() for model in models]


# ------------------------------------------------------------------------------------------- bytes

def mutated(random, data, others):
    """The bytes with something wrong: cut, flipped, moved, swollen, or with a part of other bytes."""
    broken = bytearray(data)
    start = int(random.integers(len(data) if random.random() < 0.5 else min(400, len(data))))  # the head matters most
    length = int(random.integers(1, 40))
    kind = random.integers(7)
    if kind == 0:
        del broken[start:]
    elif kind == 1:
        del broken[start:start + length]
    elif kind == 2:
        broken[start:start] = random.bytes(length)
    elif kind == 3:
        for _ in range(int(random.integers(1, 5))):
            broken[int(random.integers(start, len(data)))] = int(random.integers(256))
    elif kind == 4:
        broken[start] ^= 1 << int(random.integers(8))
    elif kind == 5:
        other = others[int(random.integers(len(others)))]
        broken[start:start + length] = other[start:start + length]
    else:  # lengths and numbers at their ends
        value = [0, 1, 0x7F, 0x80, 0xFF][int(random.integers(5))]
        broken[start:start + 8] = bytes([value]) * 8
    return bytes(broken)


def resealed(broken):
    """The same with a checksum that fits, as docs/format.md has it, so that what lies behind it is reached."""
    found = re.search(rb'"checksum":"crc32:([0-9a-f]{8})"', broken)
    if not found:
        return broken
    first, last = found.span(1)
    return broken[:first] + b"%08x" % zlib.crc32(broken[:first] + b"00000000" + broken[last:]) + broken[last:]


def try_model(random, data, others):
    """Damaged bytes of a model, whose checksum tells."""
    broken = mutated(random, data, others)
    try:
        model = mercer.Model.from_bytes(broken)
    except DAMAGED as error:
        return str(error)
    if model.to_bytes() != data:
        raise Fault("a damaged model was accepted")
    return None


def try_resealed_model(random, data, others):
    """Damaged bytes with a checksum that fits: what is accepted works, and is the same once it was written."""
    broken = resealed(mutated(random, data, others))
    try:
        if random.integers(4):
            model = mercer.Model.from_bytes(broken)
        else:
            model = pickle.loads(pickle.dumps(_Pickled(broken), int(random.integers(pickle.HIGHEST_PROTOCOL + 1))))
    except (mercer.MercerError, MemoryError) as error:
        return str(error)
    with quiet():
        use_model(model)
    return None


class _Pickled:
    """What is pickled as a model of these bytes."""

    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        return _model._from_pickle, (mercer.Model, self.data)


def use_model(model):
    """Everything that a model offers, with no more rows and columns than are worth the time."""
    info = model.info
    repr(model), model._repr_html_(), model.column_names, model.output_names
    if info["columns"] > MOST_COLUMNS or info["components"] > MOST_COLUMNS:
        return
    X = np.arange(3.0 * info["columns"]).reshape(3, -1) % 7 - 3
    again = mercer.Model.from_bytes(model.to_bytes())
    for use in (lambda model: model.transform(X), lambda model: model.transform(X.astype(np.float32)),
                lambda model: model.predict_scores(X)[0], lambda model: model.reconstruction_errors(X),
                lambda model: model.inverse_transform(np.full((2, info["components"]), 0.1)),
                lambda model: model.truncate(1).transform(X)):
        try:
            numbers = use(model)
        except (mercer.MercerError, MemoryError):
            continue
        if not same(numbers, use(again)):
            raise Fault("a model gives other numbers once it was written and read")
    try:
        model.predict(X)
    except (mercer.MercerError, MemoryError):
        pass


# ----------------------------------------------------------------------------------------- pickles

class _Unpickler(pickle._Unpickler):
    """Knows what the pickle of a model needs, and nothing else: chance may not call what it likes. It is the one written
    in Python: that in C makes a table as long as the largest number of a memo, gigabytes of it."""

    def find_class(self, module, name):
        known = {("mercer._model", "_from_pickle"): _model._from_pickle, ("mercer._model", "Model"): mercer.Model,
                 ("_codecs", "encode"): __import__("_codecs").encode}
        if (module, name) not in known:
            raise pickle.UnpicklingError("this is not part of a model")
        return known[module, name]


def try_pickle(random, data, others):
    """A damaged pickle of a model. No part of it may make another model."""
    stream = pickle.dumps(mercer.Model.from_bytes(data), int(random.integers(pickle.HIGHEST_PROTOCOL + 1)))
    kind = random.integers(3)
    if kind == 0:
        broken = mutated(random, stream, others)
    elif kind == 1:
        broken = stream[:int(random.integers(len(stream)))]
    else:
        broken = bytearray(stream)
        broken[int(random.integers(len(stream)))] ^= 1 << int(random.integers(8))
    try:
        found = _Unpickler(io.BytesIO(broken)).load()
    except Exception as error:
        ours = any(frame.f_globals["__name__"].startswith("mercer.") for frame, _ in traceback.walk_tb(error.__traceback__))
        # Of what we did not raise pickle says what it likes. Arguments may be of any kind.
        if ours and not isinstance(error, (mercer.MercerError, TypeError, AttributeError, MemoryError)):
            raise
        return str(error)
    if isinstance(found, mercer.Model) and found.to_bytes() != data:
        raise Fault("a damaged pickle was accepted")
    return None


# ------------------------------------------------------------------------------------------- Arrow

def arrow_by_chance(random):
    """(columns of an Arrow table, its numbers)"""
    kinds = {"c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32, "l": np.int64,
             "L": np.uint64, "f": np.float32, "g": np.float64, "b": np.int8}
    rows, columns = int(random.integers(1, 40)), {}
    for j in range(random.integers(1, 5)):
        letter = str(random.choice(list(kinds)))
        values = random.integers(0, 2 if letter == "b" else 100, rows).astype(kinds[letter])
        columns[f"c{j}"] = letter, values, np.ones(rows, bool) if random.integers(3) == 0 else None
    return columns, np.column_stack([values.astype(float) for _, values, _ in columns.values()])


LONG_NAME = b"x" * 5000  # a struct does not keep what its members point to


def spoil_arrow(random):
    """A change of one member of the structs of a stream, some calls from now; more bytes than there are is never said,
    because nobody could know."""
    calls, changes = int(random.integers(4)), []

    def change(struct):
        if len(changes) == calls:
            target = struct
            if random.integers(2) and struct.n_children > 0:
                target = struct.children[int(random.integers(struct.n_children))].contents
            small = -int(random.integers(1, 4))
            choices = ({"format": [None, b"", b"q", b"+s", b"gg", b"u"], "n_children": [0, -1, small],
                        "name": [None, b"", b"\xff\xfe", LONG_NAME]} if hasattr(target, "format") else
                       {"length": [small, -2 ** 63, 2 ** 63 - 1, 2 ** 62] if target is struct else [small, -2 ** 63, 0],
                        "offset": [small, 2 ** 63 - 1, -2 ** 63], "n_buffers": [0, 1, 3, -1], "n_children": [0, -1, 10 ** 6, -2 ** 63],
                        "buffers": [None], "null_count": [-1]})
            if target is struct:
                choices |= {"children": [None], "a child": [None]}
            elif not hasattr(target, "format"):
                choices["values"] = [None]
            name = str(random.choice(list(choices)))
            value = choices[name][int(random.integers(len(choices[name])))]
            if name == "a child":
                struct.children[int(random.integers(struct.n_children))] = type(struct.children.contents)()
            elif name == "values":
                target.buffers[1] = None
            else:  # a pointer that is none has a type
                setattr(target, name, type(getattr(target, name))() if name in ("buffers", "children") else value)
        changes.append(1)
    return change


def try_arrow(random):
    """A table of any columns, batches and offsets gives its numbers, and all is released."""
    columns, expected = arrow_by_chance(random)
    shape = [int(random.integers(1, 5)), int(random.integers(12)), None, int(random.integers(12))]
    table = ArrowTable(columns, *shape)
    if not same(_runtime.from_arrow(table).values.astype(float), expected):
        raise Fault(f"other numbers: {columns}, {shape}")
    if table.released != table.given:
        raise Fault(f"released {table.released} of {table.given}")


def try_spoilt_arrow(random):
    """With one member of a struct spoilt it gives an exception or these numbers."""
    columns, expected = arrow_by_chance(random)
    table = ArrowTable(columns, int(random.integers(1, 4)), int(random.integers(12)), skip=int(random.integers(5)),
                       change=spoil_arrow(random))
    why = None
    try:
        found = _runtime.from_arrow(table).values.astype(float)
        if not same(found, expected):
            raise Fault(f"other numbers: {found}, {expected}")
    except (mercer.DataError, ValueError) as error:  # UnicodeDecodeError is one
        why = str(error)
    if table.released["stream"] != 1 or table.released["array"] != table.given["array"]:
        raise Fault(f"released {table.released} of {table.given}")
    return why
