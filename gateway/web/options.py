"""The options of a request: one model for query, form and JSON, and words for everything that is wrong with them.

Defaults come from `gateway.ocr.options`; names, ranges and descriptions live here and appear in OpenAPI from here.
"""

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from gateway.errors import InvalidRequest
from gateway.formats.table import FORMATS, FormatName
from gateway.ocr.areas import SYNTAX as AREAS
from gateway.ocr.areas import Areas
from gateway.ocr.options import DocumentOptions, Level, PageOptions, TextLayer
from gateway.ocr.page_ranges import SYNTAX, PageRanges
from gateway.web.services import RequestLimits

_PAGE = PageOptions()
_LONGEST_NAME = 40
"""Longer names are not compared with the known ones: the comparison takes quadratic time."""

MODEL_SET = r"^[A-Za-z0-9._-]{0,64}$"

_NO_SPACES = 2.0
"""No probability reaches it."""


class RequestOptions(BaseModel):
    """What a caller may choose for one request. `options_for` gives the timeout its default and its range."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    detect: bool = Field(
        _PAGE.detect,
        description="Find lines. If false, the whole image is read as one line; not together with recognize=false.",
    )
    recognize: bool = Field(_PAGE.recognize, description="Read lines. If false, only their places are returned.")
    reread: bool = Field(
        _PAGE.recognition.reread,
        description="Read doubtful lines a second time turned by 180 degrees, tall ones also upright; the better wins.",
    )
    min_score: float = Field(
        _PAGE.recognition.min_score, ge=0, le=1, description="Lines that score below this are left out."
    )
    partial: bool = Field(
        _PAGE.recognition.partial,
        description="If the models fail on some of the lines, give the page even so: those lines without text, "
        "and a warning. If false, the request fails.",
    )
    level: Level = Field(
        _PAGE.level,
        description="With word or char, lines also have their words, and these their characters, each with quad and "
        "score.",
    )
    alternatives: int = Field(
        _PAGE.recognition.alternatives,
        ge=0,
        le=10,
        description="With level=char, up to how many readings of each character are given, the likeliest first. The "
        "models must have been built for it; /v1/capabilities says for how many.",
    )
    infer_spaces: bool = Field(
        _PAGE.recognition.space_probability <= 1,
        description="Put back spaces that the model nearly wrote between two letters or digits of ASCII.",
    )
    format: FormatName = Field(
        "json",
        description="Form of the answer. Without it, the header Accept decides; the table of formats has its types.",
    )
    limit_side: int = Field(
        _PAGE.detection.limit_side,
        ge=64,
        le=4000,
        description="The longer side is scaled down to this many pixels before lines are looked for, "
        "unless that would make the shorter one very short.",
    )
    tile: bool = Field(
        _PAGE.detection.tile,
        description="Look at an image larger than limit_side in tiles of that size instead of scaling it down: "
        "for small print on large plans. It takes a call for each tile.",
    )
    min_side: int = Field(
        _PAGE.detection.min_side,
        ge=0,
        le=4000,
        description="A shorter side below this many pixels is scaled up before lines are looked for, "
        f"at most {_PAGE.detection.max_upscale:g} times.",
    )
    binarize_threshold: float = Field(
        _PAGE.detection.binarize_threshold, gt=0, lt=1, description="Pixels at or above this probability are text."
    )
    box_threshold: float = Field(
        _PAGE.detection.box_threshold, ge=0, le=1, description="Lines detected with a lower score are dropped."
    )
    unclip_ratio: float = Field(
        _PAGE.detection.unclip_ratio, ge=0, le=5, description="How far a reported quad grows from the detected kernel."
    )
    crop_unclip_ratio: float = Field(
        _PAGE.detection.crop_unclip_ratio, ge=0, le=5, description="How far the crop that is read grows."
    )
    model_set: str = Field(
        "",
        pattern=MODEL_SET,
        description="The model set that is to read; one that is not served is refused. Without it, the one that is.",
    )
    pages: str = Field(
        "1-", pattern=SYNTAX, description="Which pages of a TIFF or PDF are read; of other files there is only page 1."
    )
    region: str = Field(
        "",
        pattern=f"^$|{AREAS}",
        description="Areas to read, x,y,width,height in pixels of the upright image, parted by semicolons: only lines "
        "whose middle lies in one of them. Lines are found on the whole page, so their text is the same.",
    )
    ignore: str = Field(
        "", pattern=f"^$|{AREAS}", description="Areas not to read, likewise; what lies in both is not read."
    )
    dpi: int = Field(
        _PAGE.document.dpi,
        ge=36,
        le=600,
        description="Resolution at which the pages of a PDF are drawn, pixels to the inch.",
    )
    text_layer: TextLayer = Field(
        _PAGE.document.text_layer,
        description="What of the text that a PDF itself has is taken: nothing, that which can be seen instead of "
        "reading it there, or all of it and nothing is read.",
    )
    timeout: float = Field(
        gt=0,
        description="Seconds that the request may take, its upload included; in a stream each page, from its turn.",
    )

    @field_validator("pages")
    @classmethod
    def _ranges_ascend(cls, pages: str) -> str:
        PageRanges.parse(pages)
        return pages

    def page_options(self) -> PageOptions:
        """The same choices in the pipeline's words."""
        detection = replace(
            _PAGE.detection,
            limit_side=self.limit_side,
            min_side=self.min_side,
            tile=self.tile,
            binarize_threshold=self.binarize_threshold,
            box_threshold=self.box_threshold,
            unclip_ratio=self.unclip_ratio,
            crop_unclip_ratio=self.crop_unclip_ratio,
        )
        recognition = replace(
            _PAGE.recognition,
            min_score=self.min_score,
            reread=self.reread,
            partial=self.partial,
            alternatives=self.alternatives,
            space_probability=_PAGE.recognition.space_probability if self.infer_spaces else _NO_SPACES,
        )
        document = DocumentOptions(self.dpi, self.text_layer)
        chosen = FORMATS.get(self.format)
        level = "word" if chosen and chosen.words and self.level == "line" else self.level
        keep_image = chosen is not None and chosen.image
        areas = Areas.parse(self.region, self.ignore)
        return PageOptions(self.detect, self.recognize, detection, recognition, document, level, keep_image, areas)

    def check_together(self) -> None:
        """Raise InvalidRequest if what is asked for does not go together."""
        if self.alternatives and self.level != "char":
            raise InvalidRequest(f"alternatives are those of characters, which level={self.level} does not give")
        if self.alternatives and self.format in FORMATS:
            raise InvalidRequest(f"format={self.format} has no place for alternatives; json and ndjson do")
        if not self.detect and (self.region or self.ignore):
            raise InvalidRequest("region and ignore choose among lines that are found, which detect=false leaves out")
        if self.recognize:
            return
        if not self.detect:
            raise InvalidRequest("detect and recognize can't both be false: nothing would be left to do; leave one out")
        if self.level != "line":
            raise InvalidRequest(f"level={self.level} needs text, which recognize=false leaves out; leave one out")
        if self.format in FORMATS and self.format != "png":
            raise InvalidRequest(f"format={self.format} needs text, which recognize=false leaves out; leave one out")

    def answered_as(self, name: FormatName) -> Self:
        """The same choices for an answer of this format.

        Raises:
            InvalidRequest: it does not go with another one.
        """
        options = self.model_copy(update={"format": name})
        options.check_together()
        return options

    def page_ranges(self) -> PageRanges:
        """Which pages to read."""
        return PageRanges.parse(self.pages)


