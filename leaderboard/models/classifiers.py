"""Models to score: word-list baselines, our own small models, and any sequence classifier.

Each knows its classes, gives probabilities, and has a fingerprint, so that what it said can be
kept. Nothing that was downloaded is executed: safetensors, or torch's ``weights_only`` loader;
``trust_remote_code`` is off.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from s2lct.errors import ScoringError
from s2lct.files import sha256_of
from s2lct.hub_calls import hub_call, pretrained, said_by
from s2lct.labels import LABELS
from s2lct.leaderboard.scoring.label_rules import check_classes, same_classes
from s2lct.leaderboard.scoring.predictions import Array
from s2lct.threads import batches_at_once

if TYPE_CHECKING:
    from s2lct.leaderboard.models.language_model import LabelPrompt

TOKENS_A_BATCH = 1_024
TOKENS_A_BATCH_ON_GPU = 65_536
MOST_TOKENS = 512
EMBEDDED_MODELS = ("embedded-2class", "embedded-3class")
CLASSIFICATION: Final = "text-classification"


class Classifier(Protocol):
    """Anything that gives probabilities of classes.

    Attributes:
        name: shown in tables.
        revision: the Hub commit, or the version of the package; empty if there is none.
        fingerprint: SHA-256 over what decides its answers; empty where they must not be kept.
        classes: names of the classes, in the order of the columns.
    """

    @property
    def name(self) -> str:
        """See above."""

    @property
    def revision(self) -> str:
        """See above."""

    @property
    def fingerprint(self) -> str:
        """See above."""

    @property
    def classes(self) -> tuple[str, ...]:
        """See above."""

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Batches: the numbers of their texts, and probabilities of shape (batch, classes)."""


