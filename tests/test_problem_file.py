"""Problem files: what they say, and one sentence for each thing that they say wrongly."""

import pytest

from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import CommandEvaluation, PythonEvaluation

SPACE = "[space]\nx = [0.0, 3.0]\n"
LEAST = 'goal = "minimize"\nbudget = 6\n'


def read(folder, text):
    path = folder / "lab.toml"
    path.write_text(text)
    return problem_file.read(path)


def read_and_load(folder, text):
    problem = read(folder, text)
    return problem.physics, problem.evaluation


def test_the_least_that_a_file_says(tmp_path):
    problem = read(tmp_path, LEAST + SPACE)
    assert (problem.name, problem.goal, problem.budget) == ("lab", "minimize", 6)
    assert problem.space.to_dict([1.0]) == {"x": 1.0}
    assert (problem.physics, problem.evaluation, problem.method) == ((), None, "auto")
    assert (problem.noise, problem.seed) == (None, None)
    assert problem.storage == f"sqlite:///{tmp_path / 'lab.db'}"


def test_all_that_a_file_may_say(tmp_path):
    (tmp_path / "neighbour.py").write_text("from pinnbo.operators import laplacian\n")
    (tmp_path / "lab.py").write_text(
        "from neighbour import laplacian\nfrom pinnbo import PDE\n"
        "pde = [PDE(lambda f: laplacian(f), name='heat')]\ndef measure(x): return x[0]\n"
    )
    text = (
        'goal = "maximize"\nbudget = 6\npde = "lab.py:pde"\nnoise = 1\nmethod = "random"\nseed = 3\nname = "mine"\n'
        'storage = "sqlite:///other.db"\nheartbeat = 5\n' + SPACE + '[evaluate]\npython = "lab.py:measure"\n'
    )
    problem = read(tmp_path, text)
    assert [pde.name for pde in problem.physics] == ["heat"]
    assert isinstance(problem.evaluation, PythonEvaluation)
    assert (problem.noise, problem.method, problem.seed, problem.name) == (1.0, "random", 3, "mine")
    assert (problem.storage, problem.heartbeat) == (f"sqlite:///{tmp_path / 'other.db'}", 5)
    command = 'command = "./go {x} {trial}"\ntimeout = 3\nshell = true\n'
    problem = read(tmp_path, LEAST + SPACE + "[evaluate]\n" + command)
    assert isinstance(problem.evaluation, CommandEvaluation)
    assert (problem.evaluation.timeout, problem.evaluation.shell) == (3.0, True)


def test_what_things_are_called(tmp_path):
    units = '[units]\nx = "m"\n'
    assert read(tmp_path, LEAST + SPACE).words == {"value": None, "units": {}}
    named = read(tmp_path, LEAST + 'value = "heat loss"\n' + SPACE + units + '"heat loss" = "W"\n')
    assert named.words == {"value": "heat loss", "units": {"x": "m", "heat loss": "W"}}
    written = LEAST + 'equation = "d(T, x) = k*T"\n' + SPACE + "[unknowns]\nk = [0.1, 1.0]\n"
    assert read(tmp_path, written + units + 'T = "K"\nk = "1/m"\n').units["T"] == "K"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            LEAST + SPACE + '[units]\nz = "m"',
            "units.z: expected a parameter (x), what is measured",
        ),
        (LEAST + SPACE + "[units]\nx = 3", "units.x: expected a text such as 'm/s', got 3"),
        (LEAST + "value = 3\n" + SPACE, "value: expected a name such as 'temperature', got 3"),
        (SPACE, "expected goal = 'minimize' or 'maximize', got nothing"),
        ('goal = "best"\n' + SPACE, "goal: expected 'minimize' or 'maximize', got 'best'"),
        ('goal = "minimize"\n' + SPACE, "expected budget = an integer from 1 to 1000000000, got nothing"),
        (
            'goal = "minimize"\nbudget = 0\n' + SPACE,
            "budget: expected an integer from 1 to 1000000000, got 0",
        ),
        (
            'goal = "minimize"\nbudget = true\n' + SPACE,
            "budget: expected an integer from 1 to 1000000000, got True",
        ),
        (LEAST, "expected space = a table such as x = [0.0, 1.0], got nothing"),
        (
            LEAST + "[space]\nx = [1.0, 0.0]",
            "bound of 'x' must be a pair of finite numbers with lower < upper",
        ),
        (LEAST + "[space]\nx = 3", "bound of 'x' must be a pair"),
        (
            LEAST + 'x = 3\nname = "a"\n' + SPACE,
            "x is unknown; expected one of space, inside, domain, goal, method, units, name",
        ),
        (LEAST + "noise = -1\n" + SPACE, "noise: expected a standard deviation >= 0, got -1.0"),
        (LEAST + 'method = "magic"\n' + SPACE, "method: expected one of"),
        (LEAST + "seed = -1\n" + SPACE, "seed: expected an integer from 0 to 2^63 - 1, got -1"),
        (LEAST + 'pde = "lab.py"\n' + SPACE, "expected a reference such as 'plate.py:pde', got 'lab.py'"),
        (
            LEAST + 'pde = "no.py:pde"\n' + SPACE,
            "no.py:pde: there is no file 'no.py' beside the problem file",
        ),
        (LEAST + 'pde = "lab.py:no"\n' + SPACE, "lab.py:no: lab.py has no 'no'"),
        (
            LEAST + 'pde = "lab.py:number"\n' + SPACE,
            "lab.py:number: pde: expected a PDE, a list of PDEs or None",
        ),
        (
            LEAST + 'pde = "bad.py:pde"\n' + SPACE,
            "bad.py cannot be loaded: NameError: name 'nonsense' is not",
        ),
        (
            LEAST + 'pde = "no.such.module:pde"\n' + SPACE,
            "no.such.module cannot be loaded: ModuleNotFoundError",
        ),
        (LEAST + SPACE + '[evaluate]\npython = "lab.py:number"', "expected a function of a point, got int"),
        (LEAST + SPACE + '[evaluate]\npython = "a:b"\ncommand = "b"', "expected python or command, got both"),
        (LEAST + SPACE + "[evaluate]\ntimeout = 3", "timeout and shell belong to a command"),
        (
            LEAST + SPACE + '[evaluate]\ncommand = "go {x}"\ntimeout = 0',
            "evaluate.timeout: expected seconds > 0",
        ),
        (
            LEAST + SPACE + '[evaluate]\ncommand = "go {z} {x}"',
            "{z} is no parameter; there are x, and {trial}",
        ),
        (LEAST + SPACE + '[evaluate]\ncommand = "go"', "evaluate.command does not use {x}: 'go'"),
        (
            LEAST + SPACE + '[evaluate]\ncommand = "go \'{x}"',
            "cannot be split into words: No closing quotation",
        ),
        (LEAST + SPACE + '[evaluate]\ncommand = " "', "expected a command such as"),
        (
            LEAST + SPACE + '[evaluate]\ncomand = "go"',
            "evaluate.comand is unknown; expected one of python, command",
        ),
        ("goal = minimize", "is not TOML: "),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, text, complaint, unchecked):
    (tmp_path / "lab.py").write_text("number = 3\n")
    (tmp_path / "bad.py").write_text("pde = nonsense\n")
    with pytest.raises(StudyError) as error:
        read_and_load(tmp_path, text)
    assert complaint in str(error.value)
    assert str(error.value).startswith(f"problem file {str(tmp_path / 'lab.toml')!r}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        StudyError, match=r"'no.toml' cannot be read: No such file or directory; pinnbo init makes"
    ):
        problem_file.read(tmp_path.__class__("no.toml"))
