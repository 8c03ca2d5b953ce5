"""Every numbered item of the scenarios stands in a test's name, so that a test can be found by its number."""

import re

from tests.contracts.test_tidiness import FILES, FUNCTIONS, ROOT, tree

LAST = {"r": 46, "d": 23, "v": 26, "rc": 6, "dc": 9, "vc": 12, "a": 3}


def test_every_number_of_the_scenarios_is_in_a_tests_name() -> None:
    tests = [path for path in FILES if path.relative_to(ROOT).parts[0] == "tests"]
    names = [node.name for path in tests for node in tree(path).body if isinstance(node, FUNCTIONS)]
    told = {
        (letters, int(number))
        for name in names
        if name.startswith("test_")
        for letters, number in re.findall(r"(?<=_)([a-z]+)(\d+)(?=_)", name)
    }
    wanted = {(letters, number) for letters, last in LAST.items() for number in range(1, last + 1)}
    assert wanted - told == set()
