# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the engine's compact flag tables out of the recorded ones: each option once, with the range of versions it holds for.

python3 tests/tools/make_flag_tables.py            writes plugins/module_utils/sglang/flags/*.py
python3 tests/tools/make_flag_tables.py --check    exits 1 when a table is not what would be written
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "data" / "sglang" / "flags"
TABLES = ROOT / "plugins" / "module_utils" / "sglang" / "flags"
WRITTEN_BY_HAND = ("changes.py", "table.py")
HEADER = '''# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""{subject} of SGLang since {oldest}. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

'''
WIDTH = 156
SWITCHES = ("StoreTrueAction", "BooleanOptionalAction", "DeprecatedStoreTrueAction", "DeprecatedStoreConstAction")
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
# file -> (what it holds, kinds)
KIND_FILES = {
    "switches": ("Switches, and options without effect,", ("switch", "idle")),
    "numbers": ("Options that take numbers,", ("whole", "amount", "number")),
    "texts": ("Options that take texts or JSON,", ("text", "json")),
}


class Compact(NamedTuple):
    """One version's options, as pairs of (head, word): (kind, name), (name, choice), (first name, alias), ("barred", name)."""

    kinds: list[tuple[str, str]]
    choices: list[tuple[str, str]]
    aliases: list[tuple[str, str]]
    barred: list[tuple[str, str]]


def kind_of(option: dict[str, Any]) -> str:
    """`switch`, `whole`, `whole-list`, ... as the flag table names it."""
    if option["action"] == "DeprecatedAction":
        return "idle"
    if option["action"] in SWITCHES:
        return "switch" if option.get("nargs") == "0" else "text"
    return KIND_OF_TYPE[option.get("type")] + ("-list" if option.get("nargs") in ("+", "*") else "")


def compact(recording: dict[str, dict[str, Any]]) -> Compact:
    """Names of one option are those with one dest and one action; the parser's first one leads."""
    found = Compact([], [], [], [])
    first: dict[tuple[str, str], str] = {}
    for flag, option in recording.items():
        if option["action"] == "HelpAction":
            continue
        name = flag.removeprefix("--")
        known = first.setdefault((option["dest"], option["action"]), name)
        if known == name:
            found.kinds.append((kind_of(option), name))
            found.choices.extend((name, choice) for choice in option.get("choices", ()))
        else:
            found.aliases.append((known, name))
        if option.get("config") is False:
            found.barred.append(("barred", name))
    return found


def rows(by_version: Sequence[Iterable[tuple[str, str]]], versions: Sequence[str]) -> list[str]:
    """Lines `FIRST-LAST HEAD WORDS...`; pairs of one head and one range stand together, and heads of the same words share a line.

    What the newest version still has is written without LAST, so that a new version changes only the lines of what it changed.
    """
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pairs in enumerate(by_version):
        for pair in pairs:
            places[pair].append(place)
    groups: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for (head, word), held in places.items():
        for first, last in spans(held):
            groups[head, first, last].append(word)
    heads: dict[tuple[int, int, tuple[str, ...]], list[str]] = defaultdict(list)
    for (head, first, last), words in sorted(groups.items()):
        heads[first, last, tuple(sorted(words))].append(head)
    lines = []
    for (first, last, words), sharing in sorted(heads.items(), key=lambda item: (item[1], item[0])):
        newest = last == len(versions) - 1
        span = (
            versions[first] if first == last and not newest else f"{versions[first]}-{'' if newest else versions[last]}"
        )
        for heads_of_line in joined(sharing):
            lines += filled(f"{span} {heads_of_line}", words)
    return lines


def spans(places: Sequence[int]) -> list[tuple[int, int]]:
    """[0, 1, 2, 5] -> [(0, 2), (5, 5)]"""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return found


def joined(heads: Sequence[str]) -> list[str]:
    """Heads with commas between, in as few texts as leave room for words."""
    texts = [heads[0]]
    for head in heads[1:]:
        if len(texts[-1]) + 1 + len(head) > WIDTH // 2:
            texts.append(head)
        else:
            texts[-1] += f",{head}"
    return texts


def filled(head: str, words: Sequence[str]) -> list[str]:
    """As many lines as the words need, each with its head."""
    lines = [head]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > WIDTH and lines[-1] != head:
            lines.append(head)
        lines[-1] += f" {word}"
    return lines


def order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def block(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f'{name} = """', *lines, '"""', ""])


def rendered() -> dict[Path, str]:
    """The text of every generated module."""
    versions = sorted((path.stem for path in RECORDINGS.glob("*.json")), key=order)
    found = [compact(json.loads((RECORDINGS / f"{version}.json").read_text())) for version in versions]
    bodies = {
        name: (subject, block("ROWS", rows([kinds_among(one, kinds) for one in found], versions)))
        for name, (subject, kinds) in KIND_FILES.items()
    }
    for name, subject, backends in (("backends", "Backends to choose from", True), ("choices", "Other choices", False)):
        chosen = [[pair for pair in one.choices if ("backend" in pair[0]) is backends] for one in found]
        bodies[name] = (subject, block("ROWS", rows(chosen, versions)))
    bodies["names"] = (
        "Further names of options, and barred names,",
        "\n".join(
            [
                block("VERSIONS", filled("", versions)),
                block("ALIASES", rows([one.aliases for one in found], versions)),
                block("BARRED", rows([one.barred for one in found], versions)),
            ]
        ).rstrip("\n")
        + "\n",
    )
    return {
        TABLES / f"{name}.py": HEADER.format(subject=subject, oldest=versions[0]) + body
        for name, (subject, body) in bodies.items()
    }


def kinds_among(one: Compact, kinds: Sequence[str]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in one.kinds if kind.removesuffix("-list") in kinds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    wanted = rendered()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += sorted(set(TABLES.glob("*.py")) - set(wanted) - {TABLES / name for name in WRITTEN_BY_HAND})
    if not arguments.check:
        for path in stale:
            path.write_text(wanted[path]) if path in wanted else path.unlink()
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not what tests/tools/make_flag_tables.py makes of the recordings: run it.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