@dataclass(frozen=True)
class WordList:
    """A baseline that adds up the scores of words and needs no weights.

    A text is positive from ``threshold`` on, negative from ``-threshold`` on, else neutral. With
    a threshold of 0 every score but 0 counts.
    """

    name: str
    package: str
    load: Callable[[], Callable[[str], float]]
    threshold: float = 0.0
    classes: tuple[str, ...] = LABELS

    @property
    def revision(self) -> str:
        """Version of the package."""
        return version(self.package)

    @property
    def weights_sha256(self) -> str:
        """Its package and version, hashed: what it has for weights."""
        return hashlib.sha256(f"{self.package} {self.revision}".encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Package, version and threshold decide what it says."""
        loaded_by = f"{self.load.__module__}.{self.load.__qualname__}"
        return _sha256_of_json(
            [self.name, self.package, self.revision, loaded_by, self.threshold, self.classes]
        )

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """1 for the label, 0 for the others."""
        score_of = self.load()
        scores = np.array([score_of(text) for text in texts])
        labels = np.where(
            (scores >= self.threshold) & (scores > 0),
            2,
            np.where((scores <= -self.threshold) & (scores < 0), 0, 1),
        )
        yield list(range(len(texts))), np.eye(len(LABELS))[labels]


def _vader() -> Callable[[str], float]:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return lambda text: float(analyzer.polarity_scores(text)["compound"])


def _textblob() -> Callable[[str], float]:
    from textblob import TextBlob

    return lambda text: float(TextBlob(text).sentiment.polarity)


def _afinn() -> Callable[[str], float]:
    from afinn import Afinn

    afinn = Afinn()
    return lambda text: float(afinn.score(text))


WORD_LISTS = {
    # The threshold is VADER's own (Hutto & Gilbert 2014).
    "vader": WordList("vader", "vaderSentiment", _vader, 0.05),
    "textblob": WordList("textblob", "textblob", _textblob),
    "afinn": WordList("afinn", "afinn", _afinn),
}


class Network:
    """A transformers sequence classifier in memory; nothing is kept of what it says."""

    def __init__(self, tokenizer: Any, model: Any, name: str = "model") -> None:
        self.name, self.revision, self.fingerprint = name, "", ""
        self._tokenizer, self._model = tokenizer, model
        config = model.config
        self.classes = classes_of(config)
        room = getattr(config, "max_position_embeddings", MOST_TOKENS) or MOST_TOKENS
        if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            room -= 2  # their positions start behind the padding index
        self._most_tokens = min(tokenizer.model_max_length, room, MOST_TOKENS)

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self._tokenizer

    @property
    def model(self) -> Any:
        """The `transformers` model."""
        return self._model

    @property
    def most_tokens(self) -> int:
        """Longer texts are cut, [CLS] and [SEP] included."""
        return int(self._most_tokens)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Tokenised texts, longest first; those of a batch are of one length.

        Nothing is padded, so no time goes into padding and nobody's answer depends on it.
        """
        encoded = self._tokenizer(list(texts), truncation=True, max_length=self._most_tokens)
        lengths = [len(ids) for ids in encoded["input_ids"]]
        order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
        # Decoders find a text's end by the padding token, and take one text where there is none.
        alone = self._tokenizer.pad_token_id is None
        tokens = TOKENS_A_BATCH_ON_GPU if self._model.device.type == "cuda" else TOKENS_A_BATCH
        for length, group in groupby(order, key=lengths.__getitem__):
            numbers = list(group)
            size = 1 if alone else max(1, tokens // max(1, length))
            for start in range(0, len(numbers), size):
                batch = numbers[start : start + size]
                yield batch, self._tensors(encoded, batch)

    def _tensors(self, encoded: Any, numbers: Sequence[int]) -> Any:
        from transformers import BatchEncoding

        chosen = {
            name: [values[number] for number in numbers]
            for name, values in encoded.items()
            if name != "attention_mask"
        }
        return BatchEncoding(chosen, tensor_type="pt").to(self._model.device)

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Softmax over the logits, in double precision; a model in training goes on training."""
        import torch

        def answered(given: tuple[list[int], Any]) -> tuple[list[int], Array]:
            numbers, batch = given
            with torch.inference_mode():
                logits = self._model(**batch).logits.double()
                return numbers, torch.softmax(logits, dim=-1).cpu().numpy()

        training = self._model.training
        self._model.eval()
        try:
            yield from batches_at_once(
                answered, self.batches(texts), on_cpu=self._model.device.type == "cpu"
            )
        finally:
            self._model.train(training)


def classes_of(config: Any) -> tuple[str, ...]:
    """A `transformers` model's names of its classes, in its order.

    Raises:
        ScoringError: its configuration names none, or leaves one out.
    """
    named = getattr(config, "id2label", None) or {}
    lacking = [number for number in range(len(named)) if number not in named]
    if not named or lacking:
        raise ScoringError(
            f"the model's id2label lacks class {lacking[0] if lacking else 0}",
            mend='name every class: model.config.id2label = {0: "negative", 1: "positive"}',
        )
    return tuple(str(named[number]) for number in range(len(named)))


class SequenceClassifier(Network):
    """A transformers sequence classifier, by Hub id or folder.

    Attributes:
        weights_sha256: see `weights_sha256`.
    """

    def __init__(
        self, name: str, *, revision: str | None = None, device: str = "auto", dtype: str = "auto"
    ) -> None:
        commit = hub_commit(name, revision)
        tokenizer, model = load_pretrained(
            name,
            commit or revision,
            "AutoModelForSequenceClassification",
            _check_classification_head,
        )
        if tokenizer.pad_token_id is None and model.config.pad_token_id is not None:
            tokenizer.pad_token = tokenizer.convert_ids_to_tokens(model.config.pad_token_id)
        elif model.config.pad_token_id is None:
            # Decoders read the last token that is none of padding.
            model.config.pad_token_id = tokenizer.pad_token_id
        super().__init__(tokenizer, model, name)
        place(model, device, dtype)
        self.revision = commit
        self.fingerprint = fingerprint_of(tokenizer, model)
        self.weights_sha256 = weights_sha256(name, self.revision) or state_sha256(model)


def _check_classification_head(name: str, heads: Sequence[str]) -> None:
    if any("SequenceClassification" in head for head in heads):
        return
    if any(head.endswith(("ForCausalLM", "LMHeadModel")) for head in heads):
        raise ScoringError(
            f"model {name}: is a language model ({', '.join(heads)}) without a classification head",
            mend="let it choose among label words behind a prompt: --llm",
        )
    raise ScoringError(
        f"model {name}: has no classification head ({', '.join(heads) or 'a base model'})",
        mend="fine-tune it for sentiment first, or pass a model whose architecture is "
        "…ForSequenceClassification",
    )


def place(model: Any, device: str, dtype: str) -> None:
    """Put a model onto a device, ready to answer.

    Args:
        model: a transformers model.
        device: ``auto`` (a GPU where there is one), ``cpu``, ``cuda`` …
        dtype: ``auto`` (bfloat16 on a GPU, else float32), ``float32`` or ``bfloat16``.

    Raises:
        ScoringError: no such dtype or device, or the model does not fit on it.
    """
    import torch

    if dtype not in ("auto", "float32", "bfloat16"):
        raise ScoringError(f"--dtype {dtype}: no such", mend="pass auto, float32 or bfloat16")
    chosen = usable_device(device)
    halved = dtype == "bfloat16" or (dtype == "auto" and chosen.startswith("cuda"))
    try:
        model.eval().to(torch.bfloat16 if halved else torch.float32).to(chosen)
    except (RuntimeError, NotImplementedError) as error:  # out of memory is a RuntimeError
        raise ScoringError(
            f"--device {device}: the model cannot be put there ({said_by(error)})",
            mend="pass --device cpu, or a smaller model",
        ) from error


def usable_device(device: str) -> str:
    """A device that is there: ``auto`` is a GPU where there is one, else the CPU.

    Raises:
        ScoringError: torch knows no such device, or this machine has none.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        # Using it is the one question that every backend answers.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        raise ScoringError(
            f"--device {device}: cannot be used here ({said_by(error)})",
            mend="pass --device cpu, or auto, which takes a GPU where there is one",
        ) from error
    return device


def hub_commit(name: str, revision: str | None) -> str:
    """The commit that a revision stands for; empty for a folder, and where no Hub tells.

    Args:
        name: a Hub id or a folder.
        revision: branch, tag or commit; None for the newest.
    """
    if Path(name).exists():
        return ""
    from huggingface_hub import hf_hub_download

    try:
        # The cache keeps files in a folder named after their commit, so this works offline too.
        with hub_call():
            return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name
    except Exception:
        return ""  # loading it tells what is wrong


def load_pretrained(
    name: str, revision: str | None, auto_class: str, check: Callable[[str, Sequence[str]], None]
) -> tuple[Any, Any]:
    """A tokenizer and a model, by Hub id or folder; nothing that came with them is executed.

    Args:
        name: the id or folder.
        revision: of the Hub; None for the newest.
        auto_class: the class of transformers to load by, such as ``AutoModelForCausalLM``.
        check: refuses architectures that do not fit; given the name and the architectures.

    Raises:
        ScoringError: it cannot be loaded, or lacks weights or a tokenizer.
    """
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    from s2lct.leaderboard.models.sentiment_network import register

    register()  # a retrained embedded model is a folder like any other
    pinned = {} if revision is None else {"revision": revision}
    try:
        config = pretrained(AutoConfig, name, **pinned)
    except Exception as error:
        raise ScoringError(
            f"model {name}: cannot be loaded ({said_by(error)})",
            mend="check the id or folder; without a network, download it where there is one "
            "(`hf download ID --local-dir DIR`) and pass DIR, or try vader, textblob, afinn, "
            + ", ".join(EMBEDDED_MODELS),
        ) from error
    check(name, config.architectures or [])
    try:
        tokenizer = pretrained(AutoTokenizer, name, **pinned)
    except Exception as error:
        raise ScoringError(
            f"model {name}: its tokenizer cannot be loaded ({said_by(error)})",
            mend="save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)",
        ) from error
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # transformers makes an empty tokenizer where the files are missing.
        raise ScoringError(
            f"model {name}: has no tokenizer files",
            mend="save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)",
        )
    try:
        # A checkpoint that is not safetensors goes through torch's weights_only loader.
        model, told = pretrained(
            getattr(transformers, auto_class),
            name,
            weights_only=True,
            output_loading_info=True,
            **pinned,
        )
    except Exception as error:
        raise ScoringError(
            f"model {name}: its weights cannot be loaded ({said_by(error)})",
            mend="save them as safetensors: model.save_pretrained(FOLDER)",
        ) from error
    if lacking := sorted(told["missing_keys"]):
        # transformers fills them with random numbers.
        raise ScoringError(
            f"model {name}: its weights lack {', '.join(lacking[:3])}"
            + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""),
            mend="save the whole model, head and all: model.save_pretrained(FOLDER)",
        )
    return tokenizer, model


WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def weights_sha256(name: str, revision: str) -> str:
    """What ``sha256sum`` says of the files that a model's weights were loaded from.

    Args:
        name: a Hub id whose files are in the cache, or a folder.
        revision: the Hub commit.

    Returns:
        The sum of the one file; of sharded weights, the sum of what ``sha256sum`` prints of the
        shards in the order of their names (``sha256sum model-*.safetensors | sha256sum``). Empty
        where no such file is found.
    """
    from transformers.utils.hub import cached_file

    def found(file: str) -> Path | None:
        path = cached_file(
            name,
            file,
            revision=revision or None,
            local_files_only=True,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return Path(path) if path else None

    for file in WEIGHT_FILES:
        path = found(file)
        if path is None:
            continue
        if path.suffix != ".json":
            return sha256_of(path)
        shards = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
        paths = [found(shard) for shard in shards]
        lines = [
            f"{sha256_of(path)}  {shard}\n"
            for shard, path in zip(shards, paths, strict=True)
            if path is not None
        ]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return ""


_NO_ANSWER = frozenset(
    (
        "architectures",
        "dtype",
        "output_attentions",
        "output_hidden_states",
        "problem_type",
        "return_dict",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    )
)
"""Of a model's configuration: what changes no answer, or stands in its weights."""


def fingerprint_of(tokenizer: Any, model: Any) -> str:
    """SHA-256 over what decides a model's answers, whatever files it came from.

    That is the tokenizer with its settings, the model's class and configuration, and its weights.
    """
    described = [
        _tokenizer_described(tokenizer),
        type(model).__name__,
        _config_described(model.config.to_dict()),
        state_sha256(model),
    ]
    return _sha256_of_json(described)


def state_sha256(model: Any) -> str:
    """SHA-256 over names, types, shapes and bytes of a model's weights."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        raw = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {raw.dtype} {tuple(raw.shape)}".encode())
        digest.update(raw.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _sha256_of_json(described: Any) -> str:
    text = json.dumps(described, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _config_described(config: Any) -> Any:
    """A configuration, and those within it, without what changes no answer."""
    if isinstance(config, dict):
        return {
            str(name): _config_described(value)
            for name, value in config.items()
            if name not in _NO_ANSWER and not str(name).startswith("_")
        }
    return config


def _tokenizer_described(tokenizer: Any) -> Any:
    """What decides how a tokenizer splits and cuts a text."""
    settings = {
        name: getattr(tokenizer, name, None)
        for name in (
            "model_max_length",
            "model_input_names",
            "padding_side",
            "truncation_side",
            "special_tokens_map",
            "split_special_tokens",
            "pad_token_id",
        )
    }
    if hasattr(tokenizer, "backend_tokenizer"):
        backend = json.loads(tokenizer.backend_tokenizer.to_str())
        # How the last call cut and padded its texts is kept there too, and is no part of it.
        backend.update(truncation=None, padding=None)
        return [settings, backend]
    given = {
        name: str(value)
        for name, value in getattr(tokenizer, "init_kwargs", {}).items()
        # Where it came from, and how texts were last cut.
        if name not in ("backend", "is_local", "local_files_only", "name_or_path", "max_length")
        and name not in ("stride", "truncation_strategy", *_files_of(tokenizer))
    }
    files = {name: sha256_of(path) for name, path in _files_of(tokenizer).items()}
    words = sorted(tokenizer.get_vocab().items()) if hasattr(tokenizer, "get_vocab") else []
    return [settings, type(tokenizer).__name__, given, files, words]


def _files_of(tokenizer: Any) -> dict[str, Path]:
    """The files that a tokenizer was read from, by the names of their arguments."""
    found = {
        name: getattr(tokenizer, name, None)
        or getattr(tokenizer, "init_kwargs", {}).get(name)
        or ""
        for name in getattr(tokenizer, "vocab_files_names", {})
    }
    return {name: Path(path) for name, path in found.items() if path and Path(path).is_file()}


class Embedded:
    """One of the two small models that are shipped.

    Attributes:
        weights_sha256: over the hashes of the encoder and the head.
    """

    def __init__(self, name: str) -> None:
        from s2lct.builder.models.encoder import encoder_path
        from s2lct.leaderboard.models.sentiment_head import EmbeddedSentiment

        self._model = EmbeddedSentiment.load(name)  # type: ignore[arg-type]
        self.name = name
        self.classes = tuple(self._model.classes)
        self.weights_sha256 = self._model.fingerprint
        settings = {
            path.name: sha256_of(path)
            for path in sorted(encoder_path().iterdir())
            if path.suffix in (".json", ".txt")
        }
        self.fingerprint = _sha256_of_json([name, self.weights_sha256, settings])
        self.revision = version("s2lct")

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """All texts in one batch of batches."""
        yield list(range(len(texts))), self._model.probabilities(texts)


class Function:
    """A Python function or a pipeline as a classifier.

    It is handed a list of texts and gives what `prediction_labels.labels_of_predictions` takes.
    What it says is not kept: nothing tells whether it changed.

    Attributes:
        classes: the names of all classes of the model behind it, in its order; None if unknown.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        name: str = "",
        classes: Sequence[str] | None = None,
    ) -> None:
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.revision = self.fingerprint = ""
        self.function = function
        self.classes = None if classes is None else tuple(classes)

    def predict(self, texts: Sequence[str]) -> Any:
        """What it says of all texts."""
        return self.function(list(texts))


