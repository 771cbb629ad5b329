from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_fakes import LIMITS

from gateway.errors import InvalidRequest
from gateway.ocr.areas import Areas
from gateway.ocr.options import DetectionOptions, PageOptions, RecognitionOptions
from gateway.web.options import OptionSource, accepts, options_for, read_options

OPTIONS = options_for(LIMITS)
PROPERTIES = OPTIONS.model_json_schema()["properties"]


def query(**values):
    return OptionSource("query", tuple(values.items()))


def json(**values):
    return OptionSource("JSON body", tuple(values.items()), typed=True)


def refusal(*sources):
    with pytest.raises(InvalidRequest) as caught:
        read_options(OPTIONS, sources)
    return caught.value.detail


def test_without_options_the_defaults_are_the_pipelines_own():
    assert read_options(OPTIONS, []).page_options() == PageOptions()


def test_the_timeouts_default_is_the_services():
    assert read_options(OPTIONS, []).timeout == LIMITS.timeout_s


def test_every_option_reaches_the_pipeline():
    options = read_options(
        OPTIONS,
        [
            json(
                detect=False,
                recognize=True,
                reread=False,
                min_score=0.1,
                partial=True,
                level="char",
                alternatives=2,
                infer_spaces=False,
                limit_side=960,
                min_side=64,
                binarize_threshold=0.2,
                box_threshold=0.6,
                unclip_ratio=1.1,
                crop_unclip_ratio=2,
            )
        ],
    )
    assert options.page_options() == PageOptions(
        detect=False,
        recognize=True,
        detection=DetectionOptions(
            limit_side=960,
            min_side=64,
            binarize_threshold=0.2,
            box_threshold=0.6,
            unclip_ratio=1.1,
            crop_unclip_ratio=2.0,
        ),
        recognition=RecognitionOptions(min_score=0.1, reread=False, partial=True, space_probability=2, alternatives=2),
        level="char",
    )


def test_words_need_text():
    assert refusal(query(level="word", recognize="false")) == (
        "level=word needs text, which recognize=false leaves out; leave one out"
    )


def test_alternatives_need_characters():
    assert refusal(query(alternatives="3", level="word")) == (
        "alternatives are those of characters, which level=word does not give"
    )


def test_alternatives_need_a_format_that_has_a_place_for_them():
    assert refusal(query(alternatives="3", level="char", format="alto")) == (
        "format=alto has no place for alternatives; json and ndjson do"
    )
    assert read_options(OPTIONS, [query(alternatives="3", level="char", format="ndjson")]).alternatives == 3


def test_options_of_several_places_are_joined():
    options = read_options(OPTIONS, [query(min_score="0.7"), json(limit_side=960)])
    assert (options.min_score, options.limit_side) == (0.7, 960)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("on", True), ("False", False), ("no", False)]
)
def test_in_a_query_yes_and_no_may_be_written_in_the_usual_ways(text, value):
    assert read_options(OPTIONS, [query(reread=text)]).reread is value


@pytest.mark.parametrize(
    ("sources", "detail"),
    [
        ([query(min_scor="0.5")], "unknown option 'min_scor' in the query; did you mean 'min_score'?"),
        ([json(boxthreshold=1)], "unknown option 'boxthreshold' in the JSON body; did you mean 'box_threshold'?"),
        ([query(min_score="2")], "min_score is '2', but must be a number from 0 to 1"),
        ([query(min_score="nan")], "min_score is 'nan', but must be a number from 0 to 1"),
        ([query(min_score="")], "min_score is '', but must be a number from 0 to 1"),
        ([json(min_score=float("inf"))], "min_score is inf, but must be a number from 0 to 1"),
        ([json(min_score="0.5")], "min_score is '0.5', but must be a number from 0 to 1"),
        ([json(min_score=True)], "min_score is True, but must be a number from 0 to 1"),
        ([json(min_score=None)], "min_score is None, but must be a number from 0 to 1"),
        ([json(limit_side=960.0)], "limit_side is 960.0, but must be a whole number from 64 to 4000"),
        ([query(limit_side="9.5")], "limit_side is '9.5', but must be a whole number from 64 to 4000"),
        ([query(binarize_threshold="0")], "binarize_threshold is '0', but must be a number above 0 and below 1"),
        ([json(reread=1)], "reread is 1, but must be true or false"),
        ([query(reread="perhaps")], "reread is 'perhaps', but must be true or false"),
        ([query(timeout="0")], "timeout is '0', but must be a number above 0 and at most 120"),
        ([query(timeout="121")], "timeout is '121', but must be a number above 0 and at most 120"),
        (
            [query(reread="7", min_score="7")],
            "reread is '7', but must be true or false; min_score is '7', but must be a number from 0 to 1",
        ),
    ],
)
def test_a_refusal_names_the_option_the_value_and_the_range(sources, detail):
    assert refusal(*sources) == detail


def test_an_option_that_resembles_none_gets_the_list_of_all():
    assert refusal(query(zzz="1")).endswith("the options are " + ", ".join(OPTIONS.model_fields))


def test_an_option_in_two_places_is_named_with_the_places():
    detail = refusal(query(min_score="0.5"), json(min_score=0.5))
    assert detail == "the option 'min_score' is given 2 times (query and JSON body); give it once"


def test_an_option_twice_in_one_place_is_refused():
    detail = refusal(OptionSource("query", (("reread", "0"), ("reread", "0"))))
    assert detail == "the option 'reread' is given 2 times (query); give it once"


def test_switching_everything_off_is_refused_wherever_the_halves_stand():
    assert "can't both be false" in refusal(query(detect="false"), json(recognize=False))


def test_a_giant_name_is_neither_compared_nor_repeated():
    assert len(refusal(query(**{"a" * 1_000_000: "1"}))) < 400


def test_a_name_that_is_no_text_can_be_shown():
    refusal(json(**{"\ud800": 1})).encode()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "boolean"}, "true or false"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "a whole number from 1 to 9"),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "a number at least 0 and below 1"),
        ({"type": "number", "exclusiveMinimum": 0.5, "maximum": 1}, "a number above 0.5 and at most 1"),
    ],
)
def test_ranges_in_words(schema, words):
    assert accepts(schema) == words


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_option_has_a_default_and_a_description_for_openapi(name):
    assert PROPERTIES[name]["description"].endswith(".")
    assert PROPERTIES[name]["default"] == read_options(OPTIONS, []).model_dump()[name]


@given(
    st.sampled_from(list(PROPERTIES)), st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50)
)
def test_no_value_does_anything_but_pass_or_be_refused(name, value):
    with suppress(InvalidRequest):
        read_options(OPTIONS, [json(**{name: value})])


def test_areas_need_lines_that_are_found():
    assert "detect=false" in refusal(query(region="0,0,10,10", detect="false"))
    assert "detect=false" in refusal(query(ignore="0,0,10,10", detect="false"))


def test_areas_reach_the_pipeline():
    options = read_options(OPTIONS, [query(region="0,1,2,3;4,5,6,7", ignore="8,9,10,11")])
    assert options.page_options().areas == Areas.parse("0,1,2,3;4,5,6,7", "8,9,10,11")


def test_a_bad_area_is_refused_by_name():
    assert refusal(query(region="0,0,0,10")).startswith("region is '0,0,0,10', but must be x,y,width,height in pixels")
