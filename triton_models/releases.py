"""Putting another repository in the place of one that a server serves, version by version, and taking it back.

    REPOSITORY/text_recognition/1/           served
    REPOSITORY/text_recognition/2/           a new version, beside it: the server takes the highest that there is
    REPOSITORY/candidate_text_recognition/   the same before that, under a name that nobody asks for
    .REPOSITORY-before/                      how it was before the last release, as hard links
    .REPOSITORY-switch                       there while servers are being switched; left behind if that is interrupted

Nothing here talks to the server: it looks into the folder when it is told to load a model.
"""

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from triton_models.errors import RepositoryError
from triton_models.repository import link_file

CANDIDATE = "candidate_"
CONFIG = "config.pbtxt"
SHARE = "share"
"""The parameter of a candidate that says how many per cent of the requests it reads."""

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


def stage(source: Path, repository: Path, *, share: float | None = None) -> list[str]:
    """Copy the models of `source` beside those of `repository` under names of their own, which are returned.

    Their version is the time, in seconds since 1970: whoever has read one candidate knows another as such.

    Args:
        source: a repository of the same models.
        repository: that servers load from.
        share: per cent of the requests that gateways have them read; None: none, and nobody is told of them.

    Raises:
        RepositoryError: they are not the same models.
    """
    names = models_of(source)
    if names != models_of(repository):
        raise RepositoryError(f"{source} has other models than {repository}: {', '.join(names)}")
    unstage(repository)
    version = str(int(time.time()))
    for name in names:
        target = repository / f"{CANDIDATE}{name}"
        shutil.copytree(source / name / _newest(source / name), target / version, copy_function=_link)
        for config in _configs(source / name):
            text = _NAME.sub(f'name: "{CANDIDATE}{name}"', config.read_text(encoding="utf-8"))
            _rewrite(target / config.relative_to(source / name), text + _share_parameter(share))
    return [f"{CANDIDATE}{name}" for name in names]


def candidates_of(repository: Path) -> list[str]:
    """The names of the candidates that lie in a repository."""
    return sorted(path.name for path in repository.glob(f"{CANDIDATE}*"))


def unstage(repository: Path) -> None:
    """Remove candidates."""
    for name in candidates_of(repository):
        shutil.rmtree(repository / name)


def adopt(source: Path, repository: Path) -> list[str]:
    """Add the models of `source` as new versions, remember how it was before, and return their names.

    Until `settle` is called, the switch counts as unfinished.
    """
    _remember(repository)
    _mark(repository, "deploy")
    names = models_of(source)
    for name in names:
        model = repository / name
        number = str(int(_newest(model)) + 1)
        shutil.copytree(source / name / _newest(source / name), model / number, copy_function=_link)
        _replace_configs(source / name, model)
    return names


def go_back(repository: Path) -> list[str]:
    """Make the models what they were before the last release, and return their names; unfinished as in `adopt`.

    Raises:
        RepositoryError: nothing is known of any before.
    """
    before = before_of(repository)
    if not before.is_dir():
        raise RepositoryError(f"there is nothing to go back to: {before} is not there")
    _mark(repository, "rollback")
    names = models_of(before)
    for name in names:
        kept = versions_of(before / name)
        for version in versions_of(repository / name):
            if version not in kept:
                shutil.rmtree(repository / name / str(version))
        _replace_configs(before / name, repository / name)
    return names


def settle(repository: Path, *, forget: bool) -> None:
    """Note that all servers have been switched; `forget` how it was before, if that is how it is now."""
    if forget:
        shutil.rmtree(before_of(repository))
    _mark_of(repository).unlink(missing_ok=True)


def unfinished(repository: Path) -> str:
    """What began and did not end: "deploy" or "rollback"; empty if nothing."""
    mark = _mark_of(repository)
    return mark.read_text(encoding="utf-8") if mark.is_file() else ""


def before_of(repository: Path) -> Path:
    """Where it stands how a repository was before the last release."""
    return repository.parent / f".{repository.name}-before"


def summary(repository: Path) -> Sequence[tuple[str, list[int]]]:
    """Each model with its versions."""
    return [(name, versions_of(repository / name)) for name in models_of(repository)]


def _remember(repository: Path) -> None:
    """Replace what is known of the time before; at no time there is a half of it."""
    before = before_of(repository)
    new = before.with_name(f"{before.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(repository, new, copy_function=_link, ignore=shutil.ignore_patterns(f"{CANDIDATE}*"))
    shutil.rmtree(before, ignore_errors=True)
    new.rename(before)


def _mark_of(repository: Path) -> Path:
    return repository.parent / f".{repository.name}-switch"


def _mark(repository: Path, what: str) -> None:
    _mark_of(repository).write_text(what, encoding="utf-8")


def _newest(model: Path) -> str:
    return str(versions_of(model)[-1])


def _configs(model: Path) -> list[Path]:
    return [model / CONFIG, *(model / "configs").glob("*.pbtxt")]


def _share_parameter(share: float | None) -> str:
    if share is None:
        return ""
    return f'parameters {{ key: "{SHARE}" value {{ string_value: "{share:g}" }} }}\n'


def _replace_configs(source: Path, model: Path) -> None:
    for config in _configs(source):
        _rewrite(model / config.relative_to(source), config.read_text(encoding="utf-8"))


def _rewrite(path: Path, text: str) -> None:
    """Write it as a new file: it may be a link to one that others have."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _link(source: str, target: str) -> None:
    link_file(Path(source), Path(target))
