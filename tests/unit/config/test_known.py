"""What a configuration is held against."""

from mtbot.config.known import known_rules, regex_problem


def test_rules_are_known_by_id_with_whether_they_are_hardline() -> None:
    """A hardline one can never be softened."""
    known = known_rules()
    assert known["files.wipe-root"] is True
    assert False in known.values()


def test_an_expression_that_cannot_be_read_is_explained() -> None:
    """In RE2's words; one that can be read has no problem."""
    assert regex_problem("ls .*") is None
    assert regex_problem("(") == "missing ) at character 1"
