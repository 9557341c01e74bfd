"""Language models as classifiers: which label word is the likeliest behind a prompt.

For each text the prompt is completed with each label word, and the log-likelihoods of the whole
strings are compared. What the strings have in common cancels out, so only tokens behind their
common beginning are counted: no assumption is needed on where a tokenizer splits prompt and word.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, SLOT, TASK
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.fingerprint import model_fingerprint, state_sha256, weights_sha256
from s2lct.leaderboard.models.network import TOKENS_A_BATCH
from s2lct.leaderboard.models.pretrained import hub_commit, load_pretrained, place

PROMPT = TASK.prompt
OPENING = ('"', "'", "“", "‘", "«", "(", "[")
"""Behind these a word follows without a space."""


@dataclass(frozen=True, slots=True)
class LabelPrompt:
    """What a language model is asked.

    Attributes:
        prompt: with ``{text}`` where the case stands.
        words: the words that it chooses among, for negative, neutral and positive; or two, for
            negative and positive, and neutral where it is undecided (see `labels.LabelRule`).

    Raises:
        ScoringError: there is no place for the text, or the words cannot be told apart.
    """

    prompt: str = PROMPT
    words: tuple[str, ...] = LABELS

    def __post_init__(self) -> None:
        if SLOT not in self.prompt:
            raise ScoringError(
                f"--prompt {self.prompt!r}: has no {SLOT}",
                mend=f"write {SLOT} where the sentence belongs, as in {PROMPT!r}",
            )
        words = ",".join(self.words)
        if len(self.words) not in (2, 3) or not all(word.strip() for word in self.words):
            raise ScoringError(
                f"--label-words {words}: {len(self.words)} words",
                mend="give three, for negative, neutral and positive, or two, for negative and "
                "positive",
            )
        for word in self.words:
            for other in self.words:
                if word is not other and other.startswith(word):
                    raise ScoringError(
                        f"--label-words {words}: {other!r} begins with {word!r}, which is never "
                        "the less likely of the two",
                        mend="choose words none of which begins with another",
                    )

    @property
    def classes(self) -> tuple[str, ...]:
        """What the words mean, in their order."""
        return LABELS if len(self.words) == len(LABELS) else TASK.ends

    def completed(self, text: str) -> list[str]:
        """The prompt with a text, completed with each word."""
        asked = self.prompt.replace(SLOT, text)
        space = "" if asked[-1:].isspace() or asked.endswith(OPENING) else " "
        return [f"{asked}{space}{word}" for word in self.words]

    def __str__(self) -> str:
        return (
            f"the likeliest of the words {json.dumps(self.words, ensure_ascii=False)} behind the "
            f"prompt {json.dumps(self.prompt, ensure_ascii=False)}"
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """One text's strings, as tokens.

    Attributes:
        number: of the text.
        rows: what the model reads, none the beginning of another.
        answers: for each word the row to look at, the first place whose prediction counts, and
            the tokens wanted there and behind.
    """

    number: int
    rows: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[int, int, tuple[int, ...]], ...]

    @property
    def longest(self) -> int:
        return max(len(row) for row in self.rows)


class LanguageModel:
    """A causal language model of transformers, by Hub id or folder, as a classifier.

    Attributes:
        name, revision, fingerprint, classes: see `models.Classifier`. The fingerprint covers
            prompt and words, so that kept outcomes are those of this question.
        asks: prompt and words.
        weights_sha256: see `models.weights_sha256`.

    Raises:
        ScoringError: it cannot be loaded, or is no causal language model.
    """

    def __init__(
        self,
        name: str,
        asks: LabelPrompt | None = None,
        *,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
    ) -> None:
        commit = hub_commit(name, revision)
        tokenizer, model = load_pretrained(
            name, commit or revision, "AutoModelForCausalLM", _is_language_model
        )
        place(model, device, dtype)
        self.name = name
        self.asks = asks or LabelPrompt()
        self.classes = self.asks.classes
        self.revision = commit
        answers = model_fingerprint(tokenizer, model)
        self.weights_sha256 = weights_sha256(name, self.revision) or state_sha256(model)
        asked = json.dumps([answers, self.asks.prompt, self.asks.words])
        self.fingerprint = hashlib.sha256(asked.encode()).hexdigest()
        self._tokenizer, self._model = tokenizer, model
        self._most_tokens = min(
            tokenizer.model_max_length,
            getattr(model.config.get_text_config(), "max_position_embeddings", None) or 1 << 30,
        )
        known = inspect.signature(model.forward).parameters
        self._options: dict[str, Any] = {"use_cache": False} if "use_cache" in known else {}
        self._keeps_places = "logits_to_keep" in known
        self._check_causal()

    def _check_causal(self) -> None:
        """Refuse an encoder under a language model's name, as BERT without is_decoder is one."""
        import torch

        ids = torch.tensor([[1, 2, 3], [1, 2, 4]], device=self._model.device)
        with torch.inference_mode():
            one, other = self._model(input_ids=ids, **self._options).logits[:, :2].float()
        if not torch.allclose(one, other, rtol=0.05, atol=0.05):
            raise ScoringError(
                f"model {self.name}: looks at later words, it is no causal language model",
                mend="pass a model that was trained to continue texts (for BERT and its like: "
                '"is_decoder": true in its config.json)',
            )

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Softmax over the log-likelihoods of the words, summed over their tokens.

        Batches hold texts of like lengths, longest first. Tokens are padded on the right, where
        no token of a causal model looks, so neither padding nor the rest of a batch matters.

        Raises:
            ScoringError: a text with its prompt is longer than the model reads.
        """
        questions = [self._question(number, text) for number, text in enumerate(texts)]
        questions.sort(key=lambda question: (-question.longest, question.number))
        batch: list[_Question] = []
        rows = 0
        for question in questions:
            if batch and (rows + len(question.rows)) * batch[0].longest > TOKENS_A_BATCH:
                yield self._answers(batch)
                batch, rows = [], 0
            batch.append(question)
            rows += len(question.rows)
        if batch:
            yield self._answers(batch)

    def _question(self, number: int, text: str) -> _Question:
        encoded = self._tokenizer(self.asks.completed(text))["input_ids"]
        strings = [self._ready(ids) for ids in encoded]
        longest = max(map(len, strings))
        if longest > self._most_tokens:
            raise ScoringError(
                f"model {self.name}: reads {self._most_tokens} tokens, and text number {number} "
                f"with its prompt has {longest}",
                mend="shorten --prompt, or choose a model that reads more",
            )
        shared, shortest = 0, min(map(len, strings))
        while shared < shortest and len({string[shared] for string in strings}) == 1:
            shared += 1
        if not 0 < shared < shortest:
            raise ScoringError(
                f"model {self.name}: its tokenizer cannot tell the strings for {text[:40]!r} apart "
                "or finds nothing that they share",
                mend="write a prompt with words before {text}, or choose other --label-words",
            )
        # The last token is never read: nothing is asked of what follows it.
        reads = list(dict.fromkeys(string[:-1] for string in strings))
        rows = [
            row
            for row in reads
            if not any(row != other and other[: len(row)] == row for other in reads)
        ]
        answers = [
            (
                next(n for n, row in enumerate(rows) if row[: len(string) - 1] == string[:-1]),
                shared - 1,
                string[shared:],
            )
            for string in strings
        ]
        return _Question(number, tuple(rows), tuple(answers))

    def _ready(self, ids: list[int]) -> tuple[int, ...]:
        """Without the tokens that end a text."""
        special = set(self._tokenizer.all_special_ids)
        while len(ids) > 1 and ids[-1] in special:
            ids = ids[:-1]
        return tuple(ids)

    def _answers(self, batch: Sequence[_Question]) -> tuple[list[int], Array]:
        import torch

        rows = [row for question in batch for row in question.rows]
        longest = max(map(len, rows))
        filler = self._tokenizer.pad_token_id or 0
        ids = torch.full((len(rows), longest), filler)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        wanted: list[tuple[int, int, int]] = []  # row, place, token
        ends: list[int] = []
        first = 0
        for question in batch:
            for row_number, place_of_first, tokens in question.answers:
                wanted += [
                    (first + row_number, place_of_first + n, token)
                    for n, token in enumerate(tokens)
                ]
                ends.append(len(wanted))
            first += len(question.rows)
        at_rows, places, tokens_wanted = torch.tensor(wanted, device=self._model.device).T
        options = dict(self._options)
        if self._keeps_places:
            # Logits of a large vocabulary are computed where they are looked at, nowhere else.
            kept, places = torch.unique(places, return_inverse=True)
            options["logits_to_keep"] = kept
        with torch.inference_mode():
            logits = self._model(
                input_ids=ids.to(self._model.device),
                attention_mask=mask.to(self._model.device),
                **options,
            ).logits
            there = torch.log_softmax(logits[at_rows, places].double(), dim=-1)
            chosen = there.gather(1, tokens_wanted[:, None])[:, 0].cpu().numpy()
        sums = np.array([part.sum() for part in np.split(chosen, ends[:-1])])
        likelihoods = sums.reshape(len(batch), len(self.classes))
        likelihoods -= likelihoods.max(axis=1, keepdims=True)
        odds = np.exp(likelihoods)
        return [question.number for question in batch], odds / odds.sum(axis=1, keepdims=True)


def _is_language_model(name: str, heads: Sequence[str]) -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    causal = {
        one
        for named in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
        for one in ((named,) if isinstance(named, str) else named)
    }
    if causal & set(heads):
        return
    if any("SequenceClassification" in head for head in heads):
        raise ScoringError(
            f"model {name}: is a classifier ({', '.join(heads)}), not a language model",
            mend="leave --llm away",
        )
    raise ScoringError(
        f"model {name}: is no causal language model ({', '.join(heads) or 'a base model'})",
        mend="pass a model whose architecture is …ForCausalLM",
    )
