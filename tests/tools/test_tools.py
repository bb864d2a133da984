#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our own checks must be able to fail: each is shown a violation, and a clean case."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, FolderCase, run_unittest  # noqa: E402


class Case(FolderCase):
    """A test with a temporary folder to put files in and scripts to run."""

    def run_tool(self, *command, **options):
        """(status, output) of a script in tools/, or of a given path."""
        program = str(command[0]) if "/" in str(command[0]) else str(ROOT / "tools" / command[0])
        done = subprocess.run([program, *map(str, command[1:])], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder,
                              check=False, **options)
        return done.returncode, done.stdout

    def expect(self, status, text, *command, **options):
        got, output = self.run_tool(*command, **options)
        self.assertEqual(got, status, output)
        self.assertIn(text, output)
        return output


class Layers(Case):
    def setUp(self):
        super().setUp()
        for path in ("base/error.h", "linalg/linalg.h", "data/rows.h", "gram/gram.h"):
            self.write("src/" + path, "")
        self.write("include/mercer/mercer.h", "#include <stddef.h>\n")
        self.write("cli/cli.h", "#include <mercer/mercer.h>\n#include <stdio.h>\n")

    def refused(self, path, line, reason):
        self.write(path, "/* a file */\n" + line + "\n")
        output = self.expect(1, reason, "check_layers", self.folder)
        self.assertIn(f"{path}:2:", output)

    def test_clean_tree(self):
        self.write("src/gram/gram.c", '#include "gram/gram.h"\n#include "data/rows.h"\n'
                   '#include "base/error.h"\n#include <mercer/mercer.h>\n')
        self.write("cli/main.c", '#include "cli.h"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))

    def test_empty_tree(self):
        self.expect(1, "no sources", "check_layers", self.folder / "nowhere")

    def test_upward_include(self):
        self.refused("src/base/up.c", '#include "gram/gram.h"', "base does not see gram")

    def test_linalg_and_data_apart(self):
        self.refused("src/linalg/a.c", '#include "data/rows.h"', "linalg does not see data")
        (self.folder / "src/linalg/a.c").unlink()
        self.refused("src/data/b.c", '  #  include "linalg/linalg.h"', "data does not see linalg")

    def test_toys_of_a_list(self):
        self.write("tests/toys/stores.def", "")
        self.write("src/gram/stores.def", '#include "toys/stores.def"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))
        self.refused("src/gram/a.c", '#include "toys/stores.def"', "gram does not see toys")
        (self.folder / "src/gram/a.c").unlink()
        self.refused("src/gram/b.def", '#include "toys/none.def"', "names no file in tests/")

    def test_unknown_layer(self):
        self.refused("src/extra/a.c", '#include "base/error.h"', "not a layer")

    def test_foreign_header_in_core(self):
        self.refused("src/base/a.c", "#include <mpi.h>", "the core includes mpi.h")
        self.refused("src/base/a.c", "#include <Python.h>", "the core includes Python.h")

    def test_only_lists_include_toys(self):
        self.write("tests/toys/stores.def", "")
        self.write("src/gram/stores.def", '#include "toys/stores.def"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))
        self.refused("src/gram/a.c", '#include "toys/stores.def"', "gram does not see toys")
        (self.folder / "src/gram/a.c").unlink()
        self.refused("src/gram/b.def", '#include "toys/others.def"', "names no file in tests/")

    def test_client_looks_inside(self):
        for line in ('#include "gram/gram.h"', '#include "../src/gram/gram.h"'):
            self.refused("cli/main.c", line, "a client includes only")

    def test_bench_inside_sees_the_core(self):
        self.write("bench/inside/a.c", '#include "gram/gram.h"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))
        self.refused("bench/inside/b.c", '#include "../../src/gram/gram.h"', "a client includes only")
        (self.folder / "bench/inside/b.c").unlink()
        self.refused("bench/c.c", '#include "gram/gram.h"', "a client includes only")

    def test_methods_see_no_files(self):
        """What the methods are compiled from, as the compiler sees it: tables, but nothing of files."""
        sources = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/methods").rglob("*.c"))
        self.assertGreater(len(sources), 40)
        done = subprocess.run(["cc", "-M", "-D_GNU_SOURCE", "-Iinclude", "-Isrc", *sources],
                              cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE)
        headers = done.stdout.split()
        self.assertIn("src/data/rows.h", headers)
        self.assertEqual([h for h in headers if h.startswith("src/io/") or h.endswith("zlib.h")], [])

    def test_public_header_looks_inside(self):
        self.refused("include/mercer/bad.h", '#include "base/error.h"', "a public header")
        self.refused("include/mercer/bad.h", "#include <stdio.h>", "a public header")


class Banned(Case):
    def refused(self, path, line, name):
        self.write(path, "/* a file */\n" + line + "\n")
        self.expect(1, f"{path}:2: {name} is banned", "check_banned", self.folder)
        (self.folder / path).unlink()

    def test_clean_tree(self):
        self.write("src/a.c", '/* malloc( */ // free(p)\nmrc_free(p); x.free(p); f("printf(");\n'
                   "snprintf(t, n, f); int exits(void); STDOUT_FILENO;\n")
        self.write("src/base/memory.c", "free(p); realloc(p, n);\n")
        self.write("src/base/parfor.c", "#pragma omp parallel\nomp_get_thread_num();\n")
        self.write("cli/a.c", 'free(p); printf("x"); exit(1);\n')
        self.assertEqual(self.run_tool("check_banned", self.folder), (0, ""))

    def test_empty_tree(self):
        self.expect(1, "no sources", "check_banned", self.folder / "nowhere")

    def test_library_knows_no_command_line(self):
        self.refused("src/io/a.c", '    fail("raise --memory, or");', "--memory")
        self.refused("src/methods/a.def", 'X(a, "see --scale-target")', "--scale-target")
        self.write("src/a.c", '/* --memory */ x--; f("a -- b, 1--2, ---"); // "--memory"\n')
        self.write("cli/a.c", 'f("raise --memory");\n')
        self.assertEqual(self.run_tool("check_banned", self.folder), (0, ""))

    def test_texts_of_errors_are_not_read(self):
        for words in ("err.text", "err->text", "input->err.text", "p->err.text"):
            self.refused("cli/a.c", f"    f({words});", words.removeprefix("input->").removeprefix("p->"))
        self.write("cli/fail.c", "f(err->text, err.text);\n")
        self.write("cli/a.c", 'cell.text; f("err.text"); cli_text_error(x).text;\n')
        self.write("src/a.c", "err->text;\n")
        self.assertEqual(self.run_tool("check_banned", self.folder), (0, ""))

    def test_calls(self):
        for name in "malloc calloc realloc free printf exit abort getenv".split():
            self.refused("src/kernel/a.c", f"    {name}(x);", name)
        for name in "sprintf strcpy strcat atoi rand strtok gets".split():
            self.refused("src/a.c", f"{name} (x);", name)
            self.refused("cli/a.c", f"y = {name}(x);", name)
            self.refused("tests/unit/a.c", f"y = {name}(x);", name)

    def test_no_ladders_over_what_is_listed(self):
        self.write("src/gram/stores.def", "MRC_STORE(dense, ASKABLE)\nMRC_STORE(lowrank, ASKABLE)\n")
        self.write("src/io/formats.def", "/* a list */\nMRC_FORMAT(csv, tsv)\n")
        self.write("src/kernel/kernels.def", "MRC_KERNEL(distance, rbf)\n")
        self.refused("src/methods/a.c", "if (p->store == &mrc_store_lowrank)", "== &mrc_store_lowrank")
        self.refused("src/eval/a.c", "if (&mrc_format_tsv != f)", "&mrc_format_tsv !=")
        self.refused("src/methods/a.c", 'if (strcmp(store, "dense") == 0)', 'strcmp(store, "dense")')
        self.refused("src/gram/a.c", 'if (!strcmp("rbf", name(k)))', 'strcmp("rbf",')
        self.refused("cli/a.c", 'strcmp(f(x, y),\n  "tsv") != 0', 'strcmp(f(x, y), "tsv")')
        self.refused("cli/a.c", 'strcasecmp(f, "tsv") != 0', 'strcasecmp(f, "tsv")')
        # Each family sees its own; asking for one is no ladder; other names are not listed.
        self.write("src/gram/a.c", 'if (s == &mrc_store_dense) strcmp(s, "dense");\n')
        self.write("src/methods/a.c", 'q.store = &mrc_store_dense; strcmp(s, "denser"); f("dense"); strcmp(s, "auto");\n')
        self.assertEqual(self.run_tool("check_banned", self.folder), (0, ""))

    def test_tokens(self):
        self.refused("src/a.c", "fprintf(stderr, f);", "stderr")
        self.refused("src/a.c", "#pragma omp parallel for", "#pragma omp parallel")
        self.refused("src/base/other.c", "omp_get_thread_num();", "omp_get_thread_num")


class Prose(Case):
    # One sentence for every rule of check_prose.
    FAULTS = {"One pass a feature.": "pass a feature", "Give a size, as 4G.": ", as 4",
              "It is found by itself.": "by itself", "The longest image wins.": "longest image",
              "Judged is the error.": "Judged is", "It keeps those alone.": "those alone",
              "A cell that is no number.": "is no number", "Folds that could tell.": "could tell",
              "Take so many rows.": "so many", "It goes with all heads.": "goes with",
              "Rows they stand on.": "stand on", "The mean is taken off.": "taken off",
              "All but for one.": "but for", "A bound that speaks for it.": "speaks for",
              "Rows are normalized.": "normalized", "The center is zero.": "center"}

    def refused(self, path, text, line, words):
        self.write(path, text)
        self.expect(1, f"{path}:{line}: '{words}': ", "check_prose", self.folder)
        (self.folder / path).unlink()

    def test_clean_tree(self):
        self.write("src/a.c", '#include "so many.h"\n/* Rows are normalised. */\nint c = \'"\'; // so few\n'
                   'f("center", "there is no row", "--center none"); so many;\n')
        self.write("a.md", "One per row: `so many` and `by\nitself`, [so few](so many).\n\n```sh\nso many\n```\n\n"
                   "    so many\n\nIt is\n`x` no more.\n")
        self.assertEqual(self.run_tool("check_prose", self.folder), (0, ""))

    def test_empty_tree(self):
        self.expect(1, "no texts", "check_prose", self.folder / "nowhere")

    def test_rules(self):
        for sentence, words in self.FAULTS.items():
            self.refused("src/a.c", f"int a;\n/* {sentence} */\n", 2, words)
            self.refused("src/a.c", f'int a;\nf("{sentence}");\n', 2, words)
            self.refused("docs/a.md", f"# A\n\n{sentence}\n", 3, words)

    def test_first_words_of_a_comment(self):
        for word in ("Of", "Those", "Likewise"):
            self.refused("include/a.h", f"/* {word} the rows. */\n", 1, word)

    def test_words_on_two_lines(self):
        self.refused("cli/a.c", "/* Take so\n * many rows. */\n", 1, "so many")
        self.refused("cli/a.c", 'f("take so "\n  "many rows");\n', 1, "so many")
        self.refused("a.md", "```sh\nso many\n```\nTake so\nmany rows.\n", 4, "so many")


class Symbols(Case):
    HEADER = "MERCER_API int mercer_one(int a,\n    int b);\n"

    def build(self, source):
        self.write("include/one.h", self.HEADER)
        file = self.write("one.c", source)
        objects = self.folder / "build" / "libmercer.so.0.p"
        objects.mkdir(parents=True)
        compiler = ["gcc", "-fPIC", "-fvisibility=hidden"]
        subprocess.run([*compiler, "-c", file, "-o", objects / "one.o"], check=True)
        subprocess.run([*compiler, "-shared", objects / "one.o", "-o",
                        self.folder / "build" / "libmercer.so"], check=True)

    def check(self):
        return self.run_tool("check_symbols", self.folder / "build", self.folder / "include")

    SHOWN = '__attribute__((visibility("default"))) '

    def test_clean_library(self):
        self.build(self.SHOWN + "int mercer_one(void) { return 1; } int mrc_two(void) { return 2; }")
        self.assertEqual(self.check(), (0, ""))

    def test_foreign_export(self):
        self.build(self.SHOWN + "int mercer_one(void) { return 1; }\n" + self.SHOWN +
                   "int helper(void) { return 2; }")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("exports helper", output)

    def test_internal_export(self):
        self.build(self.SHOWN + "int mercer_one(void) { return 1; }\n" + self.SHOWN +
                   "int mrc_two(void) { return 2; }")
        self.assertIn("exports mrc_two", self.check()[1])

    def test_list_of_debian(self):
        self.build(self.SHOWN + "int mercer_one(void) { return 1; }")
        self.write("include/api.h", '#define MERCER_VERSION "1.2.3"\n')
        call = ("check_symbols", self.folder / "build", self.folder / "include", self.folder / "list")
        self.write("list", "libmercer.so.0 libmercer0 #MINVER#\n mercer_one@Base 0.1.0\n")
        self.assertEqual(self.run_tool(*call), (0, ""))
        self.write("list", "libmercer.so.0 libmercer0 #MINVER#\n mercer_two@Base 0.1.0\n")
        output = self.expect(1, "list: add the line ' mercer_one@Base 1.2.3'", *call)
        self.assertIn("list: mercer_two is in no public header", output)

    def test_unprefixed_object_symbol(self):
        self.build(self.SHOWN + "int mercer_one(void) { return 1; } int helper(void) { return 2; }")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("defines helper without our prefix", output)

    def test_headers_and_library_disagree(self):
        self.build(self.SHOWN + "int mercer_two(void) { return 1; }")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("mercer_one is declared but not exported", output)
        self.assertIn("mercer_two is exported but in no public header", output)

    def test_nothing_built(self):
        self.assertEqual(self.check()[0], 1)


class Hardening(Case):
    SOURCE = """#include <stdio.h>
int main(int argc, char **argv) {
    char text[99];
    sprintf(text, "%d %s", argc, argv[0]);
    return puts(text) < 0;
}
"""
    FLAGS = ("-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE",
             "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack")

    def check(self, *options, flags=(), without=()):
        """The verdict on a program built with our flags but those in `without`, and with `flags`."""
        source = self.write("small.c", self.SOURCE)
        program = self.folder / "small"
        kept = [flag for flag in self.FLAGS if flag not in without]
        subprocess.run(["gcc", *kept, *flags, source, "-o", program], check=True,
                       stderr=subprocess.DEVNULL)
        return self.run_tool("check_hardening", *options, program)

    def refused(self, text, **build):
        status, output = self.check(**build)
        self.assertEqual((status, output), (1, f"{self.folder / 'small'}: {text}\n"))

    def test_clean_program(self):
        self.assertEqual(self.check(), (0, ""))

    def test_each_flag_counts(self):
        self.refused("not position-independent", without=("-fPIE", "-pie"),
                     flags=("-fno-pie", "-no-pie"))
        self.refused("no RELRO", without=("-Wl,-z,relro",), flags=("-Wl,-z,norelro",))
        self.refused("symbols are bound lazily (no BIND_NOW)", without=("-Wl,-z,now",),
                     flags=("-Wl,-z,lazy",))
        self.refused("executable stack", without=("-Wl,-z,noexecstack",),
                     flags=("-Wl,-z,execstack",))
        self.refused("no stack protector", without=("-fstack-protector-strong",),
                     flags=("-fno-stack-protector",))
        self.refused("no _FORTIFY_SOURCE", without=("-D_FORTIFY_SOURCE=2",))

    def test_sanitized_builds_are_not_fortified(self):
        self.assertEqual(self.check("--no-fortify", without=("-D_FORTIFY_SOURCE=2",)), (0, ""))

    def test_no_program(self):
        self.expect(1, "no program or library", "check_hardening", self.write("text", "hello"))
        self.expect(1, "no program or library", "check_hardening", self.folder / "nowhere")
        self.expect(2, "check_hardening", "check_hardening")



class Kernels(Case):
    """tools/test-kernels on a machine of our own making: a library that names its kernels, and a
    list of tests as Meson gives it."""
    LIBRARY = """#include <stdlib.h>
#include <string.h>
const char *mercer_blas_kernels(void)
{
    const char *named = getenv("OPENBLAS_CORETYPE");
    return named && strcmp(named, "Nehalem") != 0 ? named : "DEFAULT";
}
"""

    def setUp(self):
        super().setUp()
        loader = importlib.machinery.SourceFileLoader("test_kernels", str(ROOT / "tools" / "test-kernels"))
        self.tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_kernels", loader))
        loader.exec_module(self.tool)

    def build(self, default):
        source = self.write("one.c", self.LIBRARY.replace("DEFAULT", default))
        subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", self.folder / "libmercer.so"], check=True)

    def test_sets_are_verified(self):
        """A set the library does not take (Nehalem, here) is no set."""
        self.build("Zen")
        self.tool.processor_flags = lambda: {"pni", "sse4_2", "avx"}
        self.assertEqual(self.tool.kernel_sets(self.folder), ["Zen", "Prescott", "Sandybridge"])
        self.tool.processor_flags = lambda: {"pni", "avx2"}
        self.assertEqual(self.tool.kernel_sets(self.folder), ["Zen", "Prescott"])

    def test_blas_without_kernels(self):
        self.build("")
        self.assertEqual(self.tool.kernel_sets(self.folder), [])
        self.expect(77, "no other kernels", "test-kernels", "--other", self.folder, "/bin/true")

    def test_the_other_set(self):
        self.assertEqual(self.tool.other_set(["Zen", "Prescott", "Nehalem", "Haswell"]), "Prescott")
        self.assertEqual(self.tool.other_set(["Prescott", "Nehalem", "Haswell"]), "Haswell")
        self.assertIsNone(self.tool.other_set(["Zen"]))

    def test_a_command_on_the_other_set(self):
        self.build("Zen")
        if "pni" not in self.tool.processor_flags():
            self.skipTest("no x86 processor")
        self.expect(3, "took Prescott", "test-kernels", "--other", self.folder, "/bin/sh", "-c",
                    "echo took $OPENBLAS_CORETYPE; exit 3")

    def test_one_and_two_threads(self):
        script = ("import os; print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_CORETYPE'], "
                  "len(os.sched_getaffinity(0)))")
        test = {"cmd": [sys.executable, "-c", script], "env": {}, "workdir": None, "timeout": 60}
        processor = min(os.sched_getaffinity(0))
        self.assertEqual(self.tool.run_one(test, "Zen", 1, processor), ("OK", "1 Zen 1\n"))
        everywhere = len(os.sched_getaffinity(0))
        self.assertEqual(self.tool.run_one(test, "Zen", 2, processor), ("OK", f"2 Zen {everywhere}\n"))

    def test_failures_count(self):
        def test(name, script):
            return {"name": name, "cmd": ["/bin/sh", "-c", script], "env": {}, "workdir": None, "timeout": 1}
        count = self.tool.load("test-summary").count_test
        tests = [test("good", "echo 3 passed, 0 failed"), test("bad", "echo 2 passed, 1 failed; exit 1"),
                 test("crash", "kill -11 $$"), test("left out", "exit 77")]
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            self.assertEqual(self.tool.run_suite(tests, None, 1, count), [5, 2, 1])
        self.assertIn("-- bad: FAIL", shown.getvalue())

    def test_wrong_calls(self):
        self.build("Zen")
        self.expect(1, "no kernels 'Pentium' here", "test-kernels", self.folder, "Pentium")
        self.expect(1, "test-kernels:", "test-kernels", "--list", self.folder / "nowhere")
        self.expect(2, "test-kernels BUILD", "test-kernels")


class Bits(Case):
    """tools/check_bits on programs of our own making, which write what a test wants them to. It runs in
    this process, with data that are made once: starting it and making them is most of what it does here."""
    # A mercer that knows one method, one kernel and one head. CHANGE is Python that a build adds.
    PROGRAM = """#!/usr/bin/python3 -IS
import json, os, struct, sys, time
words = sys.argv[1:]
def entry(name):
    key = {"key": "rank", "default": "0", "allowed": "0 .. 9", "help": ""}
    return {"name": name, "parameters": [key]}
value, seconds, note, status, checksum, kernels = 1.0, time.time(), "", 0, "crc32:1", "Zen"
def model(value):
    head = {"__metadata__": {"rows": "3", "checksum": checksum},
            "z": {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + struct.pack("<4d", 1, 2, value, 4)
CHANGE
if words == ["--version"]:
    print("mercer 1.2.3\\nBLAS: " + kernels)
elif words[-1] == "--json" and words[0] in ("methods", "kernels", "heads"):
    name = {"methods": "kpca", "kernels": "rbf", "heads": "ls"}[words[0]]
    print(json.dumps({words[0]: [entry(name)]}))
elif words == ["help", "--json"]:
    print(json.dumps({"commands": [{"name": "fit"}]}))
elif words[0] == "fit" and "--json" in words:
    print(json.dumps({"rows": 3, "spectrum": [4.5, value], "seconds": seconds}, indent=2))
    open("a.model", "wb").write(model(value))
elif words[0] == "fit":
    print("  time   read %g ms" % seconds)
    sys.stderr.write(note)
sys.exit(status)
"""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mercer-test-")
        cls.addClassCleanup(folder.cleanup)
        loader = importlib.machinery.SourceFileLoader("check_bits", str(ROOT / "tools" / "check_bits"))
        cls.tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_bits", loader))
        loader.exec_module(cls.tool)
        data = pathlib.Path(folder.name) / "data"
        cls.tool.make_data(data)
        cls.tool.make_data = lambda path: path.symlink_to(data)

    def run_tool(self, *command):
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()) as output, \
                contextlib.redirect_stderr(output), unittest.mock.patch("sys.argv", list(map(str, command))):
            try:
                return self.tool.main(), output.getvalue()
            except SystemExit as end:
                return end.code, output.getvalue()

    def build(self, name, change="pass"):
        self.write(f"{name}/mercer", self.PROGRAM.replace("CHANGE", change), 0o755)

    def check(self, status, text, *more, change="pass", only="kpca three"):
        self.build("old")
        self.build("new", change)
        return self.expect(status, text, "check_bits", "old", "new", "--only", only, *more)

    def test_equal(self):
        self.assertEqual(self.check(0, "equal, 0 differ"), "1 equal, 0 differ\n")

    def test_last_bit_of_a_report_and_a_model(self):
        output = self.check(1, "0 equal, 1 differ", change="value = 1.0000000000000002")
        self.assertIn("stdout: spectrum[1]: 1.0, now 1.0000000000000002", output)
        self.assertIn("file a.model: z[1, 0] (1 of 4 values): 1.0, now 1.0000000000000002", output)

    def test_sign_of_zero(self):
        self.build("old", "value = 0.0")
        self.build("new", "value = -0.0")
        self.expect(1, "z[1, 0] (1 of 4 values): 0.0, now -0.0", "check_bits", "old", "new", "--only", "kpca three")

    def test_metadata(self):
        self.check(1, "file a.model: check sum: 'crc32:1', now 'crc32:2'".replace("'", ""),
                   change="checksum = 'crc32:2'")

    def test_messages_and_status(self):
        self.check(1, "stderr: line 1: nothing, now 'a note'", change="note = 'a note'", only="label none")
        self.check(1, "status: 0, now 2", change="status = 0 if words[-1] == '--json' or words[0] == '--version' "
                   "else 2", only="label none")

    def test_crash_of_both_is_no_success(self):
        crash = "if words[0] == 'predict': os.kill(os.getpid(), 11)"
        self.build("old", crash)
        self.build("new", crash)
        self.expect(1, "status -11 from both", "check_bits", "old", "new", "--only", "kpca three")

    def test_file_of_one_side(self):
        self.check(1, "file b.txt: written by NEW alone", change="if words[0] == 'fit': open('b.txt', 'w')")

    def test_saved(self):
        self.build("old")
        self.expect(0, "1 saved", "check_bits", "--save", "kept", "old", "--only", "kpca three")
        shutil.rmtree(self.folder / "old")
        self.expect(0, "1 equal, 0 differ", "check_bits", "kept", self.new_build(), "--only", "kpca three")
        self.expect(1, "0 equal, 1 differ", "check_bits", "kept", self.new_build("value = 2.0"), "--only", "kpca three")
        self.expect(2, "saved with --only", "check_bits", "kept", self.new_build(), "--only", "kpca plain")
        self.expect(2, "one BLAS", "check_bits", "kept", self.new_build("kernels = 'Haswell'"), "--only", "kpca three")
        about = self.folder / "kept" / "saved.json"
        about.write_text(about.read_text().replace('"data": "', '"data": "0'))
        self.expect(2, "other data or commands", "check_bits", "kept", self.new_build(), "--only", "kpca three")

    def new_build(self, change="pass"):
        self.build("new", change)
        return "new"

    def test_wrong_calls(self):
        self.build("old")
        self.expect(2, "no case has 'unheard of'", "check_bits", "old", "old", "--only", "unheard of")
        self.expect(2, "neither a build folder", "check_bits", "old", "nowhere")
        self.expect(2, "give OLD and NEW", "check_bits", "old")

    def test_list(self):
        self.build("old")
        self.expect(0, "    mercer fit data/three.csv -m kpca -n 4", "check_bits", "--list", "old")

    def test_keys_newer_than_the_script(self):
        def tried(allowed, key="unheard", default="on"):
            return self.tool.values_of({"key": key, "default": default, "allowed": allowed})
        self.assertEqual(tried("off, on, both"), ["off", "both"])
        self.assertEqual(tried("3 .. 9"), ["3", "9"])
        self.assertEqual(tried("3 .. 9, or auto"), ["3", "9"])
        self.assertEqual(tried("0 .. 9", "rank"), ["5"])


class Architecture(Case):
    def setUp(self):
        super().setUp()
        self.write("src/io/csv.c", "void csv_open(void)\n{\n    mrc_text_line();\n}\n")
        self.write("src/io/text.c", "void mrc_text_line(void)\n{\n}\n")
        self.write("src/data/rows.c", "void mrc_rows_new(void)\n{\n}\n")

    def judged(self, text, fault=None):
        """The page is good, or has this one fault in its last line."""
        self.write("docs/architecture.md", text)
        wanted = (1, f"docs/architecture.md:{len(text.splitlines())}: {fault}\n") if fault else (0, "")
        self.assertEqual(self.run_tool("check_architecture", self.folder), wanted)

    def test_files_and_functions(self):
        self.judged("`src/io/csv.c` `csv_open`, `text.c` and `mrc_text_line`; `mrc_rows_new` is in `rows.c`.\n"
                    "`src/io/*.c`, `src/io/foo.c`, `mrc_store_foo`, `<kind>s.def`\n```\n`gone.c`\n```\n")
        self.judged("`src/io/gone.c`", "there is no file src/io/gone.c")
        self.judged("`gone*.c`", "there is no file gone*.c")
        self.judged("`mrc_gone`", "nothing is called mrc_gone")
        self.judged("`src/io/csv.c` `csv_close`", "csv_close is not in src/io/csv.c")
        self.judged("`src/io/csv.c`, `rows.c`", "there is no file rows.c in src/io")
        self.judged("`src/io/text.c` `mrc_rows_new`", "mrc_rows_new is not in src/io/text.c")

    def test_files_of_a_row(self):
        start = "| folder | owns |\n|---|---|\n"
        self.judged(start + "| `src/io` | CSV (`csv.c`) |\n")
        self.judged(start + "| `src/io` | rows (`rows.c`) |\n", "there is no file rows.c in src/io")

    def test_tables(self):
        self.judged("| a | b |\n|---|---|\n| `x\\|y` | 2 |\n\n```\n| a |\n```\n")
        self.judged("| a | b |\n|---|---|\n| `x|y` | 2 |", "3 cells in a table of 2 columns")
        self.judged("a line\n\n| a | b |", "a table without a line of dashes, or a part of a broken one")

    def test_no_page(self):
        self.expect(1, "no docs/architecture.md", "check_architecture", self.folder / "src")


class Docs(Case):
    def setUp(self):
        super().setUp()
        entry = {"name": "kpca", "summary": "kernel PCA", "reference": "1998", "parameters": [
            {"key": "groups", "default_text": "0", "allowed": "0|1", "help": "what it means"}]}
        option = {"name": "scale", "letter": "s", "value": "KIND", "choices": ["none", "unit"],
                  "help": "how [to] scale: 'it'"}
        command = {"name": "fit", "summary": "learn", "usage": None, "operands": "DATA", "names": [],
                   "options": [option], "details": ".dots and -dashes"}
        tsv = {"name": "tsv", "summary": "tabs", "endings": [".tsv", ".tab"], "writes": True, "has_arrays": False,
               "has_header": True}
        folder = {"name": "images", "summary": "pictures", "endings": ["/"], "writes": False, "has_arrays": False,
                  "has_header": False}
        answers = {"methods": {"methods": [entry]}, "kernels": {"kernels": [entry]},
                   "heads": {"heads": [entry]},
                   "help": {"version": "1", "commands": [command], "formats": [tsv, folder]}}
        cases = "".join(f"{word}) cat <<'END'\n{json.dumps(answer)}\nEND\n;;\n"
                        for word, answer in answers.items())
        self.mercer = self.write("mercer", f"#!/bin/sh\ncase $1 in\n{cases}esac\n", 0o755)
        self.write("docs/architecture.md", "# How it works\n")

    def test_generated_then_current(self):
        self.assertEqual(self.run_tool("generate-docs", self.mercer, self.folder), (0, ""))
        self.assertIn("| `groups` | 0 | 0\\|1 | what it means |",
                      (self.folder / "docs/methods.md").read_text())
        self.assertIn("| `-s`, `--scale KIND` | how [to] scale: 'it' (none, unit) |",
                      (self.folder / "docs/commands/fit.md").read_text())
        self.assertIn("what it means", (self.folder / "docs/kernels/kpca.md").read_text())
        self.assertIn("what it means", (self.folder / "docs/concepts/heads.md").read_text())
        self.assertIn("| `head.increments` | `F64` | l x (l + 1) o | what feature j changes",
                      (self.folder / "docs/format.md").read_text())
        self.assertIn("| `state_input_checksum` | their CRC-32 |",
                      (self.folder / "docs/format.md").read_text())
        self.assertIn("\\&.dots and \\-dashes", (self.folder / "man/mercer.1").read_text())
        self.assertIn("words='none unit'", (self.folder / "completions/mercer.bash").read_text())
        self.assertIn("[how \\[to\\] scale\\: '\\''it'\\'']:KIND:(none unit)'",
                      (self.folder / "completions/_mercer").read_text())
        self.assertEqual(self.run_tool("check_docs", self.mercer, self.folder), (0, ""))

    def test_formats_and_links(self):
        self.write("docs/formats/csv.md", "# CSV and TSV\n\n`.csv`, `.tsv`\n")
        self.write("docs/methods/others.md", "# `pls`, `kpca`: some methods\n")
        self.run_tool("generate-docs", self.mercer, self.folder)
        formats = (self.folder / "docs/formats.md").read_text()
        self.assertIn("| [`tsv`](formats/csv.md) | `.tsv`, `.tab` | tabs | yes | | yes |", formats)
        self.assertIn("| `images` | a folder | pictures | | | |", formats)
        self.assertIn("| [`kpca`](methods/others.md) | kernel PCA | 1998 |",
                      (self.folder / "docs/methods.md").read_text())
        self.assertIn("| `kpca` | kernel PCA | 1998 |", (self.folder / "docs/concepts/heads.md").read_text())

    def test_missing(self):
        self.expect(1, "docs/methods.md, docs/kernels.md", "check_docs", self.mercer, self.folder)

    def test_stale(self):
        self.run_tool("generate-docs", self.mercer, self.folder)
        page = self.folder / "docs/kernels.md"
        page.write_text(page.read_text().replace("what it means", "something else"))
        self.expect(1, "out of date: docs/kernels.md", "check_docs", self.mercer, self.folder)

    def test_stale_man_page(self):
        self.run_tool("generate-docs", self.mercer, self.folder)
        self.write("man/mercer.1", "old")
        self.expect(1, "out of date: man/mercer.1", "check_docs", self.mercer, self.folder)

    def test_own_words_are_kept(self):
        self.write("docs/methods.md", "# Methods\n\nOur own words.\n")
        self.run_tool("generate-docs", self.mercer, self.folder)
        self.assertIn("Our own words.", (self.folder / "docs/methods.md").read_text())


class TestSummary(Case):
    def summary(self, *tests):
        lines = [json.dumps({"name": "t", "result": result, "stdout": out, "stderr": err})
                 for result, out, err in tests]
        log = self.write("testlog.json", "".join(line + "\n" for line in lines))
        status, output = self.run_tool("test-summary", log)
        return status, output.strip()

    def test_counts(self):
        self.assertEqual(self.summary(("OK", "", "")), (0, "1 passed, 0 failed"))
        self.assertEqual(self.summary(("OK", "[  PASSED  ] 7 test(s).\n", ""),
                                      ("OK", "4 passed, 0 failed, 1 skipped\n", "")),
                         (0, "11 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.summary(("OK", "", ""), ("SKIP", "", "")),
                         (0, "1 passed, 0 failed, 1 skipped"))

    def test_failures(self):
        self.assertEqual(self.summary(("FAIL", "", "[  PASSED  ] 7 test(s).\n"
                                       "[  FAILED  ] 2 test(s), listed below:\n")),
                         (1, "7 passed, 2 failed"))
        self.assertEqual(self.summary(("FAIL", "3 passed, 2 failed", "")), (1, "3 passed, 2 failed"))

    def test_crash_and_timeout_count(self):
        self.assertEqual(self.summary(("FAIL", "", "")), (1, "0 passed, 1 failed"))
        self.assertEqual(self.summary(("OK", "", ""), ("TIMEOUT", "", "")), (1, "1 passed, 1 failed"))
        self.assertEqual(self.summary(("ERROR", "5 passed, 0 failed\n", "")),
                         (1, "5 passed, 1 failed"))

    def test_nothing_ran(self):
        self.assertEqual(self.summary(), (1, "0 passed, 0 failed"))
        self.expect(1, "0 passed, 1 failed", "test-summary", self.folder / "absent.json")

    def test_only_the_closing_line_of_a_plain_log(self):
        log = self.write("log", "1 passed, 1 failed\n9 passed, 1 failed\n")
        self.expect(1, "9 passed, 1 failed", "test-summary", log)


class InstallPackages(Case):
    """With stand-ins for dpkg-query, id, apt-get and sudo, alone in PATH."""

    def setUp(self):
        super().setUp()
        for name in ("sh", "awk", "dirname", "env", "cat"):
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        self.list = self.write("packages.txt", "# a list\nbuild gcc the compiler\nbuild make\n"
                               "test gcc again\n")
        self.stub("apt-get", 'echo "apt-get $*"')
        self.stub("id", "echo 0")
        self.stub("dpkg-query", "echo installed")

    def stub(self, name, body):
        self.write("bin/" + name, "#!/bin/sh\n" + body + "\n", 0o755)

    def install(self, *groups):
        return self.run_tool("install-packages", *groups, env={
            "PATH": str(self.folder / "bin"), "MERCER_PACKAGES": str(self.list)})

    def test_nothing_missing(self):
        self.assertEqual(self.install("build", "test"), (0, ""))

    def test_as_root(self):
        self.stub("dpkg-query", "exit 1")
        status, output = self.install("build", "test")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"apt-get .*update\n")
        self.assertRegex(output, r"apt-get .*install -y --no-install-recommends gcc make\n")

    def test_through_sudo(self):
        self.stub("dpkg-query", 'case "$*" in *gcc*) echo installed ;; *) echo config-files ;; esac')
        self.stub("id", "echo 1000")
        self.stub("sudo", 'if [ "$1" = -n ]; then exit 0; fi; echo "sudo $*"')
        status, output = self.install("build")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"sudo env .*apt-get .*install -y --no-install-recommends make\n")

    def test_without_rights(self):
        self.stub("dpkg-query", "exit 1")
        self.stub("id", "echo 1000")
        status, output = self.install("build")
        self.assertEqual(status, 1)
        self.assertIn("sudo apt-get update && sudo apt-get install -y --no-install-recommends gcc make",
                      output)
        self.stub("sudo", "exit 1")  # there, but it wants a password and there is no terminal
        self.assertEqual(self.install("build")[0], 1)

    def test_failing_apt(self):
        self.stub("dpkg-query", "exit 1")
        self.stub("apt-get", "exit 100")
        self.assertNotEqual(self.install("build")[0], 0)

    def test_unknown_group(self):
        self.assertEqual(self.install("built")[0], 2)


class Configure(Case):
    def test_only_what_is_new(self):
        self.write("bin/meson", '#!/bin/sh\necho "meson $*"\nmkdir -p b && : > b/build.ninja\n', 0o755)
        environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

        def configure(*options):
            return self.run_tool("configure", "b", *options, env=environment)

        self.assertEqual(configure("-Da=1"), (0, "meson setup b -Da=1\n"))
        self.assertEqual(configure("-Da=1"), (0, ""))
        self.assertEqual(configure(), (0, ""))
        self.assertEqual(configure("-Da=1", "-Db=2"), (0, "meson configure b -Db=2\n"))
        self.assertEqual(configure("-Da=3"), (0, "meson configure b -Da=3\n"))
        self.assertEqual(configure("-Da=1"), (0, "meson configure b -Da=1\n"))
        self.assertEqual(configure("-Db=2", "-Da=1"), (0, ""))


class CiRun(Case):
    def run_ci(self, test, lint):
        for path in (".ci/run", "tools/test-summary"):
            (self.folder / path).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / path, self.folder / path)
        self.write("tools/install-packages", "#!/bin/sh\n", 0o755)
        self.write("Makefile", f"test:\n\t@{test}\nlint:\n\t@{lint}\n")
        status, output = self.run_tool(self.folder / ".ci/run")
        return status, output.splitlines()[-1]

    def test_sum(self):
        self.assertEqual(self.run_ci("echo 3 passed, 0 failed", "echo 2 passed, 0 failed"),
                         (0, "5 passed, 0 failed"))

    def test_failure_of_either(self):
        self.assertEqual(self.run_ci("echo 3 passed, 1 failed; exit 1", "echo 2 passed, 0 failed"),
                         (1, "5 passed, 1 failed"))
        self.assertEqual(self.run_ci("echo 3 passed, 0 failed", "echo oh no; exit 1"),
                         (1, "3 passed, 1 failed"))
        self.assertEqual(self.run_ci("echo 3 passed, 0 failed; exit 1", "echo 2 passed, 0 failed")[0],
                         1)


class Nightly(Case):
    def test_results_are_kept_by_part(self):
        """Parts behind the options; lines of parts that did not run stay, and so does the table of coverage."""
        for path in ("tools/nightly", "docs/TESTING.md"):
            (self.folder / path).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / path, self.folder / path)
        self.write("Makefile", "lint fuzz:\n\t@echo 3 passed, 0 failed\n"
                   "coverage:\n\t@echo 4 passed, 1 failed; echo '| src | 5 |'; exit 1\n")
        tool = self.folder / "tools/nightly"
        self.expect(1, "1 passed, 1 failed", tool, "build", "--docs", "lint", "coverage")
        self.expect(0, "1 passed, 0 failed", tool, "build", "--docs", "fuzz")
        page = (self.folder / "docs/TESTING.md").read_text()
        for line in ("| `make lint` | 3 | 0 | 0 |", "| `make coverage` | 4 | 1 | 0 |", "| `make fuzz` | 3 | 0 | 0 |", "\n| src | 5 |\n"):
            self.assertEqual(page.count(line), 1, line)
        self.expect(2, "no part 'nope'", tool, "build", "nope")


