"""The figures of instances as Markdown, and that the document has such."""

from loadtest.document import Markers
from loadtest.instances.__main__ import DOCUMENT
from loadtest.instances.measure import Cost, SharedMemory
from loadtest.instances.report import TITLES, Measured, part, report

MIB = 1 << 20
ONE = Cost("busy", 1, 0.5, 40 * MIB, 24 * MIB, MIB, 100.0, 0.005)
FOUR = Cost("busy", 4, 1.25, 160 * MIB, 84 * MIB, 4 * MIB, 190.0, 0.0052)
SHARED = SharedMemory(2, 2 * MIB, 2 * MIB, 104 * MIB, 104 * MIB)


def test_a_further_instance_costs_what_it_adds():
    header, _, one, four = part("A model", [ONE, FOUR]).splitlines()[2:]
    assert header.count("|") == one.count("|")
    assert one == "| 1 | 0.5 s | 40 | 24 |  | 1.0 | 100 (1.00) | 5 |"
    assert four == "| 4 | 1.2 s | 160 | 84 | 20 | 4.0 | 190 (1.90) | 5.2 |"


def test_every_model_has_its_table_and_shared_memory_its_course():
    costs = [Cost(name, 1, 0.5, MIB, MIB, MIB, 1.0, 0.005) for name in TITLES]
    text = report(Measured("2 cores", 3.0, costs, SHARED, {"execute_us": 10, "update_us": 700}))
    assert [title for title in TITLES.values() if f"{title}:\n\n| instances |" not in text] == []
    assert "2.0 MiB in /dev/shm at the start, 2.0 after small requests, 104.0 after" in text
    assert "takes 10 µs of an `execute` (0.20% of 5 ms), and once a second 0.7 ms" in text
    assert "(0.07% of the time)" in text


def test_the_document_has_a_place_for_them():
    markers = Markers.of("instances")
    generated = DOCUMENT.read_text(encoding="utf-8").partition(markers.begin)[2].partition(markers.end)[0]
    assert [title for title in TITLES.values() if title not in generated] == []
