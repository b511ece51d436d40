# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the documentation against names in the code, both ways: returned keys, suboptions, and what docs/ puts in backticks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    Calibration,
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.profile_rule import (
    profile_rules_from,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import (
    ServingPolicy,
    serving_from_dict,
)
from ansible_collections.blackwell.inference.tests.unit import module_results

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
FLAGS = ROOT / "tests/data/sglang/flags"
MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("*.py"))
OPEN = {
    "deployment_inputs": {
        "inputs.sglang_versions": "by distribution",
        "inputs.toolbox_versions": "by distribution",
    },
    "deployment_info": {
        "deployment.environments.differs": "by distribution",
        "deployment.environments.missing": "by distribution",
        "deployment.records.calibration": "a record, whoever wrote it",
        "deployment.records.plan": "a record, whoever wrote it",
        "deployment.records.verdict": "a record, whoever wrote it",
    },
    "gpu_release": {
        "release.holders.devices": "by device node",
        "release.holders.gpu_memory_bytes": "by index of the GPU",
    },
    "memory_plan": {"plan.arguments": "by engine flag"},
    "model_info": {"model.sources": "by fact", "model.weights.by_dtype": "by data type"},
    "proxmox_gpu_guests": {"guests.guests.holders.devices": "by device node"},
    "server_ready": {"watch": "private to the action plugin"},
    "server_verify": {"calibration.arguments": "by engine flag"},
    "topology_facts": {"ansible_facts.blackwell_topology.kernel.modules.parameters": "by parameter"},
}
"""Dictionaries whose keys are data: they have no `contains`, and every other dictionary has."""
TYPES = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "list": (list, tuple),
    "dict": dict,
    "raw": object,
}
ALWAYS = ("always", "success")
FROM_ANSIBLE = {"changed", "failed", "msg"}
"""Every module has them, and need not document them."""
ALIKE = {"refused_plan": "plan"}
"""Structures that are documented by another one."""
BESIDE = {"memory_plan": PLUGINS / "plugin_utils" / "planned.py"}
"""Where an action plugin leaves the making of its result to."""


def docs_of(module: str, name: str) -> Any:
    """DOCUMENTATION or RETURN as the module's file says it, without fragments."""
    return documented(PLUGINS / "modules" / f"{module}.py", name)


def documented(path: Path, name: str) -> Any:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return yaml.safe_load(ast.literal_eval(node.value))
    raise AssertionError(f"{path.name} has no {name}")


def options_of(module: str) -> dict[str, Any]:
    """The options with those of the collection's own fragments."""
    found = docs_of(module, "DOCUMENTATION")
    options: dict[str, Any] = {}
    for fragment in found["extends_documentation_fragment"]:
        name, _dot, section = fragment.removeprefix("blackwell.inference.").partition(".")
        path = PLUGINS / "doc_fragments" / f"{name}.py"
        options |= documented(path, section.upper() or "DOCUMENTATION").get("options", {})
    return options | found.get("options", {})


def dictionaries(values: list[Any]) -> list[dict[str, Any]]:
    """Those among values and in lists of them, however deep."""
    found = []
    for value in values:
        if isinstance(value, dict):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += dictionaries(list(value))
    return found


def faults(docs: dict[str, Any], results: list[dict[str, Any]], opened: set[str], at: str = "") -> Iterator[str]:
    """Where `contains` and the results differ, key by key and down to the leaves."""
    returned = {key for result in results for key in result}
    yield from (f"{at}{key} is returned and not documented" for key in sorted(returned - set(docs)))
    yield from (f"{at}{key} is documented and not returned" for key in sorted(set(docs) - returned))
    for key in sorted(set(docs) & returned):
        entry, place = docs[key], f"{at}{key}"
        values = [result[key] for result in results if key in result]
        if entry["returned"] in ALWAYS and len(values) < len(results):
            yield f"{place} is documented as returned {entry['returned']} and is not"
        if entry["returned"] not in ALWAYS and len(values) == len(results):
            yield f"{place} is always returned and documented as returned {entry['returned']}"
        wrong = [value for value in values if value is not None and not fits(value, entry)]
        yield from (f"{place} is documented as {entry['type']}, and is {value!r:.60}" for value in wrong[:1])
        inner = dictionaries(values)
        if "contains" in entry:
            yield from faults(entry["contains"], inner, opened, f"{place}.")
        elif (inner or entry["type"] == "dict" or entry.get("elements") == "dict") and place not in opened:
            yield f"{place} is a dictionary without contains"


