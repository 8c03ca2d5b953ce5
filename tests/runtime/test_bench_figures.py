"""A figure judges its median by what is wanted of it and by the limit that was taken in the same run."""

import pytest

from runtime.bench.figures import Figure, Limit, as_data, percentile, report, shown, unjudged, wish
from runtime.cli.app import main


def test_a_figure_is_met_by_its_median() -> None:
    assert Figure("b", "n", "jobs/s", (1.0, 9.0, 10.0), wanted=9.0).met is True
    assert Figure("b", "n", "ms", (1.0, 9.0, 10.0), wanted=8.0, at_least=False).met is False
    assert Figure("b", "n", "jobs/s", (1.0,)).met is None


def test_less_than_a_bound_is_wanted_and_a_bound_can_hold_for_every_run() -> None:
    assert Figure("b", "n", "ms", (8.0,), wanted=8.0, at_least=False).met is False
    each = Figure("b", "n", "ms", (1.0, 2.0, 9.0), wanted=8.0, at_least=False, every_run=True)
    assert (each.met, wish(each)) == (False, "< 8.00 in every run")
    assert unjudged(each).met is None


def test_a_share_of_the_limit_can_be_wanted_too() -> None:
    figure = Figure("b", "n", "jobs/s", (40.0, 60.0, 50.0), Limit("bare", (100.0,)), wanted=10.0, share_wanted=0.5)
    assert (figure.share, figure.met) == (0.5, True)
    assert wish(figure) == "≥ 10.0, ≥ 0.5 × limit"
    assert Figure("b", "n", "", (49.0,), Limit("bare", (100.0,)), share_wanted=0.5).met is False


def test_each_run_has_its_share_of_the_limit_beside_it() -> None:
    drifting = Figure("b", "n", "jobs/s", (60.0, 30.0, 20.0), Limit("bare", (100.0, 50.0, 50.0)), share_wanted=0.6)
    assert (drifting.shares, drifting.share, drifting.met) == ((0.6, 0.6, 0.4), 0.6, True)
    once = Figure("b", "n", "jobs/s", (60.0, 30.0, 20.0), Limit("bare", (100.0, 50.0)))
    assert once.shares == (0.8, 0.4, 20 / 75)
    assert Figure("b", "n", "", (1.0,), Limit("nothing", (0.0,))).share is None


def test_percentiles_by_the_nearest_rank() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, part) for part in (0.0, 0.5, 0.99, 1.0)] == [1.0, 50.0, 99.0, 100.0]


@pytest.mark.parametrize(("value", "text"), [(12345.6, "12,346"), (12.34, "12.3"), (0.123, "0.12"), (0.0123, "0.0123")])
def test_values_are_shown_in_three_figures(value: float, text: str) -> None:
    assert shown(value) == text


def test_a_report_holds_median_least_and_most() -> None:
    figure = Figure("drain", "jobs done", "jobs/s", (3.0, 1.0, 2.0), Limit("bare", (4.0,)))
    data = as_data(figure)
    assert [data[name] for name in ("median", "min", "max", "share_of_limit")] == [2.0, 1.0, 3.0, 0.5]
    assert data["wanted"] == {"least": None, "below": None, "in_every_run": False, "share_of_limit": None}
    assert report([figure], {"cores": 2})["machine"] == {"cores": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "at least 1"),
        (["--plot", "chart.pdf"], ".svg or .png"),
        (["nothing"], "drain"),
    ],
)
def test_a_wrong_setting_is_a_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
