"""Tasks: determinism, disjoint splits, files with every kind of fault."""

import json
import subprocess
import sys

import pytest

from rldsl.diagnostics import RecipeError, Span
from rldsl.environments.tasks import Columns, load_task, toy_names
from rldsl.environments.tasks.permutation import permute

SPLITS = ("train", "warm_start", "held_out")


def fault(*args, **kwargs):
    with pytest.raises(RecipeError) as caught:
        load_task(*args, **{"seed": 0, **kwargs})
    return caught.value.diagnostics


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 65, 1000])
def test_permutation_meets_every_number_once(size):
    assert sorted(permute(i, size, "k") for i in range(size)) == list(range(size))


@pytest.mark.parametrize("name", toy_names())
def test_toy_splits_share_no_problem_whatever_the_seed(name):
    seen = {split: {p.prompt for seed in (0, 7) for p in load_task(f"toy:{name}", split, seed=seed)}
            for split in SPLITS}
    assert all(len(prompts) >= 10 for prompts in seen.values())
    assert not seen["train"] & seen["held_out"]
    assert not seen["train"] & seen["warm_start"]
    assert not seen["warm_start"] & seen["held_out"]


@pytest.mark.parametrize("name", toy_names())
def test_toy_problems_are_all_different_and_ids_name_them(name):
    task = load_task(f"toy:{name}", "train", seed=3)
    problems = list(task)
    assert len({p.prompt for p in problems}) == len({p.id for p in problems}) == len(task)


def test_order_of_train_follows_the_seed_and_held_out_does_not():
    def first(split, seed):
        task = load_task("toy:addition", split, seed=seed)
        return [task[i].prompt for i in range(50)]

    assert first("train", 1) == first("train", 1) != first("train", 2)
    assert first("held_out", 1) == first("held_out", 2)


def test_large_spaces_are_capped_and_not_listed():
    task = load_task("toy:copy?length=16&letters=26", "train", seed=1)
    assert len(task) == 20_000
    assert len(task[19_999].prompt) == 17


def test_answers_of_the_toys():
    answers = {"addition": lambda p: str(sum(map(int, p[:-1].split("+")))), "copy": lambda p: p[:-1],
               "reverse": lambda p: p[-2::-1], "sort": lambda p: "".join(sorted(p[:-1])),
               "largest": lambda p: max(p[:-1])}
    for name, answer in answers.items():
        for problem in list(load_task(f"toy:{name}", "held_out", seed=0))[:50]:
            assert problem.answer == answer(problem.prompt)


@pytest.mark.parametrize("index", [-1, 6000])
def test_index_outside_the_task(index):
    with pytest.raises(IndexError):
        load_task("toy:addition", "train", seed=0)[index]


@pytest.mark.parametrize(("spec", "code", "words"), [
    ("toy:additon", "RL201", "no toy task 'additon'"), ("toy:addition?digit=2", "RL205", "no parameter 'digit'"),
    ("toy:addition?digits=two", "RL203", "whole number"), ("toy:addition?digits=0", "RL204", "at least 1"),
    ("toy:addition?digits", "RL203", "Cannot read the parameters"),
    ("toy:addition?digits=1&digits=2", "RL205", "twice"),
    ("missing.jsonl", "RL407", "no file or folder"), ("gym:chain_summ", "RL407", "no task 'chain_summ'"),
    ("gym:chain_sum?foo=1", "RL407", "foo"), ("gym:chain_sum?min_terms=-1", "RL407", "min_terms")])
def test_wrong_specs_are_refused_with_a_remedy(spec, code, words, tmp_path):
    span = Span("a.rl", 3, 10, 3, 20)
    (found,) = fault(spec, "train", root=tmp_path, span=span)
    assert found.code == code and words in found.message and found.fix
    assert found.labels[0].span == span and found.labels[0].primary


def test_did_you_mean():
    assert fault("toy:additon", "train")[0].fix == "Write toy:addition."


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.name


def test_json_lines_with_column_names_nested_answers_and_numbers(tmp_path):
    rows = [{"q": "2+2", "gold": {"value": 4}}, {"q": "1+1", "gold": {"value": "2"}}]
    name = write(tmp_path / "a.jsonl", rows)
    task = load_task(name, "train", seed=0, root=tmp_path, columns=Columns("q", "gold.value"))
    assert [(p.prompt, p.answer) for p in task] == [("2+2", "4"), ("1+1", "2")]
    assert task[0].metadata["gold"] == {"value": 4} and task[0].id.endswith("a.jsonl:1")
    assert not task.own_scorer


def test_template_reads_all_columns(tmp_path):
    name = write(tmp_path / "a.jsonl", [{"messages": [{"content": "Hi"}], "answer": "x"}])
    columns = Columns(template="Q: {{ messages[0].content }}\nA: ")
    assert load_task(name, "train", seed=0, root=tmp_path, columns=columns)[0].prompt == "Q: Hi\nA: "


@pytest.mark.parametrize("template", ["{{ prompt.__class__.__mro__ }}", "{{ nothing }}", "{{ 1 / 0 }}",
                                      "{{ cycler.__init__.__globals__.os }}"])
