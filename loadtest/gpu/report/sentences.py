"""What the tables say, in sentences; their numbers come from the results like all others. Pure."""

from loadtest.gpu.report import gap, throughput
from loadtest.gpu.report.measured import BASE, BEST, KINDS, SHARED, TARGET_MS, Measured, Point, calls_per_page, cores
from loadtest.gpu.service import REQUESTS_PER_GATEWAY

EARLIER = "shared-apart"
"""The same as is advised, measured before."""


def peak(measured: Measured, configuration: str, kind: str) -> Point:
    """A peak that has to be there; MissingResultError if it is not."""
    return measured.peak(configuration, kind) or measured[f"{configuration} peak {kind}"]


def gains(measured: Measured) -> str:
    """What sharing, the second detector and biases apart bring together."""
    changes = []
    for kind in KINDS:
        before, after = (peak(measured, name, kind)["images_per_s"] for name in (BASE, BEST))
        changes.append(f"{kind} {before:.0f} to {after:.0f} ({after / before - 1:+.0%})")
    return ", ".join(changes)


def calls(measured: Measured) -> str:
    """Why the service makes more recognition calls than its models alone."""
    scene, alone = peak(measured, BEST, "scene"), measured[f"{BEST} models alone scene"]
    return (
        f"The models alone get the lines of {alone['pages']} pages pooled in chunks as full as can be. Eight "
        f"gateways have {REQUESTS_PER_GATEWAY} pages under way each and do not pool lines across processes: for "
        f"scene text {calls_per_page(scene):.1f} calls a page instead of {alone['chunks'] / alone['pages']:.1f}."
    )


def crowded(measured: Measured) -> str:
    """How the processors get scarce at the peak."""
    receipts, calm = peak(measured, BEST, "receipts"), measured[f"{BEST} target receipts"]
    lines = receipts["lines"]["lines"] / receipts["lines"]["pages"]
    return (
        f"At the peak of receipts {cores(receipts):.1f} of the machine's 16 cores are in use, and the same work takes "
        f"longer: cutting out {lines:.0f} lines {receipts['stages_ms']['crops']:.0f} ms instead of "
        f"{calm['stages_ms']['crops']:.0f} at {calm['images_per_s']:.0f} pages a second. The GPU is busy for "
        f"{receipts['usage']['gpu_percent']:.0f} % of the time then."
    )


def turns(measured: Measured) -> str:
    """Detection among processes that take turns, and that share."""
    model = "text_detection_h1024_w768"
    before, shared, best = (peak(measured, name, "forms")["models"][model] for name in (BASE, SHARED, BEST))
    return (
        f"Taking turns, a detection waits {before['queue_ms']:.0f} ms in Triton and then takes "
        f"{before['compute_ms']:.0f} ms for what the GPU does in "
        f"{measured['kernels small']['detection']['us'] / 1000:.1f}. Sharing, its only instance is the limit, for "
        f"all forms have one size and go to one model ({shared['queue_ms']:.0f} ms of waiting); with two, "
        f"{best['queue_ms']:.0f} ms are left, and the recognisers are the limit."
    )


def arrivals(measured: Measured) -> str:
    """What the draw of arrivals made of the target's rate, and how far the target holds."""
    exact, drawn = (measured[f"{name} target forms"]["offered_per_s"] for name in (BEST, SHARED))
    within = {kind: measured.within_target(BEST, kind) or 0.0 for kind in ("forms", "scene")}
    return (
        f"The arrivals of both *as advised* are {exact:.1f} a second; for the other rows {drawn:.1f} were drawn. "
        f"As advised, P95 of small is below {TARGET_MS:.0f} ms up to {within['forms']:.0f} forms and "
        f"{within['scene']:.0f} scene pages a second, of the rates tried below the peak."
    )