OptionsModel = type[RequestOptions]

_SYNTAXES = {
    MODEL_SET: "the name of a model set that is served, as in ppocrv6-small",
    SYNTAX: "page numbers and ranges, as in 1-3,8,12-",
    f"^$|{AREAS}": "x,y,width,height in pixels, up to 100 times, parted by semicolons, as in 0,0,400,200;0,600,400,80",
}
"""What texts of a pattern are, in words."""


def options_for(limits: RequestLimits) -> OptionsModel:
    """The options of a service with these limits."""
    timeout = Field(
        limits.timeout_s, gt=0, le=limits.max_timeout_s, description=RequestOptions.model_fields["timeout"].description
    )
    return create_model("Options", __base__=RequestOptions, __doc__="Options of a request.", timeout=(float, timeout))


@dataclass(frozen=True, slots=True)
class OptionSource:
    """Options from one place of a request, unchecked.

    Attributes:
        place: for messages.
        pairs: name and value, as often as they were given.
        typed: values have types (JSON); elsewhere they are texts.
    """

    place: str
    pairs: tuple[tuple[str, object], ...]
    typed: bool = False


def read_options(model: OptionsModel, sources: Iterable[OptionSource]) -> RequestOptions:
    """Check and join the options of a request.

    Raises:
        InvalidRequest: an option is unknown, given twice or out of its range; the message names it.
    """
    sources = tuple(sources)
    _refuse_repeats(sources)
    given: dict[str, Any] = {}
    for source in sources:
        given |= _checked(model, source)
    options = model.model_validate(given)
    options.check_together()
    return options


