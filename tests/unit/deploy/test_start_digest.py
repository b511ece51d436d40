# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as a change of the start, and what must not cost a restart."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.deploy.start_digest import (
    InputChange,
    changes,
    effective_lines,
    holds_secret,
    start_digest,
)

CONFIG = '# managed\nmem-fraction-static: 0.88\nport: 30000\napi-key: "abc"\n'
ENVIRONMENT = 'NCCL_P2P_LEVEL="SYS"\n'
UNIT = """[Unit]
Description=Kimi
StartLimitBurst=3

[Service]
User=sglang
Environment=BLACKWELL_START_DIGEST=abc
Environment=PATH=/opt/a/bin
ExecStart=/opt/a/bin/python -m sglang.launch_server \\
  --config /etc/sglang/kimi/server.yaml
TimeoutStartSec=900
Restart=on-failure
MemoryMax=100
LimitMEMLOCK=infinity

[Install]
WantedBy=multi-user.target
"""
TEXTS = {"config": CONFIG, "environment": ENVIRONMENT, "unit": UNIT}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("unit", "Description=Kimi", "Description=Kimi of the third floor"),
        ("unit", "StartLimitBurst=3", "StartLimitBurst=5"),
        ("unit", "TimeoutStartSec=900", "TimeoutStartSec=1800"),
        ("unit", "Restart=on-failure", "Restart=always"),
        ("unit", "MemoryMax=100", "MemoryMax=200"),
        ("unit", "BLACKWELL_START_DIGEST=abc", "BLACKWELL_START_DIGEST=def"),
        ("unit", "WantedBy=multi-user.target", "WantedBy=graphical.target"),
        ("unit", " \\\n  --config", " --config"),
        ("config", "# managed", "# managed by somebody"),
        ("environment", "NCCL", "\n# a comment\nNCCL"),
    ],
)
def test_what_the_process_does_not_read_changes_nothing(kind, old, new):
    changed = TEXTS[kind].replace(old, new)
    assert changed != TEXTS[kind]
    assert changes(kind, TEXTS[kind], changed) == ()
    assert start_digest({**TEXTS, kind: changed}) == start_digest(TEXTS)


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"),
    [
        ("config", "0.88", "0.85", "mem-fraction-static: 0.88 becomes 0.85"),
        ("config", "port: 30000\n", "", "port is gone"),
        ("config", "port: 30000\n", "port: 30000\ntp-size: 8\n", "tp-size is new"),
        ("config", '"abc"', '"def"', "api-key changed"),
        ("environment", "SYS", "PHB", "NCCL_P2P_LEVEL changed"),
        ("unit", "User=sglang", "User=root", "User: sglang becomes root"),
        ("unit", "PATH=/opt/a/bin", "PATH=/opt/b/bin", "Environment PATH: /opt/a/bin becomes /opt/b/bin"),
        ("unit", "LimitMEMLOCK=infinity\n", "", "LimitMEMLOCK is gone"),
    ],
)
def test_what_the_process_reads_is_told_by_name(kind, old, new, told):
    changed = TEXTS[kind].replace(old, new)
    assert changes(kind, TEXTS[kind], changed) == (InputChange(kind, told),)
    assert start_digest({**TEXTS, kind: changed}) != start_digest(TEXTS)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("max-total-tokens", "max-total-tokens: 1 becomes 2"),
        ("tokenizer-path", "tokenizer-path: 1 becomes 2"),
        ("hf-token", "hf-token changed"),
        ("token", "token changed"),
        ("ssl-keyfile-password", "ssl-keyfile-password changed"),
    ],
)
def test_a_value_is_told_unless_it_may_be_a_secret(name, told):
    assert changes("config", f"{name}: 1\n", f"{name}: 2\n") == (InputChange("config", told),)


def test_the_order_of_lines_is_read_too():
    swapped = 'port: 30000\nmem-fraction-static: 0.88\napi-key: "abc"\n'
    assert changes("config", CONFIG, swapped) == (InputChange("config", "the order of its lines changed"),)


def test_only_the_service_section_reaches_the_process():
    assert effective_lines("unit", UNIT) == (
        "User=sglang",
        "Environment=PATH=/opt/a/bin",
        "ExecStart=/opt/a/bin/python -m sglang.launch_server --config /etc/sglang/kimi/server.yaml",
        "LimitMEMLOCK=infinity",
    )


@pytest.mark.parametrize(
    ("kind", "text", "secret"),
    [
        ("config", "port: 30000\nmax-total-tokens: 4000\n", False),
        ("config", "api-key: abc\n", True),
        ("config", "ssl-keyfile-password: abc\n", True),
        ("environment", "# nothing yet\n", False),
        ("environment", "NCCL_DEBUG=INFO\n", True),
        ("unit", UNIT, False),
        ("unit", UNIT + "# ExecStart=python -m sglang.launch_server --api-key abc\n", True),
        ("record", '{"tokens": 1}', False),
    ],
)
def test_texts_that_must_not_be_shown(kind, text, secret):
    assert holds_secret(kind, text) is secret