def test_template_runs_in_a_sandbox_and_its_faults_name_the_row(template, tmp_path):
    name = write(tmp_path / "a.jsonl", [{"prompt": "p", "answer": "a"}])
    (found,) = fault(name, "train", root=tmp_path, columns=Columns(template=template))
    assert found.code == "RL407" and "row 1" in found.message and "prompt, answer" in found.message


def test_template_that_is_no_jinja():
    assert fault("toy:addition", "train", columns=Columns(template="{{ prompt"))[0].code == "RL203"


@pytest.mark.parametrize(("row", "words"), [
    ({"answer": "x"}, "no column 'prompt'; there are: answer"), ({"prompt": "x"}, "no column 'answer'"),
    ({"prompt": 3, "answer": "x"}, "holds a number"), ({"prompt": None, "answer": "x"}, "holds nothing"),
    ({"prompt": " ", "answer": "x"}, "prompt is empty"), ({"prompt": "x", "answer": ""}, "is empty"),
    ({"prompt": "x", "answer": None}, "holds nothing"), ({"prompt": "x", "answer": [1]}, "holds a list"),
    ({}, "there are: none")])
def test_bad_rows_name_file_row_and_columns(row, words, tmp_path):
    name = write(tmp_path / "a.jsonl", [{"prompt": "p", "answer": "a"}, row])
    (found,) = fault(name, "train", root=tmp_path)
    assert found.code == "RL407" and "a.jsonl', row 2" in found.message and words in found.message


def test_many_bad_rows_are_counted(tmp_path):
    name = write(tmp_path / "a.jsonl", [{"prompt": "p"}] * 12)
    found = fault(name, "train", root=tmp_path)
    assert len(found) == 6 and any("12 of 12 rows" in d.message for d in found)


@pytest.mark.parametrize(("content", "words"), [
    (b'{"prompt": "p", "answer": "a"}\n\n', "line 2 is empty"), (b"{oops\n", "line 1 is not JSON"),
    (b"[1]\n", "line 1 is not an object"), (b"\xff\xfe\n", "line 1 is not UTF-8"), (b"", "has no rows"),
    (b"[" * 100_000, "nested too deep")])
def test_unreadable_json_lines(content, words, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(content)
    (found,) = fault("a.jsonl", "train", root=tmp_path)
    assert found.code == "RL407" and words in found.message


def test_parquet(tmp_path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"prompt": ["p", "q"], "answer": [1, 2], "blob": [b"x", b"y"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    task = load_task("a.parquet", "train", seed=0, root=tmp_path)
    assert [(p.prompt, p.answer) for p in task] == [("p", "1"), ("q", "2")]
    json.dumps(task[0].metadata)
    (tmp_path / "b.parquet").write_bytes(b"not parquet")
    assert "not a Parquet file" in fault("b.parquet", "train", root=tmp_path)[0].message


def save_arrow(folder, rows):
    import pyarrow

    folder.mkdir(parents=True)
    table = pyarrow.Table.from_pylist(rows)
    with (pyarrow.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
          pyarrow.ipc.new_stream(sink, table.schema) as writer):
        writer.write_table(table)


def test_data_set_folders(tmp_path):
    save_arrow(tmp_path / "saved" / "train", [{"prompt": "p", "answer": "a"}])
    save_arrow(tmp_path / "saved" / "test", [{"prompt": "q", "answer": "b"}])
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert load_task("saved", "train", seed=0, root=tmp_path)[0].prompt == "p"
    assert load_task("saved", "held_out", seed=0, root=tmp_path)[0].prompt == "q"
    assert "no 'warm_start' split" in fault("saved", "warm_start", root=tmp_path)[0].message
    (tmp_path / "hub" / "data").mkdir(parents=True)
    write(tmp_path / "hub" / "data" / "train-00000-of-00001.jsonl", [{"prompt": "r", "answer": "c"}])
    assert load_task("hub", "train", seed=0, root=tmp_path)[0].prompt == "r"


def test_gym_splits_share_no_question_and_repeat():
    tasks = {split: load_task("gym:chain_sum?max_terms=2&max_digits=1", split, seed=1) for split in SPLITS}
    prompts = {split: {task[i].prompt for i in range(60)} for split, task in tasks.items()}
    assert not prompts["train"] & prompts["held_out"] and not prompts["train"] & prompts["warm_start"]
    again = load_task("gym:chain_sum?max_terms=2&max_digits=1", "train", seed=1)
    assert again[40] == tasks["train"][40] and tasks["train"].own_scorer
    assert tasks["held_out"][5] == load_task("gym:chain_sum?max_terms=2&max_digits=1", "held_out", seed=9)[5]


def test_toy_tasks_import_no_heavy_package():
    code = ("import sys; from rldsl.environments.tasks import load_task\n"
            "load_task('toy:addition', 'train', seed=0)[0]\n"
            "heavy = 'torch', 'numpy', 'pyarrow', 'reasoning_gym', 'jinja2'\n"
            "print([name for name in heavy if name in sys.modules])")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