def load_classifier(
    name: str,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    asks: LabelPrompt | None = None,
) -> Classifier:
    """A classifier by name.

    Args:
        name: ``vader``, ``textblob``, ``afinn``, ``embedded-2class``, ``embedded-3class``, a
            folder, or a Hub id; ``ID@REVISION`` pins a revision.
        revision: the revision, if not in the name.
        device: ``auto``, ``cpu``, ``cuda`` …
        dtype: ``auto`` (bfloat16 on a GPU), ``float32`` or ``bfloat16``.
        asks: for a language model; a folder or Hub id is then loaded as one.

    Raises:
        ScoringError: there is no such model, or it cannot be used.
    """
    if name in WORD_LISTS:
        baseline = WORD_LISTS[name]
        try:
            version(baseline.package)
        except PackageNotFoundError as error:
            raise ScoringError(
                f"model {name}: the package {baseline.package} is not installed",
                mend='pip install "s2lct[baselines]"',
            ) from error
        return baseline
    usable_device(device)  # before anything is downloaded
    if name in EMBEDDED_MODELS:
        return Embedded(name)
    if "/" not in name and not Path(name).exists():
        _refuse_misspelt(name)
    if not Path(name).exists() and "@" in name:
        name, _, revision = name.partition("@")
    if asks is not None:
        from s2lct.leaderboard.models.language_model import LanguageModel

        return LanguageModel(name, asks, revision=revision, device=device, dtype=dtype)
    return SequenceClassifier(name, revision=revision, device=device, dtype=dtype)


