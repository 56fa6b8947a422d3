"""The command ``pinnbo``.

A command is a function of the parsed arguments that returns an exit code, and a function in `_COMMANDS` that
adds its parser. Nothing heavy is imported before a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from pinnbo import __version__
from pinnbo.bench.command import add_bench
from pinnbo.studies import parsers
from pinnbo.studies.errors import StudyError
from pinnbo.usage import UsageError, at_least

METHODS = {
    "auto": "the recommended one: models given the physics in closed form, chosen by their evidence",
    "cma-es": "an evolution strategy (cmaes), without physics",
    "gp-ei": "a Gaussian process (BoTorch) and expected improvement, as in the paper, without physics",
    "gp-logei": "BoTorch's defaults of today: its Gaussian process and LogEI, without physics",
    "gp-ucb": "a Gaussian process (BoTorch) and a confidence bound, as in the paper, without physics",
    "neural-bo": "a network and Thompson samples from its gradient features, without physics",
    "neural-greedy": "a network fitted to perturbed values and used greedily, without physics",
    "ntk": "the paper's Lemma 1 in closed form: Thompson samples of a linearised network",
    "optuna-gp": "Optuna's Gaussian process sampler, without physics",
    "optuna-tpe": "Optuna's tree-structured Parzen estimator, without physics",
    "pinn-bo": "the paper's Algorithm 1: a physics-informed network, trained and used greedily",
    "random": "a scrambled Sobol sequence, the baseline that every method has to beat",
    "turbo": "TuRBO-1: a Gaussian process (BoTorch) in a trust region, without physics",
}

PROBLEMS = {
    "dropwave-2": "minimise, x1 f_2 - x2 f_1 = 0",
    "styblinski-tang-10": "minimise, the sum of the first derivatives is known",
    "rastrigin-20": "minimise, x . grad f - f = g",
    "michalewicz-30": "minimise, h . grad f - f = 0",
    "cosine-mixture-50": "minimise, a nonlinear equation of first order",
    "heat-1": "maximise a steady temperature, laplacian T = 0, boundary values unknown",
    "heat-2": "the same with other boundary values",
    "heat-3": "the same with other boundary values",
    "beam-1": "minimise the deflection of a beam, (EI w'')'' = q",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0, 1 for a failure, 2 for arguments or files that make no sense, 3 for a storage that does not answer, 130 after
    Ctrl-C.
    """
    parser = _Parser(
        prog="pinnbo",
        description="Optimise expensive, noisy black boxes that obey a known differential equation.",
        epilog="To begin: pinnbo equations lists equations, pinnbo init mine.toml --equation heat writes a file with "
        "one, to change into yours, pinnbo check mine.toml looks at it, pinnbo ask mine.toml says where to measure.",
    )
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    parser.add_argument("--version", action="version", version=f"pinnbo {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for add in _COMMANDS:
        add(commands)
    parsers.add_commands(commands)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    parsed = parser.parse_args([argument for argument in given if argument != "--debug"])
    try:
        with warnings.catch_warnings():
            # a warning is a sentence for the user, like everything else here
            warnings.showwarning = lambda message, *_: print(f"pinnbo: {message}", file=sys.stderr)
            return parsed.run(parsed)
    except BrokenPipeError:
        # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        print(f"pinnbo: {error}", file=sys.stderr)
        return 2
    except StudyError as error:
        if debug and error.__cause__ is not None:
            raise error.__cause__ from error.__cause__.__cause__
        print(f"pinnbo: {error}", file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(f"pinnbo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pinnbo: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.strerror:  # the terminal or a file beside our own
            where = f"{error.filename!r}: " if error.filename else ""
            print(f"pinnbo: {where}{error.strerror}", file=sys.stderr)
            return 1
        # our own refusals are ValueError and TypeError, and say enough
        kind = "" if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: "
        said = " ".join(str(error).split())
        print(f"pinnbo: {kind}{said[:300]} (--debug shows where)", file=sys.stderr)
        return 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the usage in full."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _add_demo(commands: argparse._SubParsersAction) -> None:
    demo = commands.add_parser(
        "demo",
        help="find the hottest point of a plate and draw what happened",
        description="Heat problem 1 of the paper, boundary values unknown: measure, and draw what happened.",
    )
    demo.add_argument(
        "--method",
        nargs="+",
        default=["auto", "pinn-bo"],
        metavar="NAME",
        help="one or more, see pinnbo methods (default: auto pinn-bo)",
    )
    demo.add_argument(
        "--trials",
        type=at_least(1),
        default=25,
        metavar="N",
        help="number of measurements (default: %(default)s)",
    )
    demo.add_argument("--seed", type=at_least(0), default=0, metavar="S", help="default: %(default)s")
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("pinnbo-demo.png"),
        metavar="FILE.png",
        help="default: %(default)s",
    )
    demo.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    output: Path = arguments.output
    if output.suffix.lower() != ".png":
        raise UsageError(f"--output: expected a file name that ends in .png, got {str(output)!r}")
    if not output.parent.is_dir():
        raise UsageError(f"--output: the folder {str(output.parent)!r} does not exist")
    if output.is_dir():
        raise UsageError(f"--output: {str(output)!r} is a folder")
    from pinnbo import methods

    for method in arguments.method:
        if method not in methods.available():
            names = ", ".join(methods.available())
            raise UsageError(f"--method: expected one of {names}, got {method!r}")
    from pinnbo import demo

    stops = [
        result.stopped for result in demo.run(arguments.method, arguments.trials, arguments.seed, output)
    ]
    return 130 if "interrupted" in stops else 1 if any(stops) else 0


def _add_methods(commands: argparse._SubParsersAction) -> None:
    text = "list the methods that Optimizer(method=...) takes"
    commands.add_parser("methods", help=text, description=text).set_defaults(run=_methods)


def _methods(arguments: argparse.Namespace) -> int:
    from pinnbo import methods

    return _table(methods.available(), METHODS)


def _add_problems(commands: argparse._SubParsersAction) -> None:
    text = "list the problems of the paper, for pinnbo.problems.get(...)"
    commands.add_parser("problems", help=text, description=text).set_defaults(run=_problems)


def _problems(arguments: argparse.Namespace) -> int:
    from pinnbo import problems

    return _table(problems.available(), PROBLEMS)


def _add_equations(commands: argparse._SubParsersAction) -> None:
    text = "list the equations of the catalogue, for pinnbo init --equation"
    equations = commands.add_parser("equations", help=text, description=text)
    equations.add_argument("name", nargs="?", metavar="NAME", help="say more about this one")
    equations.set_defaults(run=_equations)


def _equations(arguments: argparse.Namespace) -> int:
    from pinnbo import equations

    if arguments.name is None:
        return _table(
            equations.available(), {name: equations.get(name).title for name in equations.available()}
        )
    try:
        print(equations.get(arguments.name))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0


def _table(names: Sequence[str], descriptions: dict[str, str]) -> int:
    width = max(len(name) for name in names)
    for name in names:
        print(f"{name:{width}}  {descriptions.get(name, '')}".rstrip())
    return 0


_COMMANDS: tuple[Callable[[argparse._SubParsersAction], None], ...] = (
    _add_demo,
    _add_methods,
    _add_problems,
    _add_equations,
    add_bench,
)


if __name__ == "__main__":
    sys.exit(main())
