"""The YAML syntax of catalogues and studies."""

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.read import as_yaml, read_mapping


def read(tmp_path, text):
    file = tmp_path / "some.yaml"
    file.write_text(text)
    return read_mapping(file)


def test_a_mapping_may_bring_the_keys_of_another(tmp_path):
    text = "one: &one {x: 1, y: 2}\ntwo: &two {<<: *one, y: 3}\nthree: {<<: *two, x: 4}\n"
    assert read(tmp_path, text) == {
        "one": {"x": 1, "y": 2},
        "two": {"x": 1, "y": 3},
        "three": {"x": 4, "y": 3},
    }


def test_a_key_written_twice_is_refused_next_to_a_merge(tmp_path):
    text = "one: &one {x: 1}\ntwo:\n  <<: *one\n  y: 2\n  y: 3\n"
    with pytest.raises(UserError, match="key 'y' is written twice, again in line 5"):
        read(tmp_path, text)


@pytest.mark.parametrize("text", ["12345e67", "0E0", "1e-5", "2.5e5", ".5e1", "true", "12", ""])
def test_text_that_looks_like_a_number_is_read_as_text(tmp_path, text):
    """Such as the first digits of a file of weights' sha256."""
    (tmp_path / "a.yaml").write_text(as_yaml({"sha256": text, "rate": 1e-5, "size": 12}))
    read = read_mapping(tmp_path / "a.yaml")
    assert read == {"sha256": text, "rate": 1e-5, "size": 12}
    assert isinstance(read["sha256"], str)
