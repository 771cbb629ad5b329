"""A flame graph of processor time: which function, called by which, all threads together.

A thread looks at the others' stacks every millisecond and books on each what its thread has spent since the last look.
So time within OpenCV, NumPy and gRPC counts for the Python function that called them.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Self
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE

INTERVAL_S = 0.001
WIDTH, ROW = 1000, 17
LEAST_SHARE = 0.004
"""What takes less is not drawn."""
CHARACTER = 6.3
"""Width of one, in pixels."""
COLOURS = {"gateway": "#f0b37e", "cv2": "#8ecae6", "numpy": "#a8dadc", "grpc": "#c3b1e1"}
OTHER = "#e4e7eb"

Stack = tuple[str, ...]


class Sampler:
    """Samples all threads but its own.

    Attributes:
        stacks: seconds by stack, the outermost function first.
    """

    def __init__(self) -> None:
        self.stacks: Counter[Stack] = Counter()
        self._spent: dict[int, float] = {}
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Sample for as long as the block runs."""
        switch = sys.getswitchinterval()
        sys.setswitchinterval(INTERVAL_S / 4)
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()
            sys.setswitchinterval(switch)

    def _run(self) -> None:
        own = threading.get_ident()
        while not self._stop.wait(INTERVAL_S):
            for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, whatever its name says
                if ident != own:
                    self._book(ident, frame)

    def _book(self, ident: int, frame: FrameType) -> None:
        now = time.clock_gettime(time.pthread_getcpuclockid(ident))
        spent = now - self._spent.get(ident, now)
        self._spent[ident] = now
        if spent > 0:
            self.stacks[stack_of(frame)] += spent  # type: ignore[assignment]  # a counter of seconds


def stack_of(frame: FrameType | None) -> Stack:
    """Names of functions, from the outermost of the gateway's, or of the thread's, to the innermost."""
    names: list[str] = []
    while frame is not None:
        names.append(f"{_module(frame.f_code.co_filename)}.{frame.f_code.co_name}")
        frame = frame.f_back
    names.reverse()
    ours = [number for number, name in enumerate(names) if name.startswith("gateway.")]
    return tuple(names[ours[0] :] if ours else names[-1:])


def _module(filename: str) -> str:
    path = Path(filename)
    parts = path.with_suffix("").parts
    for package in ("gateway", "site-packages"):
        if package in parts:
            start = len(parts) - parts[::-1].index(package) - (package == "gateway")
            return ".".join(parts[start:])
    return path.stem


@dataclass(slots=True)
class Node:
    """A function in one place of the stacks.

    Attributes:
        seconds: spent in it and in what it called.
        children: what it called.
    """

    seconds: float = 0.0
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Of the deepest stack."""
        return 1 + max((child.depth for child in self.children.values()), default=0)


def tree(stacks: Counter[Stack]) -> Node:
    """All stacks as one tree."""
    root = Node()
    for stack, seconds in stacks.items():
        root.seconds += seconds
        node = root
        for name in stack:
            node = node.children.setdefault(name, Node())
            node.seconds += seconds
    return root


def draw(stacks: Counter[Stack], pages: int) -> str:
    """The graph as an SVG document; every box says on hover what it took for a page."""
    root = pruned(tree(stacks), LEAST_SHARE * sum(stacks.values()))
    height = ROW * (root.depth + 1)
    size = f'width="{WIDTH}" height="{height}"'
    scale = Scale(WIDTH / max(root.seconds, 1e-9), 1e3 / pages)
    boxes = _boxes("all", root, 0.0, 0, scale)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}" {STYLE}>'
    return "\n".join([head, f'<rect {size} fill="white"/>', *boxes, "</svg>\n"])


@dataclass(frozen=True, slots=True)
class Scale:
    """What a second is: so many pixels, and so many milliseconds of each page."""

    pixels: float
    page_ms: float


def pruned(node: Node, least_s: float) -> Node:
    """The same without what took less."""
    kept = {name: pruned(child, least_s) for name, child in node.children.items() if child.seconds >= least_s}
    return Node(node.seconds, kept)


def _boxes(name: str, node: Node, x: float, depth: int, scale: Scale) -> Iterator[str]:
    width, y = node.seconds * scale.pixels, ROW * depth
    colour = next((colour for package, colour in COLOURS.items() if name.startswith(package)), OTHER)
    label = name.rpartition(".")[2][: int(width / CHARACTER)]
    yield (
        f'<g><title>{escape(name)}: {node.seconds * scale.page_ms:.2f} ms a page</title><rect x="{x:.1f}" y="{y}" '
        f'width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" fill="{colour}"/>'
        f'<text x="{x + 2:.1f}" y="{y + 12}">{escape(label)}</text></g>'
    )
    for child_name, child in sorted(node.children.items()):
        yield from _boxes(child_name, child, x, depth + 1, scale)
        x += child.seconds * scale.pixels
