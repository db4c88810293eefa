"""The provenance trail of every value."""

from .project import recipe_text, typed

TEXT = """let wide = 20k + 480
""" + recipe_text(gate="clip(0.2, high: 0.25) + kl(0.1)", sampling="group(8, max_tokens: wide)",
                  body="data { prompts: 4 }\ncluster { nodes: 2 }") + """
recipe child extends base {
  gate.high = 0.3
  data.prompts = 8
  profile p {
    gate.high = 0.4
    cluster { local }
  }
}
recipe plain extends child {
  gate = clip(0.1)
}
"""


def trail(recipe, path):
    return [(o.how, o.recipe, o.value) for o in recipe.origins[path]]


def test_default_base_child_profile_set(tmp_path):
    recipe = typed(tmp_path, TEXT, "child", profile="p", sets=["gate.high=0.5"])
    assert trail(recipe, "gate.high") == [
        ("default", "", "low"), ("recipe", "base", "0.25"), ("recipe", "child", "0.3"),
        ("profile", "child:p", "0.4"), ("--set", "child", "0.5")]
    assert [o.span.line for o in recipe.origins["gate.high"][1:3]] == [7, 16]
    assert trail(recipe, "data.prompts") == [("default", "", "none"), ("recipe", "base", "4"),
                                             ("recipe", "child", "8")]


def test_replacing_an_axis_brings_the_default_back(tmp_path):
    recipe = typed(tmp_path, TEXT, "plain")
    assert trail(recipe, "gate.high")[-2:] == [("recipe", "child", "0.3"), ("recipe", "plain", "low")]
    assert trail(recipe, "gate") == [("recipe", "base", "clip(0.2, high: 0.25) + kl(0.1)"),
                                     ("recipe", "plain", "clip(0.1)")]
    assert "gate.coef" not in recipe.origins


def test_replacing_a_family_brings_the_default_back(tmp_path):
    recipe = typed(tmp_path, TEXT, "child", profile="p")
    assert trail(recipe, "cluster.nodes") == [("default", "", "none"), ("recipe", "base", "2"),
                                              ("profile", "child:p", "none")]


def test_computed_values_are_shown(tmp_path):
    recipe = typed(tmp_path, TEXT, "base")
    assert trail(recipe, "sampling.max_tokens") == [("recipe", "base", "wide = 20480")]


def test_where_a_setting_was_written(tmp_path):
    recipe = typed(tmp_path, TEXT, "child")
    assert recipe.where("data.prompts").line == 17 and recipe.where("budget.steps") == recipe.span


def test_a_parameter_in_two_terms_goes_by_its_term(tmp_path):
    recipe = typed(tmp_path, recipe_text(feedback='format("a", reward: 1) + format("b", reward: 2) + verify(math)'))
    assert trail(recipe, "feedback.format[2].reward")[-1] == ("recipe", "base", "2")
    assert "feedback.how" in recipe.origins
