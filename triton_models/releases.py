"""Putting another repository in the place of one that a server serves, version by version, and taking it back.

    REPOSITORY/text_recognition/1/           served
    REPOSITORY/text_recognition/2/           a new version, beside it: the server takes the highest that there is
    REPOSITORY/candidate_text_recognition/   the same before that, under a name that nobody asks for
    .REPOSITORY-before/                      how it was before the last release, as hard links

Nothing here talks to the server: it looks into the folder when it is told to load a model.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from triton_models.errors import RepositoryError
from triton_models.repository import link_file

CANDIDATE = "candidate_"
CONFIG = "config.pbtxt"

_NAME = re.compile(r'(?m)^name: "([^"]+)"$')


def models_of(repository: Path) -> list[str]:
    """The models in a repository, candidates left out.

    Raises:
        RepositoryError: there are none.
    """
    names = sorted(path.parent.name for path in repository.glob(f"*/{CONFIG}"))
    found = [name for name in names if not name.startswith(CANDIDATE)]
    if not found:
        raise RepositoryError(f"{repository} has no models")
    return found


def versions_of(model: Path) -> list[int]:
    """The versions of a model, ascending."""
    return sorted(int(path.name) for path in model.iterdir() if path.name.isdigit())


def stage(source: Path, repository: Path) -> list[str]:
    """Copy the models of `source` beside those of `repository` under names of their own, which are returned.

    Raises:
        RepositoryError: they are not the same models.
    """
    names = models_of(source)
    if names != models_of(repository):
        raise RepositoryError(f"{source} has other models than {repository}: {', '.join(names)}")
    unstage(repository)
    for name in names:
        target = repository / f"{CANDIDATE}{name}"
        shutil.copytree(source / name, target, copy_function=_link)
        for config in (target / CONFIG, *(target / "configs").glob("*.pbtxt")):
            _rewrite(config, _NAME.sub(f'name: "{CANDIDATE}{name}"', config.read_text(encoding="utf-8")))
    return [f"{CANDIDATE}{name}" for name in names]


def unstage(repository: Path) -> None:
    """Remove candidates."""
    for path in repository.glob(f"{CANDIDATE}*"):
        shutil.rmtree(path)


def adopt(source: Path, repository: Path) -> list[str]:
    """Add the models of `source` as new versions, remember how it was before, and return their names."""
    before = before_of(repository)
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(repository, before, copy_function=_link, ignore=shutil.ignore_patterns(f"{CANDIDATE}*"))
    names = models_of(source)
    for name in names:
        model = repository / name
        newest = str(versions_of(source / name)[-1])
        shutil.copytree(source / name / newest, model / str(versions_of(model)[-1] + 1), copy_function=_link)
        _replace_configs(source / name, model)
    return names


def go_back(repository: Path) -> list[str]:
    """Make the models what they were before the last release, and return their names.

    Raises:
        RepositoryError: nothing is known of any before.
    """
    before = before_of(repository)
    if not before.is_dir():
        raise RepositoryError(f"there is nothing to go back to: {before} is not there")
    names = models_of(before)
    for name in names:
        kept = versions_of(before / name)
        for version in versions_of(repository / name):
            if version not in kept:
                shutil.rmtree(repository / name / str(version))
        _replace_configs(before / name, repository / name)
    shutil.rmtree(before)
    return names


def before_of(repository: Path) -> Path:
    """Where it stands how a repository was before the last release."""
    return repository.parent / f".{repository.name}-before"


def summary(repository: Path) -> Sequence[tuple[str, list[int]]]:
    """Each model with its versions."""
    return [(name, versions_of(repository / name)) for name in models_of(repository)]


def _replace_configs(source: Path, model: Path) -> None:
    for config in (source / CONFIG, *(source / "configs").glob("*.pbtxt")):
        _rewrite(model / config.relative_to(source), config.read_text(encoding="utf-8"))


def _rewrite(path: Path, text: str) -> None:
    """Write it as a new file: it may be a link to one that others have."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _link(source: str, target: str) -> None:
    link_file(Path(source), Path(target))
