# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the fake NVML library is built."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml import build

HEADER = """
nvmlReturn_t DECLDIR nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);
DEPRECATED(13.0) nvmlReturn_t DECLDIR nvmlDeviceGetOld(nvmlDevice_t device);
nvmlReturn_t DECLDIR nvmlDeviceDoSpaced (nvmlDevice_t device);
"""


def test_a_stub_for_each_declared_function_without_an_answer():
    text = build.stubs(HEADER, "TEXT_QUERY(nvmlDeviceGetName, ...)")
    assert text == (
        "int fake_nvml_unanswered(const char *function);\n"
        'int nvmlDeviceDoSpaced(void)\n{\n    return fake_nvml_unanswered("nvmlDeviceDoSpaced");\n}\n'
        'int nvmlDeviceGetOld(void)\n{\n    return fake_nvml_unanswered("nvmlDeviceGetOld");\n}\n'
    )


def test_a_second_build_finds_the_first(monkeypatch):
    made = build.build()
    monkeypatch.setattr(build, "compile_library", lambda *_: pytest.fail("built again"))
    assert build.build() == made


def test_a_missing_tool_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(build.BuildError) as failure:
        build.run("gcc", "--version")
    assert str(failure.value) == (
        "The fake NVML library needs gcc, which is not installed: install it (Debian: gcc, libc6-dev, binutils)."
    )


def test_what_a_failing_tool_said_is_passed_on(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("#error this is said\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"(?s)^gcc failed with 1 while .* was built:\n.*this is said"):
        build.run("gcc", "-c", source, "-o", tmp_path / "wrong.o")


def test_a_library_bound_to_a_newer_glibc_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "required_glibc", lambda _: (2, 38))
    with pytest.raises(build.BuildError) as failure:
        build.compile_library(tmp_path, "0")
    assert str(failure.value) == (
        "The fake NVML library was bound to glibc 2.38, and Debian 12 has 2.36: "
        "some source calls a newer function; use an older one."
    )
