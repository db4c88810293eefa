import pytest

from rldsl.grammar.read import decode, read


def test_text_is_read_with_plain_line_ends_and_without_byte_order_mark(tmp_path):
    file = tmp_path / "a.rl"
    file.write_bytes(b"\xef\xbb\xbflet a = 1\r\nlet b = 2\r\n")
    assert read(file) == ("let a = 1\nlet b = 2\n", [])


@pytest.mark.parametrize(("data", "place"), [(b"let a = 1\nlet \xff = 2", (2, 5)), (b"a\nbc\0", (2, 3)),
                                             (b"x" * 10_000_000, (1, 1)), ("é".encode() * 1_500_000, (1, 1)),
                                             (b"\x7fELF\x02\x01\x01\x00", (1, 8))])
def test_what_is_no_text_of_reasonable_size_is_refused(tmp_path, data, place):
    (tmp_path / "a.rl").write_bytes(data)
    text, (diagnostic,) = read(tmp_path / "a.rl")
    assert (text, diagnostic.code, diagnostic.position[1:3]) == ("", "RL103", place)


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "missing.rl", tmp_path):
        text, (diagnostic,) = read(path)
        assert (text, diagnostic.code) == ("", "RL206") and str(path) in diagnostic.message


def test_the_column_of_a_bad_byte_counts_characters():
    assert decode("é".encode() + b"\xff", "x")[1][0].position[1:3] == (1, 2)
