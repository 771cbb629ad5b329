import pytest

from loadtest.document import replace_generated
from loadtest.scaling import DOCUMENT, MARKERS, Fleet, Measures, generated, size

FORMS = Measures("forms", peak_per_s=100, prompt_per_s=50, gateway_core_s=0.06, model_core_s=0.03)


@pytest.mark.parametrize(
    ("pages_per_min", "fleet"),
    [
        (1, Fleet(gpus=1, prompt_gpus=1, gateways=2, cores=1)),
        # 67 a second: one GPU is planned with 70, and gives 50 within 200 ms.
        (4_000, Fleet(gpus=1, prompt_gpus=2, gateways=4, cores=9)),
        (40_000, Fleet(gpus=10, prompt_gpus=14, gateways=39, cores=86)),
    ],
)
def test_a_fleet_is_sized_by_the_formulas_of_the_document(pages_per_min, fleet):
    assert size(FORMS, pages_per_min) == fleet


def test_what_can_not_be_had_is_not_sized():
    dense = Measures("dense", peak_per_s=30, prompt_per_s=None, gateway_core_s=0.2, model_core_s=0.1)
    assert size(dense, 1000).prompt_gpus is None


def test_the_document_has_the_figures_of_the_measurements():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert replace_generated(text, generated(), MARKERS) == text, "docs/gpu has been measured anew: make scaling"
