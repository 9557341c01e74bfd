from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

# No test reaches a hub; read before any library is imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Two workers test beside each other: one thread each, or they wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Workers are told the size of a terminal, which a console would keep whatever a test sets.
os.environ.pop("COLUMNS", None)
os.environ.pop("LINES", None)

from browser_fixtures import browser, visit
from filelock import FileLock
from hub_fixtures import hub, hub_server
from hypothesis import HealthCheck, settings
from stub_models import stub_models

from s2lct.builder.config import BuildConfig
from s2lct.builder.pipeline import build_suite
from s2lct.files import write_text

# No test measures time. What was found so far was found by the first 50 examples.
settings.register_profile(
    "s2lct", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("s2lct")

# Files that take longest go first: a worker that is left with one of them at the end works alone.
LONGEST = (
    "test_golden.py",
    "test_ray.py",
    "test_install.py",
    "test_harnesses.py",
    "test_publish.py",
    "test_site.py",
    "test_retrain.py",
    "test_stages.py",
    "test_build.py",
    "test_wheel.py",
    "test_readme.py",
    "test_command_line.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))


__all__ = ["browser", "hub", "hub_server", "visit"]

SENTENCES = {
    "positive": [
        "The film is a charming and lovely portrait of a small town.",
        "The young actors give wonderful performances in this beautiful drama.",
        "It is a brilliant comedy about two happy brothers.",
        "The director tells a beautiful story with great warmth.",
        "This documentary is an excellent and touching portrait of a teacher.",
        "The music is lovely and the pictures are gorgeous.",
        "A delightful and funny comedy.",
        "Charming, happy and beautiful.",
        "The wonderful cast makes this a happy evening.",
        "The script is a brilliant piece of writing.",
    ],
    "negative": [
        "This is a dull and ugly film.",
        "That is a horrible waste of a fine cast.",
        "These are stupid jokes in a terrible script.",
        "Those are awful songs.",
        "The plot is a stupid and ugly mess.",
        "The jokes are awful and the acting is terrible.",
        "The director ruins a bad script with worse pictures.",
        "An awful and boring drama.",
        "Ugly and boring.",
        "The hero is a stupid bore in an ugly coat.",
        "The second half is a horrible and boring chase.",
    ],
    "neutral": [
        "This is the second film in the series.",
        "These are interviews with former members of the crew.",
        "That is a photograph of the studio.",
        "Those are the names of the actors.",
        "The film was shot in a village by the sea.",
        "The story takes place in the winter of 1962.",
        "The camera follows a bus through the town.",
        "A train arrives at the station.",
        "Two brothers travel to the coast.",
        "The second scene shows a kitchen.",
        "The crew filmed the harbour in March.",
        "A woman reads a letter.",
        # These have what is put before the nouns of the others.
        "The central plot has a local hero, a family script, a student director and radio jokes.",
        "A local plot has a central hero, an opening script, a female director and short jokes.",
        "The school music and the opening acting follow the local half and the rural second.",
    ],
}


@pytest.fixture(scope="session")
def shared_by_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run, whichever worker asks."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def corpus_path(shared_by_workers: Path) -> Path:
    """A corpus, at one place for all workers: where it lies is recorded in suites."""
    content = io.StringIO(newline="")
    writer = csv.writer(content)
    writer.writerow(["text", "label"])
    writer.writerows((text, label) for label, texts in SENTENCES.items() for text in texts)
    path = shared_by_workers / "corpus" / "films.csv"
    write_text(path, content.getvalue())
    return path


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(shared_by_workers: Path) -> None:
    """No test reads or writes the user's cache; workers have one together."""
    os.environ["S2LCT_CACHE"] = str(shared_by_workers / "cache")


@pytest.fixture(scope="module", autouse=True)
def embedded_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stubs stand for the embedded models, but where a module is about them."""
    with nullcontext() if request.node.get_closest_marker("shipped_models") else stub_models():
        yield


@pytest.fixture(scope="session")
def suite_folder(corpus_path: Path, shared_by_workers: Path) -> Path:
    """A suite of every capability, built with stub models, by the worker that comes first."""
    out = shared_by_workers / "suites" / "films"
    config = BuildConfig.checked(
        out=out,
        corpus=f"csv:{corpus_path}",
        seeds=4,
        masks=20,
        expansions=4,
    )
    with FileLock(shared_by_workers / "suites.lock"), stub_models():
        if not out.exists():
            build_suite(config)
    return out


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test alone keeps answers of models."""
    monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the treebanks and corpora that cannot be shipped are not here")
    return folder
