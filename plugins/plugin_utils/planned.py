# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of memory_plan to what it returns. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.previous_plan import (
    plan_or_keep,
    recorded_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import report_lines
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import (
    calibration_from_dict,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import (
    HostState,
    host_from_topology,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.profile_rule import (
    profile_rules_from,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.arguments import (
    checked_arguments,
    engine_arguments,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import Dialect, dialect_for
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import page


def read_host(params: Mapping[str, Any]) -> HostState:
    if params["topology"] is not None:
        return host_from_topology(params["topology"], params["other_engines"])
    return host_from_hardware(params["hardware"])


def read_request(params: Mapping[str, Any], dialect: Dialect, host: HostState) -> PlanRequest:
    return PlanRequest(
        model=model_from_dict(params["model"]),
        rules=dialect.rules,
        dialect=dialect.name,
        serving=serving_from_dict(params["serving"]),
        host=host,
        calibration=calibration_from_dict(params["calibration"]),
        arguments=checked_arguments(dialect, params["arguments"]),
        notes=dialect.notes,
        environment=params["environment"],
        draft=model_from_dict(params["draft_model"], "The draft model") if params["draft_model"] else None,
        draft_model_path=params["draft_model_path"],
        profile_rules=profile_rules_from(params["refuses"]),
    )


def planned(params: Mapping[str, Any], warn: Callable[[str], None]) -> dict[str, Any]:
    """The result of the task: a plan, or what was refused. `warn` is told what recorded plans are left aside."""
    try:
        dialect = dialect_for(params["engine_version"])
        recorded = recorded_from_dict(params["recorded"])
        request = read_request(params, dialect, read_host(params))

        def make(request: PlanRequest) -> MemoryPlan:
            plan = plan_memory(request)
            return replace(plan, arguments=engine_arguments(dialect, plan.settings, request.arguments))

        plan = plan_or_keep(recorded, request, params["instance_running"], make).as_dict()
    except InferenceError as refusal:
        return _refused(refusal)
    for fault in recorded.faults:
        warn(fault)
    report = report_lines(plan)
    return {
        "changed": False,
        "plan": plan,
        "report": report,
        "plan_text": "\n".join([*report, ""]),
        "plan_html": page(plan),
    }


def _refused(refusal: InferenceError) -> dict[str, Any]:
    inputs = [{"name": "input", "message": str(refusal), "overridable": False}]
    plan = refusal.details.get("refused_plan")
    shown = {} if plan is None else {"plan_html": page(plan)}
    return {"failed": True, "msg": str(refusal), "refusals": inputs, **refusal.details, **shown}
