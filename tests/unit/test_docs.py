# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for people: lines and table cells that fit on a screen, links and paths that lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "plugins/module_utils"
ARCHITECTURE = ROOT / "docs/architecture.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE_COLUMNS = 100
CELL_CHARACTERS = 120

page_by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines, without fenced blocks and without blocks indented by four columns or more."""
    fence = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and not line.startswith("    "):
            yield number, line


def long_lines(text: str) -> list[str]:
    """Lines of prose that are too wide. Targets of links do not count: an address cannot be wrapped."""
    return [
        f"{number}: {line}"
        for number, line in outside_code(text)
        if not line.startswith("|") and not re.match(r"\[[^]]+\]: ", line)
        if len(re.sub(r"\]\([^)]*\)", "]", line)) > PROSE_COLUMNS
    ]


def long_cells(text: str) -> list[str]:
    return [
        f"{number}: {cell.strip()}"
        for number, line in outside_code(text)
        if line.startswith("|")
        for cell in re.split(r"(?<!\\)\|", line)
        if len(cell.strip()) > CELL_CHARACTERS
    ]


def link_targets(text: str) -> list[str]:
    """Targets of inline links and images, and of link definitions; anchors in the same page and addresses left out."""
    prose = "\n".join(line for _number, line in outside_code(text))
    targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"^\[[^]]+\]: (\S+)", prose, re.MULTILINE)
    return [target for target in targets if not re.match(r"https?://|#", target)]


def undefined_links(text: str) -> set[str]:
    """Labels used as `[text][label]`, or as `[#12]` by themselves, that no line of the page defines."""
    prose = "\n".join(line for _number, line in outside_code(text))
    defined = set(re.findall(r"^\[([^]]+)\]: \S", prose, re.MULTILINE))
    return set(re.findall(r"\]\[([^]]+)\]", prose) + re.findall(r"\[(#\d+)\](?!\()", prose)) - defined


def named_paths(text: str) -> list[str]:
    """Code spans that are paths of the repository: below one of its folders, or below a room. A word in capitals, as NAME, stands for any name."""
    prose = "\n".join(line for _number, line in outside_code(text))
    folders = {path.name for top in (ROOT, ROOMS) for path in top.iterdir() if path.is_dir()}
    return [span for span in re.findall(r"`([^`\s]+)`", prose) if "/" in span and span.partition("/")[0] in folders]


def leads_somewhere(path: str) -> bool:
    pattern = re.sub(r"\b[A-Z]{2,}\b(?!\.md)", "*", path.rstrip("/"))
    return any(any(folder.glob(pattern)) for folder in (ROOT, ROOMS))


def sections(text: str, level: int) -> dict[str, str]:
    """What stands below each heading of this level, up to the next heading of that level or a higher one."""
    parts = re.split(rf"^(#{{1,{level}}}) (.+)$", text, flags=re.MULTILINE)
    return {parts[at + 1]: parts[at + 2] for at in range(1, len(parts), 3) if len(parts[at]) == level}


@page_by_page
def test_prose_fits_in_a_hundred_columns(page: Path) -> None:
    assert long_lines(page.read_text(encoding="utf-8")) == []


@page_by_page
def test_table_cells_are_short(page: Path) -> None:
    assert long_cells(page.read_text(encoding="utf-8")) == []


@page_by_page
def test_links_lead_to_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in link_targets(text)]
    assert [target for target in targets if not (page.parent / target).exists()] == []
    assert undefined_links(text) == set()


def test_what_the_pages_are_read_with() -> None:
    wide = "a" * 101
    text = f"{wide}\n```\n{wide}\n```\n    {wide}\n[{'a' * 90}](docs/{wide}.md)\n[label]: https://{wide}\n"
    assert long_lines(text) == [f"1: {wide}"]
    assert long_cells(f"| {'b' * 120} | {'c' * 121} |\n| d\\|{'e' * 118} |\n") == [
        f"1: {'c' * 121}",
        f"2: d\\|{'e' * 118}",
    ]
    linked = "[a](b.md) ![c](d.png) [e](#f) [g](https://h/) [i](j.md#k) [l][m] [n][o] [#7]\n\n[m]: p.md\n```\n[q](r.md)\n```\n"
    assert link_targets(linked) == ["b.md", "d.png", "j.md#k", "p.md"]
    assert undefined_links(linked) == {"o", "#7"}


@page_by_page
def test_paths_exist(page: Path) -> None:
    assert [path for path in named_paths(page.read_text(encoding="utf-8")) if not leads_somewhere(path)] == []


def test_the_architecture_has_every_room_and_no_other() -> None:
    table = sections(ARCHITECTURE.read_text(encoding="utf-8"), 2)["The rooms"].partition("\n\nThe rest")[0]
    named = set(re.findall(r"^\| `([\w/]+)/` \|", table, re.MULTILINE))
    folders = {str(file.parent.relative_to(ROOMS)) for file in ROOMS.rglob("*.py")}
    assert named == folders - {"."}


@pytest.mark.parametrize(
    "change",
    [
        "A version of SGLang renames a flag",
        "A kind of attention",
        "An Xid",
        "An option of gpu_release",
        "The text of a refusal",
        "A check of verification",
        "A profile",
        "A log line of the engine",
    ],
)
def test_the_architecture_names_the_places_of_a_change(change: str) -> None:
    named = named_paths(sections(ARCHITECTURE.read_text(encoding="utf-8"), 3)[change])
    assert any(path.startswith("tests/") for path in named)
    assert any(leads_somewhere(path) for path in named if not path.startswith(("tests/", "docs/")))


def test_what_paths_are_told_by() -> None:
    text = (
        "`docs/xids.md` `core/` `gpu_release` `/etc/sglang/` `lxc/ID` `core/ x`\n```\n`tests/b`\n```\n`release/no.py`\n"
    )
    assert named_paths(text) == ["docs/xids.md", "core/", "release/no.py"]
    assert all(
        map(leads_somewhere, ["docs/xids.md", "core/", "playbooks/profiles/NAME.yml", "tests/data/models/NAME/"])
    )
    assert not any(map(leads_somewhere, ["docs/yids.md", "kore/", "playbooks/NAME/NAME/NAME.yml"]))
    assert sections("# A\nb\n## C\nd\n### E\nf\n## G\nh\n", 2) == {"C": "\nd\n### E\nf\n", "G": "\nh\n"}
