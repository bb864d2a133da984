#!/usr/bin/python3
"""Our own checks must be able to fail: each is shown a violation, and a clean case."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import summary  # noqa: E402


class Case(unittest.TestCase):
    """A test with a temporary folder to put files in and scripts to run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mercer-tools-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, path, text, executable=False):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(0o755)
        return file

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
        for path in ("base/error.h", "linalg/linalg.h", "data/rows.h", "kernel/gram.h"):
            self.write("src/" + path, "")
        self.write("include/mercer/mercer.h", "#include <stddef.h>\n")
        self.write("cli/cli.h", "#include <mercer/mercer.h>\n#include <stdio.h>\n")

    def refused(self, path, line, reason):
        self.write(path, "/* a file */\n" + line + "\n")
        output = self.expect(1, reason, "check_layers", self.folder)
        self.assertIn(f"{path}:2:", output)

    def test_clean_tree(self):
        self.write("src/kernel/gram.c", '#include "kernel/gram.h"\n#include "data/rows.h"\n'
                   '#include "base/error.h"\n#include <mercer/mercer.h>\n')
        self.write("cli/main.c", '#include "cli.h"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))

    def test_empty_tree(self):
        self.expect(1, "no sources", "check_layers", self.folder / "nowhere")

    def test_upward_include(self):
        self.refused("src/base/up.c", '#include "kernel/gram.h"', "base does not see kernel")

    def test_linalg_and_data_apart(self):
        self.refused("src/linalg/a.c", '#include "data/rows.h"', "linalg does not see data")
        (self.folder / "src/linalg/a.c").unlink()
        self.refused("src/data/b.c", '  #  include "linalg/linalg.h"', "data does not see linalg")

    def test_unknown_layer(self):
        self.refused("src/extra/a.c", '#include "base/error.h"', "not a layer")

    def test_foreign_header_in_core(self):
        self.refused("src/base/a.c", "#include <mpi.h>", "the core includes mpi.h")
        self.refused("src/base/a.c", "#include <Python.h>", "the core includes Python.h")

    def test_client_looks_inside(self):
        for line in ('#include "kernel/gram.h"', '#include "../src/kernel/gram.h"'):
            self.refused("cli/main.c", line, "a client includes only")

    def test_bench_inside_sees_the_core(self):
        self.write("bench/inside/a.c", '#include "kernel/gram.h"\n')
        self.assertEqual(self.run_tool("check_layers", self.folder), (0, ""))
        self.refused("bench/inside/b.c", '#include "../../src/kernel/gram.h"', "a client includes only")
        (self.folder / "bench/inside/b.c").unlink()
        self.refused("bench/c.c", '#include "kernel/gram.h"', "a client includes only")

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

    def test_calls(self):
        for name in "malloc calloc realloc free printf exit abort getenv".split():
            self.refused("src/kernel/a.c", f"    {name}(x);", name)
        for name in "sprintf strcpy strcat atoi rand strtok gets".split():
            self.refused("src/a.c", f"{name} (x);", name)
            self.refused("cli/a.c", f"y = {name}(x);", name)
            self.refused("tests/unit/a.c", f"y = {name}(x);", name)

    def test_tokens(self):
        self.refused("src/a.c", "fprintf(stderr, f);", "stderr")
        self.refused("src/a.c", "#pragma omp parallel for", "#pragma omp parallel")
        self.refused("src/base/other.c", "omp_get_thread_num();", "omp_get_thread_num")


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


class Docs(Case):
    def setUp(self):
        super().setUp()
        entry = {"name": "kpca", "summary": "kernel PCA", "reference": "1998", "parameters": [
            {"key": "groups", "default": "0", "allowed": "0|1", "help": "what it means"}]}
        option = {"name": "scale", "letter": "s", "value": "KIND", "choices": ["none", "unit"],
                  "help": "how [to] scale: 'it'"}
        command = {"name": "fit", "summary": "learn", "usage": None, "operands": "DATA", "names": [],
                   "options": [option], "details": ".dots and -dashes"}
        answers = {"methods": {"methods": [entry]}, "kernels": {"kernels": [entry]},
                   "heads": {"heads": [entry]},
                   "help": {"version": "1", "commands": [command]}}
        cases = "".join(f"{word}) cat <<'END'\n{json.dumps(answer)}\nEND\n;;\n"
                        for word, answer in answers.items())
        self.mercer = self.write("mercer", f"#!/bin/sh\ncase $1 in\n{cases}esac\n", True)

    def test_generated_then_current(self):
        self.assertEqual(self.run_tool("generate-docs", self.mercer, self.folder), (0, ""))
        self.assertIn("| `groups` | 0 | 0\\|1 | what it means |",
                      (self.folder / "docs/methods.md").read_text())
        self.assertIn("| `-s`, `--scale KIND` | how [to] scale: 'it' (none, unit) |",
                      (self.folder / "docs/commands/fit.md").read_text())
        self.assertIn("what it means", (self.folder / "docs/kernels/kpca.md").read_text())
        self.assertIn("what it means", (self.folder / "docs/concepts/heads.md").read_text())
        self.assertIn("\\&.dots and \\-dashes", (self.folder / "man/mercer.1").read_text())
        self.assertIn("words='none unit'", (self.folder / "completions/mercer.bash").read_text())
        self.assertIn("[how \\[to\\] scale\\: '\\''it'\\'']:KIND:(none unit)'",
                      (self.folder / "completions/_mercer").read_text())
        self.assertEqual(self.run_tool("check_docs", self.mercer, self.folder), (0, ""))

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
        self.write("bin/" + name, "#!/bin/sh\n" + body + "\n", True)

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
        self.write("bin/meson", '#!/bin/sh\necho "meson $*"\nmkdir -p b && : > b/build.ninja\n', True)
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
        self.write("tools/install-packages", "#!/bin/sh\n", True)
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
        wrong = [name for name in ("layers", "banned", "clang-format", "clang", "clang-tidy",
                                   "cppcheck") if results[name] != "ok"]
        self.assertEqual(wrong, [], output)

    def test_faulty_source(self):
        results, output = self.lint(
            '#include "kernel/a.h"\nint mrc_a(int b);\nint mrc_a(int b) {\n'
            "    int c[2]; int unused;\n    if (b == b) c[b = 2] = 1;\n    c[2] = 0;\n"
            "    return sizeof(c) / sizeof(&c) + atoi(0);\n}\n")
        right = [name for name in ("layers", "banned", "symbols", "docs", "clang-format", "clang",
                                   "clang-tidy", "cppcheck") if results[name] != "FAIL"]
        self.assertEqual(right, [], output)


if __name__ == "__main__":
    summary.main()