def _refuse_misspelt(name: str) -> None:
    """Answer at once for a name that is nearly a built-in model's, without asking the Hub."""
    built_in = [*WORD_LISTS, *EMBEDDED_MODELS]
    near = get_close_matches(name.partition("@")[0].lower(), built_in, n=1, cutoff=0.75)
    if near:
        raise ScoringError(
            f"model {name}: neither a built-in model nor a folder",
            mend=f"pass {near[0]}, or one of {', '.join(built_in)}; a model on the Hub has its "
            "owner's name before it, OWNER/NAME",
        )


def as_classifier(
    model: Any, *, tokenizer: Any = None, classes: Sequence[str] | None = None
) -> Classifier | Function:
    """Whatever `metric.compute(model=…)` is given.

    Args:
        model: a name, a function from texts to predictions, a pipeline, a Trainer, a
            `transformers` model with ``tokenizer``, or the two as a pair.
        tokenizer: of a model in memory.
        classes: the names of all classes of the model behind a function, in its order.

    Raises:
        ScoringError: it is none of these, or ``tokenizer`` or ``classes`` do not fit it.
    """
    if isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
        if tokenizer is None or not _is_module(model):
            raise ScoringError(
                "model= is a pair, but not of a model and its tokenizer",
                mend="pass (model, tokenizer)",
            )
    if tokenizer is not None and not _is_module(model):
        raise ScoringError(
            f"tokenizer= with a model of type {type(model).__name__}, which has its own",
            mend="leave tokenizer= out; it goes with a transformers model in memory",
        )
    found = _found(model, tokenizer, classes)
    if found.classes is not None:
        same_classes(found.classes, classes)
    return found


