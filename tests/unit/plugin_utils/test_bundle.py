# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs made of the collection's modules: what is in them, what is refused, and how they run and end on a Python without Ansible."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils import bundle
from ansible_collections.blackwell.inference.plugins.plugin_utils.bundle import BundleError
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US

ROOT = Path(__file__).parents[3]
UTILS = "ansible_collections.blackwell.inference.plugins.module_utils"
PLAIN = {"PATH": "/usr/bin:/bin"}

Collection = Callable[..., Path]

# A shell that runs the tests in the background ignores interrupts, and so would all below it.
HEARS_SIGNALS = ("env", "--default-signal=HUP,INT,TERM")


def oldest_python() -> str:
    """A 3.9 that starts where there is one (a name on PATH may be a shim that leads nowhere), else the system's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for candidate in (*sorted(pyenv.glob("versions/3.9.*/bin/python3.9")), shutil.which("python3.9")):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return "/usr/bin/python3"


PYTHON = oldest_python()


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """A collection of the modules that are given as text by path below module_utils."""

    def write(**texts: str) -> Path:
        root = tmp_path / "collection"
        for name, text in texts.items():
            path = root / "plugins/module_utils" / f"{name.replace('__', '/', 1)}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (root / "galaxy.yml").write_text("namespace: blackwell\nversion: 1.2.3\n")
        return root

    return write


class Place:
    """Where a program lies and where it makes its temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.file = folder / "the-program"
        self.environment = {**PLAIN, "TMPDIR": str(self.temporary)}

    def command(self, text: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        self.file.write_text(text)
        return [PYTHON, *options, str(self.file), *arguments]

    def run(self, text: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*DIES_WITH_US, *HEARS_SIGNALS, *self.command(text, *arguments)],
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def left(self) -> list[str]:
        return os.listdir(self.temporary)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestClosure:
    @pytest.mark.parametrize(
        ("part", "others"),
        [
            ("core.ledger", set()),
            ("observe.process", {"observe.files"}),
            (
                "deploy.state",
                {"observe.files", "deploy.installed", "observe.process", "wait.progress", "core.errors"},
            ),
        ],
    )
    def test_of_the_collections_own_modules(self, part, others):
        found = set(bundle.closure(part))
        assert f"{UTILS}.{part}" in found
        assert {f"{UTILS}.{other}" for other in others} <= found
        assert all((ROOT / name.split(".", 3)[3].replace(".", "/")).with_suffix(".py").exists() for name in found)

    def test_a_module_that_runs_as_a_process_of_its_own_comes_with_the_one_that_starts_it(self):
        found = bundle.closure("observe.nvml.session")
        assert {f"{UTILS}.observe.nvml.child", f"{UTILS}.observe.nvml.answers"} <= set(found)

    @pytest.mark.parametrize(
        "statement",
        [
            f"import {UTILS}.b.second",
            f"from {UTILS}.b import second",
            f"from {UTILS}.b.second import X, Y",
            f"from {UTILS}.b.second import *",
            "from ..b import second",
            "from ..b.second import X",
            f"def late():\n    from {UTILS}.b import second",
            f"try:\n    import {UTILS}.b.second as other\nexcept ImportError:\n    pass",
        ],
    )
    def test_every_shape_of_import_is_followed(self, collection, statement):
        root = collection(
            a__first=statement, b__second="from . import third", b__third="import pynvml, json", b__fourth=""
        )
        assert sorted(bundle.closure("a.first", root)) == [
            f"{UTILS}.{name}" for name in ("a.first", "b.second", "b.third")
        ]

    def test_a_package_with_code_of_its_own_comes_along_with_what_that_imports(self, collection):
        root = collection(
            a__first="from ..b.second import X", b__second="X = 1", b____init__="from . import third", b__third=""
        )
        assert sorted(bundle.closure("a.first", root)) == [
            f"{UTILS}.{name}" for name in ("a.first", "b", "b.second", "b.third")
        ]

    def test_modules_that_import_each_other_end(self, collection):
        root = collection(a__first="from . import second", a__second="from . import first")
        assert len(bundle.closure("a.first", root)) == 2

    @pytest.mark.parametrize(
        "part", ["release.gat", "observe", "observe.process.py", "observe/process", "../modules/memory_plan", "", ".x"]
    )
    def test_an_unknown_name_is_refused(self, part):
        with pytest.raises(BundleError) as refused:
            bundle.closure(part)
        assert str(refused.value) == (
            f"A program was to be made of {part!r}, and the collection has no such module below plugins/module_utils. "
            "Give its name from there on, with dots for slashes and without .py."
        )

    @pytest.mark.parametrize(
        ("statement", "seen"),
        [
            ("import ansible.module_utils.basic", "ansible.module_utils.basic"),
            ("from ansible import errors", "ansible.errors"),
            ("def late():\n    from ansible.errors import AnsibleError", "ansible.errors.AnsibleError"),
            ("import ansible_collections.community.general.plugins", "ansible_collections.community.general.plugins"),
            (f"from {UTILS}.b import gone", f"{UTILS}.b.gone"),
        ],
    )
    def test_what_the_host_does_not_have_is_refused(self, collection, statement, seen):
        root = collection(a__first="from ..b import second", b__second=statement)
        with pytest.raises(BundleError) as refused:
            bundle.closure("a.first", root)
        assert str(refused.value) == (
            f"No program can be made of a.first: plugins/module_utils/b/second.py imports {seen}, and outside of Ansible the host has no such module. "
            "Take what needs it out of that file, or the file out of what a.first imports."
        )

    def test_the_toolbox_runs_modules_again_and_is_of_no_use_outside_of_ansible(self):
        with pytest.raises(
            BundleError, match=r"core/libraries\.py imports ansible\.module_utils\.common\.respawn\.has_respawned, "
        ):
            bundle.closure("core.libraries")


class TestText:
    def test_it_begins_with_whose_it_is_and_what_it_is(self, collection):
        text = bundle.program("a.first", collection(a__first="def main(): pass"))
        assert text.splitlines()[:6] == [
            "# Copyright: (c) 2026, blackwell.inference contributors",
            "# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
            "# SPDX-License-Identifier: GPL-3.0-or-later",
            "#",
            "# a.first of the Ansible collection blackwell.inference 1.2.3 and all of the collection that it needs, for Python 3.9 or newer.",
            "# Made by the lookup blackwell.inference.bundled_program: what is changed here is lost when the play runs again.",
        ]

    def test_the_sources_can_be_read_in_it(self):
        text = bundle.program("observe.nvml.child")
        for part in ("observe.nvml.child", "observe.nvml.answers"):
            source = (ROOT / "plugins/module_utils" / part.replace(".", "/")).with_suffix(".py").read_text()
            assert f"r'''{source}'''" in text

    def test_the_sources_stand_in_the_order_of_their_paths(self, collection):
        text = bundle.program(
            "b.first", collection(b__first="from ..a import x\nfrom ..c import y\ndef main(): pass", a__x="", c__y="")
        )
        sources = ast.parse(text).body[-2]
        assert isinstance(sources, ast.Assign)
        paths = list(ast.literal_eval(sources.value))
        assert paths == [f"{UTILS.replace('.', '/')}/{name}.py" for name in ("a/x", "b/first", "c/y")]

    def test_another_python_with_another_hash_seed_makes_the_same_bytes(self):
        make = f"import sys; from {bundle.__name__} import program; sys.stdout.write(program('observe.nvml.child'))"
        environment = {**PLAIN, "PYTHONPATH": str(ROOT / ".tree"), "PYTHONDONTWRITEBYTECODE": "1"}
        texts = {
            subprocess.run(
                [PYTHON, "-c", make],
                env={**environment, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }
        assert texts == {bundle.program("observe.nvml.child")}

    @pytest.mark.parametrize(
        ("text", "readable"),
        [
            ("x = 'a'\n", True),
            ('"""Doc with \\n and é."""\n', True),
            ("", True),
            ("x = '''a'''\n", False),
            ("x = 1 # '''", False),
            ("ends in '", False),
            ("ends in \\", False),
            ("a\rb", False),
            ("a\0b", False),
        ],
    )
    def test_a_text_is_itself_whatever_it_holds(self, text, readable):
        assert ast.literal_eval(bundle.literal(text)) == text
        assert (bundle.literal(text) == f"r'''{text}'''") is readable

    def test_a_module_without_main_is_refused(self):
        with pytest.raises(BundleError) as refused:
            bundle.program("observe.process")
        assert str(refused.value) == (
            "The module observe.process has no function main, so a program made of it would do nothing. "
            "Name the module that the host is to run, or give this one a main."
        )

    def test_the_version_of_a_checkout_and_of_an_installed_collection(self, tmp_path):
        assert f"version: {bundle.version()}\n" in (ROOT / "galaxy.yml").read_text()
        (tmp_path / "galaxy.yml").write_text("name: inference\nversion: '1.2.3'\n")
        assert bundle.version(tmp_path) == "1.2.3"
        (tmp_path / "MANIFEST.json").write_text('{"collection_info": {"version": "2.0.0"}}')
        assert bundle.version(tmp_path) == "2.0.0"

    def test_a_checkout_that_names_no_version_is_refused(self, tmp_path):
        (tmp_path / "galaxy.yml").write_text("name: inference\n")
        with pytest.raises(BundleError) as refused:
            bundle.version(tmp_path)
        assert str(refused.value) == (
            f"No version of the collection was found in {tmp_path}/galaxy.yml, where a line with it was expected. Add one."
        )


SEES = """
import os, stat, sys
from . import other
def main():
    folder = sys.path[0]
    print(oct(stat.S_IMODE(os.stat(folder).st_mode)), os.path.dirname(folder), other.__file__.startswith(folder + "/"))
    print(sys.argv)
"""
CHILD = """
import os, subprocess, sys
from pathlib import Path
from . import other
def main():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-m", other.__name__], env=environment, cwd="/")
    return "wrote bytecode" if list(Path(sys.path[0]).rglob("*.pyc")) else done.returncode
"""
OTHER = """
import sys
if __name__ == "__main__":
    print("from the child")
    sys.exit(7)
"""
TALKS = f"""
from {UTILS}.observe.nvml.session import NvmlRequest, NvmlSession
def main():
    heard = NvmlSession(NvmlRequest(None), 20).hear()
    print(heard.refused, heard.nvml_version, heard.ended)
"""
NVML = """
class NVMLError(Exception):
    value = 9
def nvmlInit():
    raise NVMLError
def nvmlSystemGetNVMLVersion():
    return "13.stand-in"
"""
SLEEPS = """
import time
def main():
    print("begun", flush=True)
    try:
        time.sleep(60)
    except Exception:
        print("went on")
"""
STOPPED_TWICE = """
import os, signal
def main():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        print("ended in order", flush=True)
"""


class TestRun:
    def test_it_runs_with_its_arguments_out_of_a_folder_of_its_own(self, collection, place):
        done = place.run(bundle.program("a.first", collection(a__first=SEES, a__other="")), "--gpus", "0 1")
        assert (done.stdout.splitlines(), done.stderr, done.returncode) == (
            [f"0o700 {place.temporary} True", str([str(place.file), "--gpus", "0 1"])],
            "",
            0,
        )
        assert place.left() == []

    @pytest.mark.parametrize("options", [(), ("-I", "-S")])
    def test_parts_that_are_started_as_processes_are_found(self, collection, place, options):
        text = bundle.program("a.first", collection(a__first=CHILD, a__other=OTHER))
        command = place.command(text, options=options)
        done = subprocess.run(command, env=place.environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.stdout, done.stderr, done.returncode) == ("from the child\n", "", 7)
        assert place.left() == []

    def test_the_real_conversation_with_nvml_is_held(self, place, tmp_path):
        root = tmp_path / "collection"
        shutil.copytree(ROOT / "plugins/module_utils", root / "plugins/module_utils")
        shutil.copy(ROOT / "galaxy.yml", root)
        (root / "plugins/module_utils/observe/talks.py").write_text(TALKS)
        libraries = tmp_path / "libraries"
        libraries.mkdir()
        (libraries / "pynvml.py").write_text(NVML)
        done = place.run(bundle.program("observe.talks", root), PYTHONPATH=str(libraries))
        assert (done.stdout, done.stderr, done.returncode) == ("9 13.stand-in None\n", "", 0)
        assert place.left() == []

    def test_the_collections_that_a_host_has_installed_do_not_come_in_between(self, collection, place, tmp_path):
        installed = tmp_path / "installed/ansible_collections"
        installed.mkdir(parents=True)
        (installed / "__init__.py").write_text("raise SystemExit('another ansible_collections')")
        text = bundle.program("a.first", collection(a__first=CHILD, a__other=OTHER))
        done = place.run(text, PYTHONPATH=str(installed.parent))
        assert (done.stdout, done.stderr, done.returncode) == ("from the child\n", "", 7)

    @pytest.mark.parametrize(
        ("body", "code", "said"),
        [
            ("return None", 0, ""),
            ("return 3", 3, ""),
            ("raise SystemExit(4)", 4, ""),
            ("raise SystemExit('GPU 0 is held.')", 1, "GPU 0 is held.\n"),
        ],
    )
    def test_it_ends_as_main_does(self, collection, place, body, code, said):
        done = place.run(bundle.program("a.first", collection(a__first=f"def main():\n    {body}\n")))
        assert (done.returncode, done.stderr) == (code, said)
        assert place.left() == []

    def test_an_error_is_told_with_the_line_that_made_it(self, collection, place):
        done = place.run(bundle.program("a.first", collection(a__first="def main():\n    return 1 / 0  # here\n")))
        assert done.returncode == 1
        assert 'module_utils/a/first.py", line 2, in main\n    return 1 / 0  # here\n' in done.stderr
        assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
        assert place.left() == []

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_signal_ends_it_and_the_folder(self, collection, place, number):
        with started(place, bundle.program("a.first", collection(a__first=SLEEPS))) as process:
            (folder,) = place.left()
            assert folder.startswith("blackwell-inference-")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        assert (out, err, process.returncode) == ("", "", -number)
        assert place.left() == []

    def test_a_second_signal_does_not_interrupt_what_the_first_began(self, collection, place):
        done = place.run(bundle.program("a.first", collection(a__first=STOPPED_TWICE)))
        assert (done.stdout, done.stderr, done.returncode) == ("ended in order\n", "", -signal.SIGTERM)
        assert place.left() == []

    def test_a_signal_that_its_caller_ignores_is_ignored(self, collection, place):
        text = bundle.program(
            "a.first", collection(a__first=SLEEPS.replace("time.sleep(60)", "input(), print('went on')"))
        )
        ignoring = [
            sys.executable,
            "-c",
            "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])",
        ]
        with started(place, text, *ignoring) as process:
            process.send_signal(signal.SIGHUP)
            out, err = process.communicate("\n", timeout=60)
        assert (out, err, process.returncode) == ("went on\n", "", 0)

    def test_a_folder_without_room_is_told(self, collection, place):
        command = place.command(bundle.program("a.first", collection(a__first="def main(): pass\n#" + 5000 * "x")))
        limited = ["prlimit", "--fsize=4096", *command]
        done = subprocess.run(limited, env=place.environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (
            1,
            "",
            f"{place.file} lays its parts down in a temporary folder for as long as it runs, and that failed: [Errno 27] File too large. "
            "Make room there, or name another folder in the environment variable TMPDIR.\n",
        )
        assert place.left() == []


@contextmanager
def started(place: Place, text: str, *before: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that its main runs."""
    process = subprocess.Popen(
        [*DIES_WITH_US, *HEARS_SIGNALS, *before, *place.command(text)],
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()
