"""One config.json: its fields under the names that most families use, every access checked and remembered."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyxl.errors import UserError
from workbook.huggingface.not_modelled import OPAQUE

LARGEST_NUMBER = 10**15

# What transformers takes where a field that most families have is absent.
ABSENT: Mapping[str, object] = MappingProxyType({"tie_word_embeddings": False, "head_dim": None})

Row = dict[str, int | str]


def shown(value: object) -> str:
    """A value as config.json writes it, cut short."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else text[:37] + "..."


def flat(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The fields of a JSON object and, by dotted names, those of the objects in it."""
    for name, value in fields.items():
        if not isinstance(value, dict):
            yield name, value
        elif name not in OPAQUE:
            yield from ((f"{name}.{inner}", held) for inner, held in flat(value))


@dataclass(frozen=True)
class Family:
    """How the config.json of one `model_type` is read.

    `parts` read its fields; `names` are the names that fields have in the file where they differ from ours, and
    of the switches that the file may set; `absent` is what transformers takes where a field that config.json
    commonly omits is absent; `fixed` is what the family's code fixes; `supported` are the only values modelled of
    further fields.
    """

    parts: tuple["Part", ...]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    absent: Mapping[str, object] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    supported: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """The fields of one config.json, nested ones by dotted names, as its family reads them.

    `read` are the fields that were asked for so far; `origin` is named in errors.
    """

    fields: Mapping[str, object]
    family: Family
    origin: str
    read: set[str] = field(default_factory=set)

    def keys(self, name: str) -> tuple[str, ...]:
        """The names that a field may have in the file."""
        return self.family.names.get(name, (name,))

    def error(self, name: str, problem: str) -> UserError:
        """The error for a field, in one line: where, which field, what is wrong and what to do."""
        given = [key for key in self.keys(name) if key in self.fields]
        return UserError(f"{self.origin}: {(given or self.keys(name) or (name,))[0]} {problem}")

    def value(self, name: str) -> object:
        """The field as it stands. Raises `UserError` where it is missing or given twice with two values."""
        if name in self.family.fixed:
            return self.family.fixed[name]
        self.read.update(self.keys(name))
        given = [self.fields[key] for key in self.keys(name) if key in self.fields]
        if not given and name in (absent := {**ABSENT, **self.family.absent}):
            return absent[name]
        if not given:
            raise self.error(name, "is missing: copy it from the model's config.json")
        if any(other != given[0] for other in given[1:]):
            raise self.error(name, f"is given as {' and as '.join(map(shown, given))}: keep one")
        return given[0]

    def without_influence(self, *names: str) -> None:
        """Notes fields that mean nothing in the case at hand."""
        for name in names:
            self.read.update(self.keys(name))

    def whole(self, name: str, least: int = 1, *, null: int | None = None) -> int:
        """A whole number; `null` is what JSON's null stands for, if anything."""
        value = self.value(name)
        if value is None and null is not None:
            return null
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_NUMBER:
            raise self.error(name, f"is {shown(value)}; supported: whole numbers from {least} to {LARGEST_NUMBER:.0e}")
        return value

    def switch(self, name: str) -> int:
        """1 for true, 0 for false; 0 where the family has no such switch."""
        if name in self.family.fixed:
            return self.family.fixed[name]
        if name not in self.family.names:
            return 0
        self.read.update(self.keys(name))
        if not any(key in self.fields for key in self.keys(name)):
            return int(self.family.absent.get(name) is True)
        return int(self.one_of(name, (False, True)) is True)

    def one_of(self, name: str, supported: tuple[object, ...]) -> object:
        """A field that has to have one of the supported values."""
        value = self.value(name)
        if not any(type(value) is type(other) and value == other for other in supported):
            raise self.error(name, f"is {shown(value)}; supported: {', '.join(map(shown, supported))}")
        return value

    def ratio(self, name: str, dividend: int, of: str) -> int:
        """`dividend` divided by a field that has to divide it."""
        divisor = self.whole(name)
        if dividend % divisor:
            raise self.error(name, f"is {divisor}; supported: divisors of {of}, {dividend}")
        return dividend // divisor

    def layer_kinds(self, name: str, supported: tuple[str | int, ...]) -> list[str | int] | None:
        """The kind of each layer, where a list gives it; nothing where the list is absent."""
        self.read.update(self.keys(name))
        kinds = next((self.fields[key] for key in self.keys(name) if key in self.fields), None)
        if kinds is None:
            return None
        layers = self.whole("num_hidden_layers")
        if not isinstance(kinds, list) or len(kinds) != layers:
            raise self.error(
                name, f"is {shown(kinds)}; supported: a list with one entry for each of num_hidden_layers, {layers}"
            )
        for kind in kinds:
            if kind not in supported:
                raise self.error(
                    name, f"has {shown(kind)}; supported for this model_type: {', '.join(map(str, supported))}"
                )
        return kinds


Part = Callable[[Config], Row]
