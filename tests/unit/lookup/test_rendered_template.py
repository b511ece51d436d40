# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A template comes to the same text as by Ansible's own lookup, without a copy of the variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.lookup.template import LookupModule as AnsiblesOwn
from ansible.template import Templar, trust_as_template

from ansible_collections.blackwell.inference.plugins.lookup.rendered_template import LookupModule

TEXT = "# {{ name }}\n{% for one in rows %}\n{{ one }}: {{ other | to_json }}\n{% endfor %}\n{% if extra %}\nextra\n{% endif %}\n\n"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "x.j2").write_text(TEXT)
    named = trust_as_template("{{ 'kimi' | upper }}")
    return {"ansible_search_path": [str(tmp_path)], "name": named, "rows": [1, "a\\n"], "other": {"k": "ü"}}


def rendered(lookup: type, variables: dict[str, Any], name: str = "x.j2", **template_vars: Any) -> Any:
    loader = DataLoader()
    plugin = lookup(loader=loader, templar=Templar(loader=loader, variables=variables))
    marks = {
        "variable_start_string": "{{",
        "variable_end_string": "}}",
        "comment_start_string": "{#",
        "comment_end_string": "#}",
    }
    options = {"template_vars": template_vars, "trim_blocks": True, **marks}
    plugin.set_options = lambda **given: None  # it needs the plugin's documentation, which only a loader finds
    plugin.get_option = options.get
    return plugin.run([name], variables=variables)


@pytest.mark.parametrize("extra", [True, False])
def test_the_text_is_the_same_as_of_ansibles_own_lookup(variables: dict[str, Any], extra: bool) -> None:
    ours = rendered(LookupModule, variables, extra=extra)
    assert ours == rendered(AnsiblesOwn, variables, extra=extra)
    assert ours[0].startswith("# KIMI\n1: ")


def test_a_template_that_is_not_there_is_named(variables: dict[str, Any]) -> None:
    with pytest.raises(AnsibleLookupError) as refused:
        rendered(LookupModule, variables, name="none.j2", extra=False)
    assert "There is no template none.j2 in the folder templates of the role." in str(refused.value)
