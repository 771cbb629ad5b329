from hypothesis import given
from hypothesis import strategies as st

from gateway.inference.retries import RetryBudget, RetryOptions


def retries_of(budget, calls):
    """Try again after every call, as often as the budget allows."""
    made = 0
    for _ in range(calls):
        budget.deposit()
        while budget.withdraw():
            made += 1
    return made


def test_the_reserve_is_there_before_any_call():
    assert retries_of(RetryBudget(RetryOptions(reserve=3)), 1) == 3


def test_an_empty_budget_allows_nothing():
    assert retries_of(RetryBudget(RetryOptions(share=0, reserve=0)), 10) == 0


def test_a_thousand_calls_that_all_fail_make_at_most_1100_attempts():
    assert 1000 + retries_of(RetryBudget(RetryOptions()), 1000) <= 1100


@given(st.integers(0, 2000), st.floats(0, 0.5), st.floats(1, 20))
def test_there_are_never_more_retries_than_the_reserve_and_the_share(calls, share, reserve):
    assert retries_of(RetryBudget(RetryOptions(share=share, reserve=reserve)), calls) <= reserve + share * calls + 1e-6


def test_calls_that_succeed_save_up_no_more_than_the_reserve():
    budget = RetryBudget(RetryOptions(share=0.5, reserve=4))
    for _ in range(100):
        budget.deposit()
    assert [budget.withdraw() for _ in range(5)] == [True] * 4 + [False]