def _found(model: Any, tokenizer: Any, classes: Sequence[str] | None) -> Classifier | Function:
    if isinstance(model, (str, Path)):
        return load_classifier(str(model))
    if isinstance(model, Function) or (
        hasattr(model, "probabilities") and hasattr(model, "classes")
    ):
        return model  # type: ignore[no-any-return]
    if hasattr(model, "predict") and hasattr(model, "processing_class"):
        if model.processing_class is None:
            raise ScoringError(
                "the Trainer has no tokenizer", mend="pass Trainer(..., processing_class=tokenizer)"
            )
        return Network(model.processing_class, model.model, "trainer")
    if _is_module(model) and (tokenizer is not None or hasattr(model, "config")):
        if tokenizer is None or not hasattr(model, "config"):
            raise ScoringError(
                f"a model of type {type(model).__name__} without "
                + ("its tokenizer" if tokenizer is None else "a transformers configuration"),
                mend="pass tokenizer= too, or (model, tokenizer)"
                if tokenizer is None
                else "pass a function from texts to probabilities",
            )
        return Network(tokenizer, model)
    if callable(model):
        if hasattr(model, "task") and hasattr(model, "tokenizer"):
            return _of_pipeline(model)
        return Function(model, classes=None if classes is None else check_classes(classes))
    raise ScoringError(
        f"model of type {type(model).__name__}",
        mend="pass a name, a function from texts to labels or probabilities, a pipeline, a "
        "Trainer, or a transformers model with tokenizer=",
    )


def _is_module(model: Any) -> bool:
    # Who has a module has imported torch.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _of_pipeline(pipeline: Any) -> Function:
    if pipeline.task != CLASSIFICATION:
        raise ScoringError(
            f"a pipeline for {pipeline.task}", mend=f'pass pipeline("{CLASSIFICATION}", …)'
        )

    ask = pipeline

    def answered(texts: list[str]) -> Any:
        # A pipeline leaves a model in training as it is, and dropout would answer at random.
        training = getattr(pipeline.model, "training", False)
        if training:
            pipeline.model.eval()
        try:
            return ask(texts, top_k=None, truncation=True)
        finally:
            if training:
                pipeline.model.train()

    return Function(answered, "pipeline", classes_of(pipeline.model.config))
