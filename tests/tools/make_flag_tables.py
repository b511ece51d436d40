# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the engine's compact flag tables out of the recorded ones.

python3 tests/tools/make_flag_tables.py            writes plugins/module_utils/engine/flags_<version>.py
python3 tests/tools/make_flag_tables.py --check    exits 1 when a table is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "data" / "sglang" / "flags"
TABLES = ROOT / "plugins" / "module_utils" / "engine"
HEADER = '''# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of SGLang {version}. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags/{version}.json."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import FlagTable

'''
KIND_OF_ACTION = {
    "StoreTrueAction": "switch",
    "BooleanOptionalAction": "switch",
    "DeprecatedAction": "deprecated",
    "DeprecatedStoreTrueAction": "deprecated",
    "DeprecatedStoreConstAction": "deprecated",
}
KIND_OF_TYPE = {
    "int": "whole",
    "human_readable_int": "amount",
    "float": "number",
    "str": "text",
    "nullable_str": "text",
    "parse_cuda_graph_backend_arg": "text",
    "parse_cuda_graph_config_arg": "json",
    "loads": "json",
    "json_list_type": "json",
    None: "text",
}


def kind_of(option: dict[str, Any]) -> str:
    """`switch`, `whole`, `whole list`, ... as the flag table names it."""
    if option["action"] in KIND_OF_ACTION:
        return KIND_OF_ACTION[option["action"]]
    return KIND_OF_TYPE[option.get("type")] + (" list" if option.get("nargs") in ("+", "*") else "")


def compact(recording: dict[str, dict[str, Any]]) -> tuple[dict[str, list[str]], dict[str, str], dict[str, str]]:
    """(names by kind, choices by name, first name by alias); names of one option are neighbours with one dest and action."""
    by_kind: dict[str, list[str]] = {}
    choices: dict[str, str] = {}
    aliases: dict[str, str] = {}
    first: dict[tuple[str, str], str] = {}
    for flag, option in recording.items():
        if option["action"] == "HelpAction":
            continue
        name = flag.removeprefix("--")
        known = first.setdefault((option["dest"], option["action"]), name)
        if known != name:
            aliases[name] = known
            continue
        by_kind.setdefault(kind_of(option), []).append(name)
        if option.get("choices"):
            choices[name] = " ".join(option["choices"])
    return by_kind, choices, aliases


def block(words: str, indent: int) -> str:
    """Words filled into lines."""
    return textwrap.indent(
        textwrap.fill(words, 140 - indent, break_on_hyphens=False, break_long_words=False), " " * indent
    )


def rendered(version: str) -> str:
    """The table's module as text."""
    by_kind, choices, aliases = compact(json.loads((RECORDINGS / f"{version}.json").read_text()))
    lines = [HEADER.format(version=version) + "TABLE = FlagTable.of(", f'    version="{version}",', "    by_kind={"]
    for kind, names in sorted(by_kind.items()):
        lines += [f'        "{kind}": """', block(" ".join(sorted(names)), 8), '        """,']
    lines.append("    },")
    for title, rows in (("choices", choices), ("aliases", aliases)):
        lines += [
            f'    {title}="""',
            block(" ".join(f"{key}: {value}" for key, value in sorted(rows.items())), 4),
            '    """,',
        ]
    return "\n".join([*lines, ")", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for recording in sorted(RECORDINGS.glob("*.json")):
        target = TABLES / f"flags_{recording.stem.replace('.', '_')}.py"
        if arguments.check:
            stale += [] if target.exists() and target.read_text() == rendered(recording.stem) else [target]
        else:
            target.write_text(rendered(recording.stem))
    for target in stale:
        print(f"{target.relative_to(ROOT)} is not what tests/tools/make_flag_tables.py makes of its recording: run it.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
