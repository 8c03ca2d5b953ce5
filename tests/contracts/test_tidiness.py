"""The tree stays tidy: small files, documented rooms, statements in files of their own, nothing new at the top."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("runtime", "workers", "control", "demos", "tests")
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 50
TOP = {
    ".ci", ".gitignore", "LICENSE", "README.md", "control", "demos", "pyproject.toml", "runtime", "tests", "workers",
}  # fmt: skip
# what tools leave behind and .gitignore names
LEFT = re.compile(r"(\..*_cache|\.git|\.venv|\.hypothesis|dist|build|__pycache__|.*\.egg-info|.*\.db(-\w+)?)$")
STATEMENT = re.compile(r"\s*(select|insert|update|delete|create|drop|alter|with|replace)\s", re.IGNORECASE)
CLAUSE = re.compile(r"\b(from|into|set|table|where)\b", re.IGNORECASE)
KEYWORD = re.compile(
    r"\b(SELECT|FROM|WHERE|INSERT|INTO|VALUES|UPDATE|SET|DELETE|CREATE|TABLE|INDEX|UNIQUE|PRIMARY|KEY|NOT|NULL|JOIN|LEFT|"
    r"CROSS|ON|ORDER|GROUP|BY|LIMIT|HAVING|UNION|ALL|AND|OR|IN|IS|AS|CASE|WHEN|THEN|ELSE|END|WITH|RECURSIVE|EXISTS|"
    r"CONFLICT|DO|RETURNING|STRICT|WITHOUT|CHECK|DEFAULT|REFERENCES|COUNT|SUM|MIN|MAX|COALESCE)\b"
)
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PRODUCT = [path for path in FILES if path.relative_to(ROOT).parts[0] != "tests"]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
SQL_FILES = sorted((ROOT / "runtime" / "store").rglob("*.sql"))


def named(path: Path) -> str:
    """A file's place below the top."""
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    """A file's syntax."""
    return ast.parse(path.read_text("utf-8"), named(path))


def faults(judge: Callable[[Path], object], paths: Iterable[Path] = FILES) -> dict[str, object]:
    """What is wrong, by file."""
    return {named(path): found for path in paths if (found := judge(path))}


def lines_of(function: Function) -> int:
    """The lines of a function without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def formatted(module: ast.Module) -> Iterator[ast.JoinedStr]:
    """Every f-string that begins like a data statement."""
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            begins = str(node.values[0].value)
            if len(node.values) > 1 and STATEMENT.match(begins) and CLAUSE.search(begins):
                yield node


def top() -> set[str]:
    """What belongs to the project at its top: in a clone what git tracks, as the guides' files are pasted there too."""
    if (ROOT / ".git").exists():
        asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return {name.split("/")[0] for name in asked.stdout.split("\0") if name}
    return {path.name for path in ROOT.iterdir() if not LEFT.match(path.name)}


def test_nothing_new_stands_at_the_top() -> None:
    assert top() - TOP == set()


def test_no_file_is_long() -> None:
    def judge(path: Path) -> int | None:
        count = len(path.read_text("utf-8").splitlines())
        return count if count > MOST_LINES else None

    assert faults(judge, [*FILES, *SQL_FILES]) == {}


def test_every_module_says_what_room_it_is() -> None:
    assert faults(lambda path: not ast.get_docstring(tree(path))) == {}


def test_public_names_are_documented() -> None:
    def judge(path: Path) -> list[str]:
        kinds = (ast.ClassDef, *FUNCTIONS)
        public = [node for node in tree(path).body if isinstance(node, kinds) and not node.name.startswith("_")]
        return [node.name for node in public if not ast.get_docstring(node)]

    assert faults(judge, PRODUCT) == {}


def test_functions_are_short() -> None:
    def judge(path: Path) -> dict[str, int]:
        functions = [node for node in ast.walk(tree(path)) if isinstance(node, FUNCTIONS)]
        return {node.name: lines_of(node) for node in functions if lines_of(node) > MOST_LINES_OF_A_FUNCTION}

    assert faults(judge) == {}


def test_no_statement_is_put_together_from_values() -> None:
    assert faults(lambda path: [node.lineno for node in formatted(tree(path))], PRODUCT) == {}


def test_a_statement_put_together_from_values_would_be_seen() -> None:
    module = ast.parse("f'select * from job where id = {name}'; f'select one of {names}'; f'update {this}'")
    assert [node.lineno for node in formatted(module)] == [1]


def test_sql_is_in_lower_case() -> None:
    def judge(path: Path) -> list[str]:
        statements = [line.partition("--")[0] for line in path.read_text("utf-8").splitlines()]
        return [line for line in statements if KEYWORD.search(re.sub(r"'[^']*'", "''", line))]

    assert faults(judge, SQL_FILES) == {}


def test_bound_rows_have_plain_placeholders() -> None:
    # Python 3.14 refuses a sequence for `?1`, which counts as a name
    assert faults(lambda path: re.findall(r"\?\d+", path.read_text("utf-8")), SQL_FILES) == {}


def test_a_sql_file_says_what_it_is() -> None:
    assert faults(lambda path: not path.read_text("utf-8").startswith("-- "), SQL_FILES) == {}


def test_nothing_names_a_place_of_one_machine() -> None:
    places = re.compile("/" + r"(?:home|root|Users)/\w+")
    assert faults(lambda path: places.findall(path.read_text("utf-8"))) == {}