def floor(measured: Measured) -> str:
    """What a page costs when hardly anything else is there."""
    point = measured.rates(BEST, "receipts")[0]
    own = sum(taken for stage, taken in point["stages_ms"].items() if stage not in throughput.WAITING)
    return (
        f"A receipt takes {point['p50_ms']:.0f} ms at {point['images_per_s']:.0f} pages a second already, {own:.0f} "
        f"of them on the gateway's processors, so the margin is small whatever the models do. A dense page has more "
        f"lines still."
    )


def since(measured: Measured) -> str:
    """How much more processor time a page took than in the earlier calls, with the same models."""
    before, now = measured[f"{EARLIER} target receipts"], measured[f"{BEST} target receipts"]
    more = {group: _core_ms(now, group) / _core_ms(before, group) - 1 for group in ("gateways", "models")}
    crops = [point["stages_ms"]["crops"] for point in (before, now)]
    return (
        f"A receipt took {more['gateways']:+.0%} of the gateways' processor time and {more['models']:+.0%} of the "
        f"models' (whose code is the same), and its crops {crops[1]:.0f} ms instead of {crops[0]:.0f}."
    )


def _core_ms(point: Point, group: str) -> float:
    """Processor time of a page, milliseconds."""
    return float(1000 * point["usage"]["cores"][group] / point["images_per_s"])


def processors(measured: Measured) -> str:
    """What the goal would take of processors."""
    now, needed = gap.processors(measured)
    used = peak(measured, BEST, gap.KIND)["usage"]["cores"]
    return (
        f"Besides the GPU, the processors: the best peak uses {now:.1f} cores; at the same price a page, "
        f"{gap.GOAL_PER_S:.0f} forms a second take {needed:.0f}. Of that {used['models'] / now:.0%} are the Python "
        f"processes of the models, which the C++ backend does not have."
    )


def precision(measured: Measured) -> str:
    """What half precision is good for."""
    single, half = (measured.alone(name, "forms") or 0.0 for name in (SHARED, "shared-half"))
    lines, broken = measured["shared-half equality"], measured["float16 equality"]
    return (
        f"Half precision brings {half / single - 1:+.0%} for forms with the models alone ({single:.0f} to {half:.0f} "
        f"a second), since it does not touch what lies between convolutions, and changes "
        f"{lines['lines'] - lines['lines_equal']} of {lines['lines']:,} lines. It is not served. Converted as it "
        f"comes, the detector finds no text on large pages: {broken['lines_equal']} of {broken['lines']:,} lines are "
        f"read. A mean over a page is one sum in it, and half precision ends at 65,504; taken in two steps "
        f"(`loadtest/gpu/graphs.py`) it fits."
    )


def growth(measured: Measured) -> str:
    """What closed shapes grow by at first."""
    alone, four = (measured[name]["pages_and_mib"] for name in ("memory buckets, one page at a time", "memory buckets"))
    return (
        f"What they grow by at the beginning ({alone[-1][1] - alone[0][1]:,.0f} MiB with one thread, "
        f"{four[-1][1] - four[0][1]:,.0f} with four) seems to come with the first calls of each thread in each "
        f"session; an instance in Triton has one thread."
    )


def process_cost(measured: Measured) -> str:
    """What a process costs."""
    stubs = sorted(mebibytes for mebibytes in measured["small start"]["process_mib"])[1:]
    threads, processes = measured["instances threads"], measured["instances processes"]
    return (
        f"A model's process takes {stubs[0]} to {stubs[-1]:,} MiB of the GPU, weights, arena and CUDA context "
        f"together; eight sessions as processes take "
        f"{(processes['mib'] - threads['mib']) / (processes['sessions'] - 1):.0f} MiB each more than as threads, "
        f"which is the context. Restarted, all models are warm after {measured['small start']['warm_s']:.0f} s."
    )


def neighbour(measured: Measured) -> str:
    """What a full card does to a warm server."""
    data = measured["full card"]
    return (
        f"A neighbour that takes the whole card but 128 MiB does nothing to a warm server: {data['statuses']['200']} "
        f"of {sum(data['statuses'].values())} pages, the slowest after {data['slowest_s']:.2f} s. With closed shapes "
        f"nobody needs more memory than they have."
    )
