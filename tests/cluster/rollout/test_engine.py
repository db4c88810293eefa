"""One engine: tokens and log-probs, seeds, ends, refusals, streams that are cut and taken up again."""

from __future__ import annotations

import pytest

from tests.cluster.engine_process import told


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return told("tests.cluster.rollout.behaviours", str(tmp_path_factory.mktemp("model") / "model"))


def test_log_probs_are_those_of_the_model(seen):
    assert seen["gap"] < 1e-4


def test_a_stream_draws_the_same_alone_and_in_company(seen):
    assert seen["alone"] == [True, True] and seen["different"] > 12
    assert seen["rounding"] < 1e-4


def test_generation_defaults_of_the_model_folder_are_not_followed(seen):
    """C-020. They would sample at temperature 0.3 from five tokens, and end at 7, 8 and 9."""
    assert seen["foreign ends"] == 0 and seen["gap"] < 1e-4


def test_a_response_ends_with_its_end_token_or_at_the_limit(seen):
    for finish, last, inside, length in seen["ends"]:
        assert not inside
        assert (finish, last) == ("stop", 0) or (finish == "length" and length == 32 and last != 0)
    assert seen["finishes"] == ["length", "stop"]


def test_truncation_and_greedy(seen):
    assert seen["narrow"] <= 1e-4 and seen["greedy"] == [True, True]


def test_a_setting_that_the_engine_changes_is_refused(seen):
    """C-020: what is effective is read back and compared."""
    code, message = seen["refused"]
    assert code == "RL608" and "temperature = 0.01" in message and "0.005" in message


def test_a_stop_text_ends_a_response_with_the_token_that_completes_it(seen):
    found = seen["stops"]
    assert found["finish"] == "stop" and found["begins"] and found["cut"].endswith(found["text"])
    assert found["cut"].index(found["text"]) == len(found["cut"]) - len(found["text"])


def test_prompts_beyond_what_a_step_computes_wait_whole(seen):
    """A prompt that is cut in two draws twice, which a generator on a CPU cannot take back."""
    responses, gap = seen["crowded"]
    assert responses == 60 and gap < 1e-4


def test_tokens_know_the_weights_that_sampled_them_across_cuts(seen):
    """C-060: a token's version is that of the weights that sampled it. C-007: ids go on as ids."""
    found = seen["resumed"]
    assert found["proved"] and found["rows"] >= 4 and all(n == 5 for n in found["held"])
    for versions in found["versions"]:
        assert versions == sorted(versions) and versions[:11] == [0] * 5 + [1] * 5 + [2]
    assert max(found["gaps"].values()) < 1e-4
