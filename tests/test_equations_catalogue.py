"""The catalogue: every equation has a solution, can be read back, and makes a problem file that works."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space, cli, equations
from pinnbo.studies import problem_file

_QUICK = ("heat", "burgers", "plane-elasticity", "euler-bernoulli")


def all_names():
    return [
        pytest.param(name, marks=[] if name in _QUICK else pytest.mark.slow) for name in equations.available()
    ]


@pytest.mark.parametrize("name", all_names())
def test_the_known_solution_solves_it(name):
    entry = equations.get(name)
    space, found = Space(**entry.space), entry.pde()
    solutions = entry.solutions()
    points = space.sobol(16, seed=1)

    def disturbed(f):
        return lambda x: f(x) * (1.3 + 0.2 * jnp.sin(jnp.sum(space_scaled(space, x))))

    for pde in found if isinstance(found, list) else [found]:
        fields = [solutions[field] for field in pde.equation.fields]
        image = jax.jit(jax.vmap(pde.operator(*fields)))(jnp.asarray(points))
        other = jax.jit(jax.vmap(pde.operator(*map(disturbed, fields))))(jnp.asarray(points))
        residual = np.abs(np.asarray(image) - pde.source_at(points)[:, 0])
        assert residual.max() <= 1e-12 * np.abs(other).max()


def space_scaled(space, x):
    return (x - jnp.asarray(space.centre)) / jnp.asarray(space.half_width)


@pytest.mark.parametrize("name", equations.available())
def test_text_to_pde_to_text_is_the_identity(name):
    entry = equations.get(name)
    space, found = Space(**entry.space), entry.pde()
    assert set(entry.solution) == set(entry.fields)
    assert name in str(entry)
    for pde in found if isinstance(found, list) else [found]:
        again = PDE.parse(str(pde), space, fields=pde.equation.fields)
        assert again.equation.statement == pde.equation.statement
        assert again.equation.definitions == pde.equation.definitions
        assert str(again) == str(pde)
        assert pde._repr_latex_().count("{") == pde._repr_latex_().count("}")


@pytest.mark.parametrize("name", equations.available())
def test_init_writes_a_file_with_it(name, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    assert cli.main(["init", str(file), "--equation", name]) == 0
    problem = problem_file.read(file)
    found = equations.get(name).pde()
    expected = found if isinstance(found, list) else [found]
    assert [pde.equation.statement for pde in problem.physics] == [pde.equation.statement for pde in expected]
    assert max(len(line) for line in file.read_text().splitlines()) <= 120
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("name", equations.available())
def test_the_stand_in_for_the_experiment_is_the_known_solution(name, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    assert cli.main(["init", str(file), "--equation", name, "--rehearse"]) == 0
    assert f"pinnbo run {file}" in capsys.readouterr().out
    problem, entry = problem_file.read(file), equations.get(name)
    solution = entry.solutions()[next(iter(entry.fields))]
    for x in problem.space.sobol(3, seed=2):
        outcome = problem.evaluation(problem.space.to_dict(x), 0, None)
        assert outcome.value == pytest.approx(float(solution(jnp.asarray(x))), rel=1e-12)
    assert problem.unit == entry.fields[next(iter(entry.fields))].replace("1", "")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "oscillator" else [pytest.mark.slow])
        for name in equations.available()
    ],
)
def test_every_equation_runs_from_its_file(name, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    assert cli.main(["init", str(file), "--equation", name, "--rehearse"]) == 0
    assert cli.main(["run", str(file), "--budget", "3"]) == 0
    assert "best point" in capsys.readouterr().out


def test_names_that_do_not_exist(tmp_path, capsys):
    with pytest.raises(ValueError, match="'haet' is not in the catalogue, did you mean heat"):
        equations.get("haet")
    assert cli.main(["init", str(tmp_path / "a.toml"), "--equation", "haet"]) == 2
    assert cli.main(["equations", "haet"]) == 2
    assert cli.main(["equations", "heat"]) == 0
    assert "thermal diffusivity" in capsys.readouterr().out
    assert cli.main(["equations"]) == 0
    assert capsys.readouterr().out.count("\n") == len(equations.available())