@unittest.skipUnless(all(map(shutil.which, ("clang-tidy", "clang-format", "cppcheck", "clang"))),
                     "the lint packages are not installed")
class Lint(Case):
    def lint(self, source):
        shutil.copytree(ROOT / "tools", self.folder / "tools")
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(ROOT / name, self.folder / name)
        file = self.write("src/base/a.c", source)
        self.write("build-clang/build.ninja", f"rule cc\n command = clang -Werror -Wall -c {file} -o $out\n"
                   "build all: cc\nbuild meson-test-prereq: phony\n")
        self.write("build-clang/compile_commands.json", json.dumps([
            {"directory": str(self.folder), "command": "clang -c src/base/a.c", "file": str(file)}]))
        status, output = self.run_tool(self.folder / "tools/lint", "build", "build-clang")
        self.assertEqual(status, 1)  # there is no library to look at in the temporary folder
        return {line.split()[1]: line.split()[0] for line in output.splitlines()
                if line.startswith(("ok ", "FAIL "))}, output

    def test_clean_source(self):
        results, output = self.lint("/* A file. */\nint mrc_a(int b);\nint mrc_a(int b)\n{\n"
                                    "    return b + 1;\n}\n")
        wrong = [name for name in ("layers", "banned", "prose", "clang-format", "clang", "clang-tidy",
                                   "cppcheck") if results[name] != "ok"]
        self.assertEqual(wrong, [], output)

    def test_faulty_source(self):
        results, output = self.lint(
            '#include "kernel/a.h"\n/* Of b. */\nint mrc_a(int b);\nint mrc_a(int b) {\n'
            "    int c[2]; int unused;\n    if (b == b) c[b = 2] = 1;\n    c[2] = 0;\n"
            "    return sizeof(c) / sizeof(&c) + atoi(0);\n}\n")
        right = [name for name in ("layers", "banned", "prose", "symbols", "docs", "clang-format",
                                   "clang", "clang-tidy", "cppcheck") if results[name] != "FAIL"]
        self.assertEqual(right, [], output)


if __name__ == "__main__":
    run_unittest()
