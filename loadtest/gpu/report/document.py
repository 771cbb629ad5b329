"""The document and its pictures, put together: a template, and what stands for each `{{NAME}}` in it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from loadtest.accuracy.report import table
from loadtest.gpu.report import full_card, gap, graphs, models, promises, sentences, shapes, throughput, tuned, whole
from loadtest.gpu.report.measured import BEST, BEST_TINY, KINDS, TARGET_MS, Measured, MissingResultError
from loadtest.gpu.results import Result

PLACE = re.compile(r"\{\{(\w+)\}\}")
TEMPLATE = Path(__file__).with_name("template.md")
PLOTS: Mapping[str, Callable[[Measured], str]] = {
    "latency.svg": promises.latency_plot,
    "memory-whole.svg": whole.memory_plot,
    "memory-growth.svg": promises.growth_plot,
    "memory-flat.svg": promises.flat_plot,
}
CIRCUMSTANCES = "circumstances: "
"""How names begin that say with what a call was made."""


def write_report(results: Mapping[str, Result], document: Path, folder: Path) -> None:
    """Write the document, and its pictures into the folder."""
    measured = Measured(results)
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PLOTS.items():
        (folder / name).write_text(draw(measured), encoding="utf-8")
    document.write_text(render(measured), encoding="utf-8")


def render(measured: Measured, template: str = "") -> str:
    """The template filled in; what was not measured is said to be missing."""
    text = template or TEMPLATE.read_text(encoding="utf-8")
    return PLACE.sub(lambda place: _or_missing(SECTIONS[place[1]], measured), text)


def _or_missing(section: Callable[[Measured], str], measured: Measured) -> str:
    try:
        return section(measured)
    except MissingResultError as missing:
        return f"(not measured: {missing})"


def circumstances(measured: Measured) -> str:
    """When, at which commit and with what."""
    calls = {name: one.data for name, one in measured.results.items() if name.startswith(CIRCUMSTANCES)}
    if not calls:
        raise MissingResultError(CIRCUMSTANCES)
    rows = [[name.removeprefix(CIRCUMSTANCES), data["date"], f"`{data['commit']}`"] for name, data in calls.items()]
    last = list(calls.values())[-1]
    gpu, memory, driver = last["gpu"].split(", ")
    versions = ", ".join(f"{package} {version}" for package, version in last["versions"].items())
    machine = f"{gpu} with {memory}, driver {driver}; {last['machine']}; Python {last['python']}; {versions}."
    return f"{machine}\n\n{table(['measured', 'on', 'at commit'], rows)}"


def summary(measured: Measured) -> str:
    """Every promise, and whether it is kept."""
    rows = [
        *(_target_row(measured, name) for name in (BEST, BEST_TINY)),
        [f"the service reaches {throughput.GOAL_SHARE} of its models alone", _shares(measured)],
        [f"{gap.GOAL_PER_S:.0f} forms or receipts a second, small", _goal(measured)],
        ["memory is flat with closed shapes, and grows without", _memory(measured)],
        ["nothing is lost when memory runs out", "met: chunks are halved, the limit is learnt, every page is read"],
        ["back within 3 minutes after a death", _recovery(measured)],
    ]
    return table(["promise", "measured"], rows)


def _target_row(measured: Measured, configuration: str) -> list[str]:
    met, missed = throughput.verdicts(measured, configuration)
    promise = f"P95 < {TARGET_MS:.0f} ms at 50 requests a second, {configuration.removeprefix('best-')}"
    return [promise, f"met: {', '.join(met)}; **missed**: {', '.join(missed)}"]


def _shares(measured: Measured) -> str:
    shares = {kind: measured.share(BEST, kind) or 0.0 for kind in KINDS}
    cells = [f"{kind} {share:.2f}" for kind, share in shares.items()]
    reached = [kind for kind, share in shares.items() if share >= throughput.GOAL_SHARE]
    verdict = f"met: {', '.join(reached)}" if reached else "**missed**"
    before = max(measured.share(sentences.EARLIER, kind) or 0.0 for kind in KINDS)
    return f"{verdict} ({', '.join(cells)}; an earlier call had up to {before:.2f}); what stands in the way is below"


def _goal(measured: Measured) -> str:
    forms, receipts = (sentences.peak(measured, BEST, kind)["images_per_s"] for kind in ("forms", "receipts"))
    before = sentences.peak(measured, sentences.EARLIER, "forms")["images_per_s"]
    return (
        f"**missed**: {forms:.0f} forms (an earlier call had {before:.0f}), {receipts:.0f} receipts; the account and "
        f"the plan are below"
    )


def _memory(measured: Measured) -> str:
    seen = whole.samples(measured)
    widest = measured["memory widest"]["pages_and_mib"]
    without = f"the recogniser alone {widest[0][1]:,.0f} to {widest[-1][1]:,.0f} MiB in {widest[-1][0]} pages without"
    return (
        f"met: the whole service has {seen[-1].gpu_mib or 0.0:,.0f} MiB of the GPU from page "
        f"{whole.flat_since(seen):,} to page {seen[-1].pages:,}; {without}"
    )


def _recovery(measured: Measured) -> str:
    server, model = (measured[f"death of {what}"]["back_after_s"] for what in ("the server", "a model"))
    return f"met: {server:.0f} s for the server, {model:.0f} s for one model's process"


SECTIONS: Mapping[str, Callable[[Measured], str]] = {
    "circumstances": circumstances,
    "summary": summary,
    "throughput": throughput.throughput,
    "gains": sentences.gains,
    "between": throughput.between,
    "calls": sentences.calls,
    "crowded": sentences.crowded,
    "gateways": throughput.gateways,
    "targets": throughput.targets,
    "tuned": tuned.tuned,
    "tuned_verdict": tuned.verdict,
    "alone": tuned.alone,
    "since": sentences.since,
    "graphs": graphs.graphs,
    "graphs_gain": graphs.gain,
    "whole": whole.memory_figures,
    "whole_told": whole.told,
    "full_card": full_card.full_card,
    "arrivals": sentences.arrivals,
    "rates": throughput.rates_within_target,
    "sweeps": lambda measured: throughput.sweeps(measured, BEST),
    "sweeps_tiny": lambda measured: throughput.sweeps(measured, BEST_TINY),
    "floor": sentences.floor,
    "stages": throughput.stages,
    "busiest": lambda measured: throughput.busiest(measured, gap.KIND),
    "turns": sentences.turns,
    "account": gap.account,
    "processors": sentences.processors,
    "precision": sentences.precision,
    "kernels": models.kernels,
    "providers": models.providers,
    "price": shapes.price,
    "choices": shapes.choices,
    "recognition": models.recognition,
    "detection": models.detection,
    "variants": models.variants,
    "switching": models.switching,
    "instances": models.instances,
    "process_cost": sentences.process_cost,
    "one_process": models.one_process,
    "memory": promises.memory_figures,
    "growth": sentences.growth,
    "warm_start": promises.warm_start,
    "out_of_memory": promises.out_of_memory,
    "neighbour": sentences.neighbour,
    "faults": promises.faults,
    "restarts": promises.restarts,
    "version_switch": promises.version_switch,
    "equality": promises.equality,
    "differing": promises.differing,
    "peers": promises.peers,
}
"""What stands for {{NAME}} in the template."""