def fits(value: Any, entry: dict[str, Any]) -> bool:
    if isinstance(value, bool) and entry["type"] not in ("bool", "raw"):
        return False
    elements = [element for element in value if element is not None] if isinstance(value, (list, tuple)) else []
    return isinstance(value, TYPES[entry["type"]]) and all(
        isinstance(element, TYPES[entry["elements"]]) for element in elements if "elements" in entry
    )


@pytest.fixture(scope="module")
def topologies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    with pytest.MonkeyPatch.context() as patch:
        yield module_results.topology_facts(tmp_path_factory.mktemp("hosts"), patch.setenv)


@pytest.fixture
def results_of(request_for, topologies, tmp_path, monkeypatch) -> Callable[[str], list[dict[str, Any]]]:
    host = topologies[0]["ansible_facts"]["blackwell_topology"]
    makers: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "deployment_inputs": module_results.deployment_inputs,
        "pinned_environment": lambda: module_results.pinned_environment(tmp_path),
        "deployment_info": lambda: module_results.deployment_info(tmp_path, monkeypatch),
        "gpu_release": module_results.gpu_release,
        "memory_plan": lambda: module_results.memory_plan(request_for, host),
        "model_info": module_results.model_info,
        "proxmox_gpu_guests": module_results.proxmox_gpu_guests,
        "server_ready": module_results.server_ready,
        "server_verify": module_results.server_verify,
        "topology_facts": lambda: topologies,
    }
    return lambda module: makers[module]() if module in makers else []


@pytest.mark.parametrize("module", MODULES)
def test_each_returned_structure_is_documented_as_it_is(module, results_of):
    docs, results = docs_of(module, "RETURN"), results_of(module)
    for key, other in ALIKE.items():
        if key in docs:
            assert docs.pop(key)["contains"] == docs[other]["contains"]
            results = [{ALIKE.get(name, name): value for name, value in result.items()} for result in results]
    structures = {key for key, entry in docs.items() if "contains" in entry}
    assert structures - {"missing_libraries"} == {
        key for result in results for key in result if "contains" in docs[key]
    }
    opened, found = set(OPEN.get(module, ())), list[str]()
    for key in sorted({key for result in results for key in result}):
        entry = {**docs[key], "returned": "always"}  # when it is returned as a whole, no sample tells
        found += faults({key: entry}, [{key: result[key]} for result in results if key in result], opened)
    assert found == []
    named = {path for path, entry in entries(docs) if entry["type"] == "dict" or entry.get("elements") == "dict"}
    assert {path for path in named if "contains" not in dict(entries(docs))[path]} == opened


@pytest.mark.parametrize("module", MODULES)
def test_each_key_of_a_result_is_documented(module, results_of):
    """By real results, the details of a refusal among them, and by what the module and its action plugin end with on any other way."""
    files = [PLUGINS / kind / f"{module}.py" for kind in ("modules", "action")]
    files += [BESIDE[module]] if module in BESIDE else []
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files if path.exists()]
    keys = {key for tree in trees for key in ending_keys(tree)} | {
        key for result in results_of(module) for key in result
    }
    if any("libraries" in names_in(tree) for tree in trees):
        keys |= {"missing_libraries"}
    assert keys - FROM_ANSIBLE == set(docs_of(module, "RETURN")) - FROM_ANSIBLE


def ending_keys(tree: ast.AST) -> Iterator[str]:
    """Keywords of exit_json and fail_json, keys of a dictionary that is returned as a result, and of what is spread out in either."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_ending(node.func)]
    returned = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)
    ]
    results = [node for node in returned if FROM_ANSIBLE & set(keys_in(node)) or "result" in spread_names(node)]
    spread = [keyword.value for call in calls for keyword in call.keywords if keyword.arg is None]
    spread += [value for node in results for key, value in zip(node.keys, node.values, strict=True) if key is None]
    names = {"result"} | {node.id for node in spread if isinstance(node, ast.Name)}
    yield from (keyword.arg for call in calls for keyword in call.keywords if keyword.arg)
    yield from (key for node in (*results, *spread) for key in keys_in(node))
    for node in ast.walk(tree):
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        if isinstance(target, ast.Name) and target.id in names:
            yield from keys_in(node.value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names:
            yield ast.literal_eval(target.slice)


def spread_names(node: ast.Dict) -> set[str]:
    pairs = zip(node.keys, node.values, strict=True)
    return {value.id for key, value in pairs if key is None and isinstance(value, ast.Name)}


def is_ending(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in ("exit_json", "fail_json")


def keys_in(node: ast.AST | None) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from (key.value for key in node.keys if isinstance(key, ast.Constant))


def names_in(tree: ast.AST) -> set[str]:
    named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return named | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("module", MODULES)
def test_a_sample_has_no_key_of_its_own(module):
    docs = docs_of(module, "RETURN")
    samples = [(path, entry) for path, entry in entries(docs) if "sample" in entry and "contains" in entry]
    assert [key for path, entry in samples for key in unknown_in(entry["sample"], entry["contains"], path)] == []


def entries(docs: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every documented key with its place, those inside of `contains` too."""
    for key, entry in docs.items():
        yield f"{at}{key}", entry
        yield from entries(entry.get("contains", {}), f"{at}{key}.")


