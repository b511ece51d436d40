# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test of a host that fails may print of a unit."""

from __future__ import annotations

from types import SimpleNamespace

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.hosts.unit import Unit

KEY = "opens everything"
TOKEN = "t0ken"
FILES = {
    instance.CONFIG: f'# Ansible managed\napi-key: "{KEY}"\nport: 30000\n',
    instance.ENVIRONMENT: f'# Ansible managed\nREGISTRY="{TOKEN}"\nDEBUG="1"\n',
}
SAID = f"""1 server_args=ServerArgs(api_key='{KEY}', port=30000)
2 The registry wants {TOKEN}.
3 {KEY} was refused.
4 api_key=something-older
"""


class Host:
    """Has two files and a journal."""

    def run(self, command: str, *arguments: str) -> SimpleNamespace:
        text = FILES.get(arguments[0], "") if command == "cat %s" else SAID
        return SimpleNamespace(stdout=text, stderr="")


def test_its_journal_comes_without_the_key_and_the_environment() -> None:
    unit = Unit(Host(), instance.UNIT, instance.secrets(Host()))
    assert unit.journal().splitlines() == [
        "2 The registry wants ********.",
        "3 ******** was refused.",
        "4 api_key=********",
    ]


def test_its_own_text_says_no_secret() -> None:
    assert repr(Unit(Host(), instance.UNIT, instance.secrets(Host()))) == "Unit(name='sglang-kimi.service')"


def test_a_value_that_stands_everywhere_is_no_secret() -> None:
    assert instance.secrets(Host()) == (KEY, TOKEN)
