# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of flags that a later version lacks. Private to the collection, may change any time.

Read from the option tables and sources of SGLang since 0.5.5.
"""

from __future__ import annotations

from typing import NamedTuple


class Renamed(NamedTuple):
    """The later name of the same option, and the first version whose server config has to be told it by that."""

    name: str
    since: str


RENAMED: dict[str, Renamed] = {
    "cuda-graph-bs": Renamed("cuda-graph-bs-decode", "0.5.20"),
    "cuda-graph-max-bs": Renamed("cuda-graph-max-bs-decode", "0.5.20"),
    "disable-piecewise-cuda-graph": Renamed("disable-prefill-cuda-graph", "0.5.14"),
    "enable-deepep-waterfill": Renamed("enable-waterfill", "0.5.16"),
    "enable-dsa-prefill-context-parallel": Renamed("enable-prefill-cp", "0.5.14"),
    "enable-gdn-replayssm-spec": Renamed("enable-linear-replayssm-spec", "0.5.20"),
    "enable-nsa-prefill-context-parallel": Renamed("enable-prefill-cp", "0.5.14"),
    "enable-prefill-context-parallel": Renamed("enable-prefill-cp", "0.5.14"),
    "hierarchical-sparse-attention-extra-config": Renamed("hisparse-config", "0.5.10"),
    "kt-amx-method": Renamed("kt-method", "0.5.5.post1"),
    "kt-amx-weight-path": Renamed("kt-weight-path", "0.5.5.post1"),
    "mamba-scheduler-strategy": Renamed("mamba-radix-cache-strategy", "0.5.20"),
    "nsa-decode-backend": Renamed("dsa-decode-backend", "0.5.20"),
    "nsa-prefill-backend": Renamed("dsa-prefill-backend", "0.5.20"),
    "optimistic-prefill-retries": Renamed("optimistic-prefill-attempts", "0.5.16"),
    "piecewise-cuda-graph-compiler": Renamed("cuda-graph-tc-compiler", "0.5.20"),
    "piecewise-cuda-graph-max-tokens": Renamed("cuda-graph-max-bs-prefill", "0.5.20"),
    "piecewise-cuda-graph-tokens": Renamed("cuda-graph-bs-prefill", "0.5.20"),
    "speculative-dflash-draft-window-size": Renamed("speculative-draft-window-size", "0.5.20"),
    "stream-output": Renamed("incremental-streaming-output", "0.5.20"),
}
_REMOVED_IN = {
    "0.5.7": "load-watch-interval",
    "0.5.9": "disaggregation-decode-enable-fake-auto",
    "0.5.10": """
    disaggregation-decode-dp disaggregation-decode-tp disaggregation-prefill-pp mm-max-concurrent-calls mm-per-request-timeout
    speculative-ngram-branch-length speculative-ngram-max-match-window-size speculative-ngram-min-match-window-size
    """,
    "0.5.11": """
    ds-channel-config-path ds-heavy-channel-num ds-heavy-channel-type ds-heavy-token-num ds-sparse-decode-threshold
    enable-double-sparsity
    """,
    "0.5.13": "enable-nan-detection no-record-nolora-graph record-nolora-graph",
    "0.5.14": "custom-sigquit-handler debug-tensor-dump-inject",
    "0.5.18": "torchao-config",
    "0.5.20": "prefill-round-robin-balance",
    "0.5.22": "cuda-graph-tc-compiler",
    "0.5.23": "speculative-skip-dp-mlp-sync",
}
_OTHERWISE = {
    "collect-tokens-histogram": "enable-metrics collects them since 0.5.11",
    "disable-cuda-graph": "the server config takes disable-decode-cuda-graph and disable-prefill-cuda-graph instead",
    "disable-hicache-numa-detect": "it went in 0.5.10, where numa-node is found by itself",
    "dllm-block-size": "it went in 0.5.6.post1, where dllm-algorithm-config names a file that may hold it",
    "dsa-prefill-cp-mode": "cp-strategy replaced it in 0.5.14",
    "elastic-ep-rejoin": "elastic-ep-join-mode with recover replaced it in 0.5.21",
    "enable-breakable-cuda-graph": "cuda-graph-backend-prefill with breakable says it since 0.5.20",
    "enable-expert-distribution-metrics": "expert-balancedness-report-mode replaced it in 0.5.18",
    "enable-flashinfer-autotune": "it is on by default since 0.5.7, and disable-flashinfer-autotune switches it off",
    "enable-piecewise-cuda-graph": "it is on by default since 0.5.10; cuda-graph-backend-prefill chooses the kind since 0.5.20",
    "enforce-piecewise-cuda-graph": "cuda-graph-backend-prefill with tc_piecewise says it since 0.5.20",
    "hybrid-kvcache-ratio": "it no longer counts, and swa-full-tokens-ratio does its work",
    "keep-mm-feature-on-device": "mm-feature-transport replaced it in 0.5.21",
    "monokernel-backend": "enable-amd-monokernel replaced it",
    "multi-item-scoring-delimiter": "it went in 0.5.11, where enable-mis switches the scoring on",
    "nsa-prefill-cp-mode": "cp-strategy replaced it in 0.5.14",
    "piecewise-cuda-graph-compiler": "cuda-graph-tc-compiler was its name until that went with 0.5.22",
    "prefill-cp-mode": "cp-strategy replaced it in 0.5.14",
}
SUCCESSORS: dict[str, str] = {
    **{old: f"{change.name} is its name since {change.since}" for old, change in RENAMED.items()},
    **{
        name: f"it went in {version} without a successor"
        for version, names in _REMOVED_IN.items()
        for name in names.split()
    },
    **_OTHERWISE,
}
"""What to say of a flag that is gone, after a colon."""