def unknown_in(sample: Any, docs: dict[str, Any], at: str) -> Iterator[str]:
    for shown in dictionaries([sample]):
        for key, value in shown.items():
            if key not in docs:
                yield f"{at}.{key}"
            elif "contains" in docs[key]:
                yield from unknown_in(value, docs[key]["contains"], f"{at}.{key}")


def expected_in(take: Any, given: Any) -> set[str]:
    """The names in the list that a refusal says it expected."""
    with pytest.raises(InferenceError) as refused:
        take(given)
    listed = re.search(r"(?:expected|it knows|one of|out of) ((?:\w+, )+\w+)", str(refused.value))
    assert listed is not None, str(refused.value)
    return set(listed[1].split(", "))


def test_the_keys_of_serving_are_those_that_planning_takes():
    documented_ = options_of("memory_plan")["serving"]["suboptions"]
    assert set(documented_) == expected_in(serving_from_dict, {"no-such-key": 1})
    plain = {field.name: field.default for field in fields(ServingPolicy)}
    assert {key: option.get("default") for key, option in documented_.items()} == {
        **plain,
        "force": list(plain["force"]),
    }
    for key, option in documented_.items():
        if "choices" in option:
            wrong: Any = ["no such"] if option["type"] == "list" else "no such"
            assert set(option["choices"]) == expected_in(serving_from_dict, {key: wrong}), key


def test_the_keys_of_hardware_are_those_that_planning_takes():
    documented_ = options_of("memory_plan")["hardware"]["suboptions"]
    assert set(documented_) == expected_in(host_from_hardware, {"no-such-key": 1})
    whole = {"gpus": 0, "ram_gib": 8}
    assert {key for key, option in documented_.items() if option.get("required")} == set(whole)
    assert host_from_hardware(whole).gpus == ()
    for key in whole:
        with pytest.raises(InferenceError, match=key):
            host_from_hardware({name: size for name, size in whole.items() if name != key})


def test_the_keys_of_a_calibration_are_those_that_planning_reads():
    documented_ = options_of("memory_plan")["calibration"]["suboptions"]
    plain = {field.name: field.default for field in fields(Calibration)}
    assert {key: option.get("default") for key, option in documented_.items()} == plain
    assert calibration_from_dict({"unknown": 1}) == Calibration()
    assert set(documented_["kind"]["choices"]) == expected_in(calibration_from_dict, {"kind": "no such"})


def test_the_conditions_of_a_profile_are_those_that_planning_knows():
    row = options_of("memory_plan")["refuses"]["suboptions"]
    when = {"when": {"no such": 1}, "why": "x"}
    assert set(row["when"]["suboptions"]) == expected_in(profile_rules_from, [when])
    level = {"when": {"ranks_below": 2}, "why": "x", "level": "no such"}
    assert set(row["level"]["choices"]) == expected_in(profile_rules_from, [level])


DOCS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
CODE = [
    path
    for folder in ("plugins", "roles", "playbooks", "tests/conformance")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".yml", ".j2") and "output" not in path.parts
]
VERSIONS = [
    f"0.5.{number}"
    for number in sorted(int(path.stem[4:]) for path in FLAGS.glob("0.5.*.json") if path.stem[4:].isdecimal())
]
KEYS_OF_OTHERS = {"memory.high", "memory.total"}
"""Of control groups and of nvidia-smi."""
WORDS_OF_THE_ENGINE = {"draft_swa", "get_rope", "host_memory_budget_bytes", "resolve_max_num_reqs"}
"""Of SGLang's log and functions, for which our code has no use."""
FILE = re.compile(r"[\w./-]+\.(?:py|yml|yaml|j2|json|md|html|txt)")
ARCHITECTURE = re.compile(r"\b[A-Z]\w+(?:For[A-Z]\w+|MTP)\b")


