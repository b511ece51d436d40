# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `unit`: the unit runs, stays, and is what was declared. Private to the collection, may change any time."""

from __future__ import annotations

from .evidence import Evidence
from .verdict import PASSED, Check, same, skipped

SOURCE = "systemd"
UNLIMITED = {"infinity": "unlimited"}


def check_unit(evidence: Evidence) -> tuple[Check, ...]:
    unit = evidence.unit
    checks = [
        same("active state", "active", unit.active_state, SOURCE, f"Read why with: systemctl status {unit.name}."),
        same(
            "unit file state",
            "enabled",
            unit.unit_file_state,
            SOURCE,
            f"It would not start after a reboot; enable it with: systemctl enable {unit.name}.",
        ),
    ]
    checks.extend(
        same(
            name,
            str(value),
            evidence.unit_properties.get(name),
            SOURCE,
            "Deploy again, and look for a drop-in that changes the unit.",
        )
        for name, value in sorted(evidence.expected_unit.items())
    )
    if "LimitMEMLOCK" in evidence.expected_unit:
        checks.append(_memlock(evidence))
    checks.append(
        same(
            "invocation",
            unit.invocation_id,
            evidence.invocation_after,
            SOURCE,
            "The unit was started anew while it was being verified, so what was verified no longer runs; wait until it is ready and verify again.",
        )
    )
    return tuple(checks)


def _memlock(evidence: Evidence) -> Check:
    """The limit that the main process really has. A container may be unable to raise it above its own, which is the container's affair."""
    name, source = "locked memory limit", f"/proc/{evidence.unit.main_pid}/limits"
    wanted = str(evidence.expected_unit["LimitMEMLOCK"])
    expected = UNLIMITED.get(wanted, wanted)
    if evidence.memlock is None:
        return skipped(name, expected, None, source, "the limits of the process cannot be read")
    check = same(
        name, expected, evidence.memlock, source, "The host cache cannot be pinned; raise LimitMEMLOCK of the unit."
    )
    if check.outcome != PASSED and evidence.memlock == evidence.manager_memlock:
        return skipped(
            name,
            expected,
            evidence.memlock,
            source,
            f"this container allows {evidence.manager_memlock} bytes to systemd itself, and no unit more",
        )
    return check
