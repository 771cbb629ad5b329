"""Faults of the models: dead, wrong, too big, too slow, and new ones that are no good."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.drills import actions
from tests.drills.driver import LoadPlan
from tests.drills.fault import DOWN, FAILING, OUT_OF_MEMORY, Fault
from tests.drills.limits import ALWAYS, Limit, back_within, detected_within, noted, nothing_failed
from tests.drills.pages import FULL_CHUNKS
from tests.drills.stand import StandPlan

EXPLICIT = StandPlan(explicit=True)
CHUNK_PIXELS = 8 * 48 * 320
CHUNK_BYTES = 3 * CHUNK_PIXELS
"""Of the recognition calls in the drill of memory: few enough lines for a page to fill some."""
SMALL_CHUNKS = StandPlan(settings={"OCR_MAX_CHUNK_PIXELS": str(CHUNK_PIXELS)})
ZOMBIE = (*ALWAYS, detected_within("O14", 3.0))

MODEL_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "stub-dead": Fault(
            "the recogniser's process is killed; Triton calls itself ready and is started again",
            actions.kill_stub,
            actions.restart_triton,
            codes=FAILING,
            lasts_s=5.0,
            limits=ZOMBIE,
        ),
        "model-internal": Fault(
            "the recogniser answers INTERNAL, every time",
            actions.spoil_model(fail=True),
            actions.mend_model,
            codes=FAILING,
            lasts_s=5.0,
            limits=(*ZOMBIE, back_within("O14", 10.0)),
        ),
        "model-out-of-memory": Fault(
            "the recogniser runs out of memory with more than half a chunk",
            actions.spoil_model(memory_bytes=CHUNK_BYTES // 2),
            actions.mend_memory,
            plan=SMALL_CHUNKS,
            codes=OUT_OF_MEMORY,
            lasts_s=5.0,
            limits=(
                *ALWAYS,
                nothing_failed("O13"),
                Limit("O13", "calls of one bucket that ran out of memory", noted("splits_of_a_bucket"), 2, unit=""),
            ),
            load=LoadPlan(rate=15.0, pattern=FULL_CHUNKS),
        ),
        "model-slow": Fault(
            "the recogniser takes half a second longer, which is more than there is time for",
            actions.spoil_model(slow_s=0.5),
            actions.mend_model,
            codes=DOWN,
            lasts_s=6.0,
            limits=(*ALWAYS, back_within("O4", 2.0)),
        ),
        "version-broken": Fault(
            "a new version of the recogniser can't be loaded",
            actions.load_version(2, broken=True),
            actions.withdraw_version(2),
            plan=EXPLICIT,
            limits=(*ALWAYS, nothing_failed("M4")),
        ),
        "configuration-broken": Fault(
            "the recogniser's new configuration can't be read",
            actions.break_configuration,
            actions.mend_configuration,
            plan=EXPLICIT,
            limits=(*ALWAYS, nothing_failed("M4")),
        ),
        "version-new": Fault(
            "a new version of the recogniser is loaded beside the old one and takes over",
            actions.load_version(2, broken=False),
            plan=EXPLICIT,
            limits=(*ALWAYS, nothing_failed("R5")),
        ),
    }
)
