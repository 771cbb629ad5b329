"""Greedy CTC decoding: from the recogniser's steps to text.

The best class of every step is a path; a run of one class is one character, and blanks are nothing (Graves et al.
2006, "Connectionist Temporal Classification", section 3.2). On top comes one rule: a space that the model nearly
wrote between two ASCII letters or digits is put back. How far apart characters stand says nothing about spaces,
because a step is as wide as half a letter; the probability of the space does.

The text is exactly what the path says: nothing is stripped, folded or normalised.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import LineSteps, StepAlternatives
from gateway.ocr.elements import Alternative, Character, Transcription

BLANK = 0
"""The class that writes nothing."""

PIXELS_PER_STEP = 8
"""Width of a step in the crop: the recognisers of the PP-OCR family halve the width three times."""

Positions = NDArray[np.intp]


def decode(
    steps: LineSteps,
    charset: Sequence[str],
    *,
    crop_width: int,
    space_probability: float,
    alternatives: int = 0,
) -> Transcription:
    """The text of one line.

    All steps are decoded, those over the padding too: now and then the last character is written one step past the
    edge of the crop. A character scores the probability at the first step of its run, as in PP-OCR, so that scores
    mean the same as there.

    Args:
        steps: the steps of the whole padded row.
        charset: text of each class; the first is the blank.
        crop_width: pixels of the row that are not padding.
        space_probability: from this probability on, a space that was not written is put back.
        alternatives: how many each character is given at most, if the steps have them.
    """
    starts, ends = _runs(steps.class_index)
    written = _characters(steps, charset, starts, ends)
    if alternatives and steps.alternatives is not None:
        surest = _surest_steps(steps.probability, starts, ends)
        written = [
            character._replace(alternatives=_alternatives(steps.alternatives, charset, step, alternatives))
            for character, step in zip(written, surest, strict=True)
        ]
    spaces = _nearly_written_spaces(steps.space_probability, starts, ends, space_probability)
    characters = _with_spaces(written, spaces)
    return Transcription(
        text="".join([character.text for character in characters]),
        score=mean_score(characters),
        characters=characters,
        steps=crop_width / PIXELS_PER_STEP,
    )


def mean_score(characters: Sequence[Character]) -> float:
    """Mean probability of the characters that the model wrote itself; 0 if it wrote none."""
    scores = [character.score for character in characters if not character.inferred]
    return sum(scores) / len(scores) if scores else 0.0


def _runs(class_index: NDArray[np.int32]) -> tuple[Positions, Positions]:
    """First step of every run that writes, and the step after its last."""
    borders = np.ones(len(class_index) + 1, np.bool_)
    np.not_equal(class_index[1:], class_index[:-1], out=borders[1:-1])
    edges = np.flatnonzero(borders)
    starts, ends = edges[:-1], edges[1:]
    writes = class_index[starts] != BLANK
    return starts[writes], ends[writes]


def _characters(steps: LineSteps, charset: Sequence[str], starts: Positions, ends: Positions) -> list[Character]:
    classes = steps.class_index[starts].tolist()
    scores = steps.probability[starts].tolist()
    centres = ((starts + ends - 1) / 2).tolist()
    return list(map(Character, [charset[index] for index in classes], scores, centres))


def _surest_steps(probability: NDArray[np.float32], starts: Positions, ends: Positions) -> list[int]:
    """The step of each run at which its class is likeliest; of several, the first."""
    runs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [start + int(probability[start:end].argmax()) for start, end in runs]


def _alternatives(best: StepAlternatives, charset: Sequence[str], step: int, count: int) -> tuple[Alternative, ...]:
    """The likeliest classes of a step but the blank, which is no character: it leaves its place to the next."""
    pairs = zip(best.class_index[step].tolist(), best.probability[step].tolist(), strict=True)
    return tuple(Alternative(charset[index], score) for index, score in pairs if index != BLANK)[:count]


def _nearly_written_spaces(
    probability: NDArray[np.float32], starts: Positions, ends: Positions, threshold: float
) -> dict[int, Character]:
    """The likeliest space between a run and the next, by the number of the run before it."""
    likely = np.flatnonzero(probability >= threshold)
    if not likely.size:
        return {}
    before = np.searchsorted(starts, likely, side="right") - 1
    between = (before >= 0) & (before < len(starts) - 1)
    between[between] = likely[between] >= ends[before[between]]
    spaces: dict[int, Character] = {}
    for run, step in zip(before[between].tolist(), likely[between].tolist(), strict=True):
        space = Character(" ", float(probability[step]), float(step), inferred=True)
        spaces[run] = max(spaces.get(run, space), space, key=lambda either: either.score)
    return spaces


def _with_spaces(written: Sequence[Character], spaces: dict[int, Character]) -> tuple[Character, ...]:
    if not spaces:
        return tuple(written)
    characters: list[Character] = []
    for run, character in enumerate(written):
        characters.append(character)
        if run in spaces and _is_word_part(character) and _is_word_part(written[run + 1]):
            characters.append(spaces[run])
    return tuple(characters)


def _is_word_part(character: Character) -> bool:
    return character.text.isascii() and character.text.isalnum()