def in_backticks(path: Path) -> list[str]:
    """What stands in single backticks, outside of blocks of code."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


@pytest.fixture(scope="module")
def words_of_code() -> set[str]:
    return {word for path in CODE for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_a_name_on_a_page_is_one_of_the_code(page, words_of_code):
    """Of names that can be nothing else: those with an underscore inside."""
    names = {name for name in in_backticks(page) if re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+", name)}
    assert sorted(names - words_of_code - WORDS_OF_THE_ENGINE) == []


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_an_option_on_a_page_is_one_of_a_module(page):
    """Where a page says "option `x`", "options `x`, `y` and `z`" or "`x` of `module`"."""
    named = {module: set(options_of(module)) for module in MODULES}
    text = page.read_text(encoding="utf-8")
    lists = re.findall(r"\b[Oo]ptions?((?:,?\s(?:and\s|or\s)?`\w+`)+)", text)
    options = {name for names in lists for name in re.findall(r"\w+(?=`)", names)}
    assert sorted(options - set().union(*named.values())) == []
    returned = {
        module: {path.rpartition(".")[2] for path, _entry in entries(docs_of(module, "RETURN"))} for module in MODULES
    }
    pairs = [(name, module) for name, module in re.findall(r"`(\w+)` of `(\w+)`", text) if module in MODULES]
    assert [(name, module) for name, module in pairs if name not in named[module] | returned[module]] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_a_path_into_a_result_on_a_page_exists(page):
    """`plan.host.free_h`: of what begins with a returned key that has others inside."""
    returned = [path for module in MODULES for path, _entry in entries(docs_of(module, "RETURN"))]
    structures = {path.rpartition(".")[0].rpartition(".")[2] for path in returned}
    names = [
        name for name in in_backticks(page) if re.fullmatch(r"[a-z_]+(?:\.[a-z_]+)+", name) and not FILE.fullmatch(name)
    ]
    inside = {name for name in names if name.partition(".")[0] in structures}
    known = KEYS_OF_OTHERS | {name for name in inside if any(f".{path}".endswith(f".{name}") for path in returned)}
    assert sorted(inside - known) == []


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_a_file_of_the_collection_on_a_page_exists(page):
    """Of what names a folder too; the shortest forms begin in module_utils."""
    names = {
        name for name in in_backticks(page) if re.fullmatch(r"(?:[\w*-]+/)+[\w*-]+\.(?:py|md)", name) and name[0] != "/"
    }
    homes = (ROOT, PLUGINS, PLUGINS / "module_utils")
    assert sorted(name for name in names if not any(list(home.glob(name)) for home in homes)) == []


def test_the_architectures_with_a_sliding_pool_are_those_on_the_page(rules_of):
    known: dict[str, str] = {}
    for version in VERSIONS:
        for name in rules_of(version).sliding_architectures:
            known.setdefault(name, version)
    rows = re.findall(
        r"^\| (0\.5\.\d+) \| ([^|]+) \|$", (ROOT / "docs/models.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {name: version for version, names in rows for name in ARCHITECTURE.findall(names)} == known


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_an_architecture_on_a_page_is_one_of_the_code(page, words_of_code):
    assert set(ARCHITECTURE.findall(page.read_text(encoding="utf-8"))) <= words_of_code


def keys_of_tables(heading: str) -> set[str]:
    """Names in the first column of the tables of a section of docs/interface.md."""
    _before, _heading, rest = (ROOT / "docs/interface.md").read_text(encoding="utf-8").partition(f"# {heading}\n")
    section = re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return {
        name for cell in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }


@pytest.mark.parametrize(
    ("heading", "option"),
    [("Serving options", "serving"), ("Hardware as data", "hardware"), ("Measured figures", "calibration")],
)
def test_the_keys_of_a_variable_on_its_page_are_those_of_the_option(heading, option):
    assert keys_of_tables(heading) == set(options_of("memory_plan")[option]["suboptions"])


def test_the_modules_on_the_page_are_those_that_are_there():
    assert sorted(keys_of_tables("Modules and roles")) == MODULES