def accepts(schema: Mapping[str, Any]) -> str:
    """The values that an option's JSON schema allows, in words."""
    if schema["type"] == "boolean":
        return "true or false"
    if "enum" in schema:
        return f"{', '.join(schema['enum'][:-1])} or {schema['enum'][-1]}"
    if schema["type"] == "string":
        return _SYNTAXES[schema["pattern"]]
    noun = {"integer": "a whole number", "number": "a number"}[schema["type"]]
    if "minimum" in schema and "maximum" in schema:
        return f"{noun} from {schema['minimum']:g} to {schema['maximum']:g}"
    low = f"at least {schema['minimum']:g}" if "minimum" in schema else f"above {schema['exclusiveMinimum']:g}"
    high = f"at most {schema['maximum']:g}" if "maximum" in schema else f"below {schema['exclusiveMaximum']:g}"
    return f"{noun} {low} and {high}"


def _refuse_repeats(sources: tuple[OptionSource, ...]) -> None:
    times_given = Counter(name for source in sources for name, _ in source.pairs)
    for name, times in times_given.items():
        if times > 1:
            places = [source.place for source in sources if any(name == other for other, _ in source.pairs)]
            raise InvalidRequest(
                f"the option {reprlib.repr(name)} is given {times} times ({' and '.join(places)}); give it once"
            )


def _checked(model: OptionsModel, source: OptionSource) -> dict[str, Any]:
    for name, _ in source.pairs:
        if name not in model.model_fields:
            raise unknown_option(name, source.place, tuple(model.model_fields))
    try:
        options = model.model_validate(dict(source.pairs), strict=source.typed)
    except ValidationError as error:
        raise InvalidRequest("; ".join(_bad_values(model, error))) from error
    return options.model_dump(exclude_unset=True)


def unknown_option(name: str, place: str, known: Sequence[str]) -> InvalidRequest:
    """The refusal of an option that does not exist: it names the nearest one that does."""
    nearest = get_close_matches(name, known, n=1) if len(name) <= _LONGEST_NAME else []
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"the options are {', '.join(known)}"
    return InvalidRequest(f"unknown option {reprlib.repr(name)} in the {place}; {hint}")


def _bad_values(model: OptionsModel, error: ValidationError) -> Iterable[str]:
    properties = model.model_json_schema()["properties"]
    for fault in error.errors(include_url=False, include_context=False):
        name = str(fault["loc"][0])
        yield f"{name} is {reprlib.repr(fault['input'])}, but must be {accepts(properties[name])}"
