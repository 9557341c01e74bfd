"""Cards: the README files of a suite, a metric, a leaderboard and results on the Hub."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from s2lct.plain_text import plain, words

_HUB_LICENCES = words(
    "apache-2.0 mit cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 "
    "cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-nc-nd-4.0 odc-by odbl pddl bsd-3-clause gpl-3.0"
)
_UNSTATED_LICENCES = ("", "not stated", "none stated by its authors", "unknown")
_ORIGIN_PHRASES = {
    "masked": "have words of a masked language model",
    "phrase": "a phrase that reviewers write",
    "attested": "are their author's own sentence, which was shortened for the seed",
}
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
_ALL_CONFIG = "all"
_SPLIT = "test"


def render_dataset_card(
    suite: Mapping[str, Any], examples: Mapping[str, Mapping[str, str]], repo: str | None = None
) -> str:
    """The README of a suite: YAML that `datasets` reads, then prose.

    Args:
        suite: the contents of ``suite.json``.
        examples: the example of each config, from `suite.tables.family_example`.
        repo: the suite's Hub id; None for a suite in a folder.
    """
    return render(
        "dataset_card.md",
        suite=suite,
        examples=examples,
        repo=repo,
        metadata=dataset_metadata(suite),
        origins=_origins_in_words(suite["files"].values()),
    )


def dataset_metadata(suite: Mapping[str, Any]) -> str:
    """The YAML of a suite's README: a config for each capability, and one for all together."""
    from huggingface_hub import DatasetCardData

    files, licence = suite["files"], hub_licence(suite["corpus"]["licence"])
    row_count = sum(file["rows"] for file in files.values())
    all_files = {"sha256": suite["fingerprint"], "path": "data/*/test-*.parquet", "rows": row_count}
    all_files |= {size: sum(file[size] for file in files.values()) for size in ("bytes", "memory")}
    title_and_file_of_config = {_ALL_CONFIG: ("every capability", all_files)} | {
        capability["id"]: (capability["title"], files[capability["id"]])
        for capability in suite["capabilities"]
        if capability["id"] in files
    }
    configs = [
        {
            "config_name": name,
            "default": name == _ALL_CONFIG,
            "version": suite["version"],
            # The description differs between builds, so that `datasets` loads a new one anew.
            "description": f"{title}, rows {file['sha256'][:12]}",
            "data_files": [{"split": _SPLIT, "path": file["path"]}],
        }
        for name, (title, file) in title_and_file_of_config.items()
    ]
    sizes = [
        {
            "config_name": name,
            "splits": [{"name": _SPLIT, "num_bytes": file["memory"], "num_examples": file["rows"]}],
            "download_size": file["bytes"],
            "dataset_size": file["memory"],
        }
        for name, (_, file) in title_and_file_of_config.items()
    ]
    metadata = DatasetCardData(
        pretty_name="S2LCT",
        language=["en"],
        task_categories=["text-classification"],
        task_ids=["sentiment-classification"],
        size_categories=[size_category(row_count)],
        tags=["behavioural-testing", "sentiment-analysis", "s2lct"],
        license=licence,
        license_name="see-source-and-licence" if licence == "other" else None,
        configs=configs,
        dataset_info=sizes,
    )
    return f"{metadata.to_yaml()}\n"


def _origins_in_words(files: Iterable[Mapping[str, Any]]) -> str:
    """The number of expansions of each origin, in words; empty if the files do not record it."""
    counts: Counter[str] = Counter()
    for file in files:
        counts.update(file.get("origins", {}))
    parts = [
        f"{counts[name]:,} {phrase}" for name, phrase in _ORIGIN_PHRASES.items() if counts[name]
    ]
    return " and ".join([", ".join(parts[:-1])] * bool(parts[:-1]) + parts[-1:])


def escape_markdown(text: str) -> str:
    """Escape foreign text as one line of plain Markdown, safe in table cells."""
    line = html.escape(plain(" ".join(text.split())), quote=False)
    return re.sub(r"([\\`*_{}\[\]()#!|~$@]|:(?=//)|(?<=www)\.)", r"\\\1", line)


def inline_code(text: str) -> str:
    """Foreign text as inline code; backticks and bars, which cannot be escaped, are replaced."""
    return f"`{re.sub(r'[`|]', '’', plain(' '.join(text.split())))}`"


def hub_licence(licence: str) -> str:
    """The Hub's identifier of a licence: ``mit`` and the like, ``unknown`` or ``other``."""
    name = licence.strip().lower()
    if name in _HUB_LICENCES:
        return name
    return "unknown" if name in _UNSTATED_LICENCES else "other"


def size_category(row_count: int) -> str:
    """The Hub's size category of a dataset, such as ``1K<n<10K``."""
    return next((name for limit, name in _SIZES.items() if row_count < limit), "1M<n<10M")


def render(template_name: str, **values: Any) -> str:
    """Render a template of this package: ``metric_card.md`` from ``metric_card.md.jinja``."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"markdown": escape_markdown, "code": inline_code}
    source = resources.files(__package__).joinpath(f"{template_name}.jinja").read_text("utf-8")
    return environment.from_string(source).render(**values)
