"""What the tests' servers serve: one model set in three forms, side by side under names of their own."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from triton_models.graph import GraphKind
from triton_models.layouts import ANY_SHAPES, Layout, Shapes
from triton_models.plans import Names, Recipe

HOME = Path(__file__).parent.parent.parent / ".local"

EDITED = Names()
ORIGINAL = Names("original_detection", "original_recognition")
SHAPED = Names("shaped_detection", "shaped_recognition")

FEW_SHAPES = Shapes(buckets=(160, 320), row_counts=(1, 8), detection=((320, 480),))
"""Five models: each is a process here."""

ALTERNATIVES = 3
"""Of each character, given by the models per shape if they are asked."""

# Without warming up: a server is ready sooner, and on a CPU the first calls are hardly slower.
RECIPES: Mapping[Names, Recipe] = MappingProxyType(
    {
        EDITED: Recipe(Layout.ANY, GraphKind.TOP1, ANY_SHAPES, EDITED, warm_up=False),
        ORIGINAL: Recipe(Layout.ANY, GraphKind.ORIGINAL, ANY_SHAPES, ORIGINAL, warm_up=False),
        SHAPED: Recipe(Layout.PER_SHAPE, GraphKind.TOP1, FEW_SHAPES, SHAPED, warm_up=False, alternatives=ALTERNATIVES),
    }
)
