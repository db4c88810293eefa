"""Responses that a data set holds: what is read, what is refused, what reaches training."""

import pytest

from rldsl.axes.types import Stored
from rldsl.diagnostics import RecipeError
from rldsl.runtime.prompts import prompts, with_stored
from rldsl.runtime.stages_train import whole_pairs

from .fakes import FakeProblem, plan_of

PAIRS = Stored(("chosen", "rejected"), (1, 0), pairs=True)
LABELS = Stored(("response",), label="label")


def encode(text):
    return tuple(map(ord, text))


def data(*rows, stored=PAIRS, limit=4, too_long="error", answer="yes"):
    source = [FakeProblem(f"p{i}", answer, row) for i, row in enumerate(rows)]
    return with_stored(prompts(source, encode, 8, "error", "data"), stored, encode, limit, too_long, "data")


def refused(*rows, **options):
    with pytest.raises(RecipeError) as found:
        data(*rows, **options)
    (only,) = found.value.diagnostics
    return only


def test_a_pair_becomes_two_members_of_one_group_in_the_stored_order():
    good, bad = data({"chosen": "ab", "rejected": "c"}).responses(7, 0, version=3)
    assert (good.text, good.verdict, bad.text, bad.verdict) == ("ab", 1, "c", 0)
    assert (good.group, good.sibling, bad.sibling, good.versions) == (7, 0, 1, (3, 3))


@pytest.mark.parametrize("label, verdict", [(True, 1), (False, 0), (1, 1), (0, 0)])
def test_labels(label, verdict):
    (only,) = data({"response": "ab", "label": label}, stored=LABELS).responses(0, 0, 0)
    assert only.verdict == verdict


def test_a_demonstration_is_the_rows_own_answer():
    (only,) = data({}, stored=Stored((), (1,))).responses(0, 0, 0)
    assert (only.text, only.verdict) == ("yes", 1)


@pytest.mark.parametrize("row, stored, says", [
    ({"chosen": "ab"}, PAIRS, "there is no column 'rejected'; there are: chosen"),
    ({"chosen": "ab", "rejected": ""}, PAIRS, "a response is a text that is not empty"),
    ({"chosen": "ab", "rejected": 3}, PAIRS, "column 'rejected' holds 3"),
    ({"chosen": "ab", "rejected": "ab"}, PAIRS, "the two responses are equal"),
    ({"response": "ab", "label": "good"}, LABELS, "a label is true or false"),
    ({"response": "ab", "label": 0.5}, LABELS, "a label is true or false"),
    ({"response": "ab", "label": [1]}, LABELS, "a label is true or false"),
    ({"response": "ab", "label": 2}, LABELS, "a label is true or false")])
def test_a_row_that_cannot_be_learned_from_is_named(row, stored, says):
    fine = {"chosen": "a", "rejected": "b", "response": "a", "label": True}
    found = refused(fine, row, stored=stored)
    assert found.code == "RL407" and "1 of 2 rows" in found.message
    assert found.why.startswith("row 2: ") and says in found.why


def test_long_responses_are_an_error_or_dropped_and_counted():
    rows = ({"chosen": "ab", "rejected": "c"}, {"chosen": "abcde", "rejected": "c"})
    assert refused(*rows).code == "RL408"
    kept = data(*rows, too_long="drop")
    assert (list(kept.rows), kept.dropped) == ([0], 1)
    assert refused(rows[1], too_long="drop").code == "RL408"


def test_a_pair_that_lost_one_side_is_not_compared(tmp_path):
    from rldsl.algebra.evaluate import Value
    from rldsl.algebra.expr import RESPONSE
    from rldsl.runtime.batch import Batch, PlainMath

    plan = plan_of(tmp_path, sampling="offline(pairs, max_tokens: 4)", advantage="none", ratio="none",
                   gate="dpo(0.1)", reduction="sequence_mean")
    columns = {"chosen": Value(RESPONSE, [1.0, 0.0, 1.0, 0.0])}
    batch = Batch.of([1, 1, 1, 1], [0, 0, 1, 1], columns, PlainMath(), pairs=[0, 0, 1, 1])
    assert whole_pairs(plan.objective, batch.select([0, 1, 3])).rows == (0, 1)
    assert whole_pairs(plan.objective, batch).rows == (0, 1, 2, 3)


def test_no_warning_that_there_is_nothing_to_learn_where_no_advantage_is_read(tmp_path):
    """A preference loss has advantage 0 throughout and learns."""
    from rldsl.runtime.executor import execute

    from .fakes import events, run_of

    plan = plan_of(tmp_path, "optim.updates_per_batch=1", "evaluate.every=6", gate="dpo(0.1)", advantage="none",
                   sampling="offline(pairs, max_tokens: 4)", ratio="none", reduction="sequence_mean")
    run = run_of(plan, tmp_path / "run", lambda r, s: "", steps=6)
    run.data = data(*[{"chosen": "ab", "rejected": "c"}] * 8)
    run.progress.ledger = type(run.progress.ledger)(8, 0)
    execute(run)
    assert len(run.trainer.jobs) == 6 and not events(run, "warning")
    assert [what for what, _ in run.trainer.asked] == ["sample", *["ref"] * 6, "sample"]  # evaluation alone samples
