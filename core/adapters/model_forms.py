"""What is written of Pydantic's models: Pydantic alone knows what they hide."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from pydantic import RootModel
from pydantic_core import to_jsonable_python

from core.adapters.held_values import NOTHING, Repeats, held_by, is_model, is_used_up, items, named

_CLASSES: Final = 256
_ENDLESS: Final = object()
_UNWRITTEN: Final = "(could not be written)"

_Named = Callable[[Any], str]


class ModelForms:
    """What the models in one value are written as, each once however often it stands there."""

    def __init__(self) -> None:
        self._repeats = Repeats()
        self._repeats_in_fields = Repeats()
        # With the models themselves, lest another be taken for one that is gone.
        self._whole: dict[int, tuple[Any, Any]] = {}
        self._in_parts: dict[int, Any] = {}

    def is_whole(self, model: Any) -> bool:  # noqa: ANN401
        """Whether Pydantic can write it as it is."""
        return self._as_it_is(model) is not NOTHING

    def of(self, model: Any) -> Any:  # noqa: ANN401
        """What Pydantic writes of it, with text for classes it does not know; `NOTHING` if none."""
        if (form := self._as_it_is(model)) is not NOTHING:
            return form
        if id(model) not in self._in_parts:
            self._in_parts[id(model)] = self._mended(model)
        return self._in_parts[id(model)]

    def _as_it_is(self, model: Any) -> Any:  # noqa: ANN401
        if id(model) not in self._whole:
            has_end = _has_end(model, self._repeats)
            self._whole[id(model)] = (model, _for_json(model) if has_end else _ENDLESS)
        form = self._whole[id(model)][1]
        return NOTHING if form is _ENDLESS else form

    def _mended(self, model: Any) -> Any:  # noqa: ANN401
        has_end = self._whole[id(model)][1] is not _ENDLESS
        if has_end and (form := _for_json(model, fallback=named)) is not NOTHING:
            return form
        kind = type(model)
        if issubclass(kind, RootModel) or kind.__pydantic_decorators__.model_serializers:
            return NOTHING
        held = held_by(model)
        fields = held if isinstance(held, dict) else {}
        mended: dict[str, Any] = {}
        for name in (*fields, *kind.__pydantic_decorators__.computed_fields):
            item = fields.get(name)
            is_left = has_end or _has_end(item, self._repeats_in_fields)
            mended |= _field(model, name, item) if is_left else {name: _class_of(item)}
        return mended


def _has_end(value: Any, repeats: Repeats) -> bool:  # noqa: ANN401
    """Whether what it holds ends when it is written: not itself, nor the same over and over."""
    around: set[int] = set()
    left: list[tuple[Any, bool]] = [(value, True)]
    while left:
        part, is_new = left.pop()
        if not is_new:
            around.discard(id(part))
            continue
        if is_used_up(part):
            return False
        if (held := held_by(part)) is None:
            continue
        if id(part) in around or not repeats.allows(part, held):
            return False
        around.add(id(part))
        left += [(part, False), *((item, True) for item in items(held))]
    return True


def _field(model: Any, name: str, item: Any) -> dict[str, Any]:  # noqa: ANN401
    """What Pydantic writes of one field: nothing when it hides it."""
    for write in (_for_json, _for_python):
        form = write(model, {name}, named)
        if isinstance(form, dict):
            return form
    return {name: _class_of(item)}


def _class_of(item: Any) -> str:  # noqa: ANN401
    """No more than that is told of a field that cannot be written: it may be one to hide."""
    return _UNWRITTEN if item is None else f"(a {type(item).__name__})"


def _for_json(model: Any, names: set[str] | None = None, fallback: _Named | None = None) -> Any:  # noqa: ANN401
    """With the numbers and texts that JSON refuses, and without bytes."""
    try:
        return to_jsonable_python(model, include=names, by_alias=False, fallback=fallback)
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return NOTHING


def _for_python(model: Any, names: set[str], fallback: _Named) -> Any:  # noqa: ANN401
    """With bytes too, unless a model in it hides something from JSON alone."""
    kind = type(model)
    try:
        if any(map(_is_other_in_json, _models_in(model, names))):
            return NOTHING
        return kind.__pydantic_serializer__.to_python(
            model, include=names, by_alias=False, warnings=False, fallback=fallback
        )
    except Exception:  # noqa: BLE001 - as above
        return NOTHING


def _models_in(model: Any, names: set[str]) -> set[Any]:  # noqa: ANN401
    """The classes of a model and of those in some of its fields; these must have an end."""
    held = held_by(model)
    kinds: set[Any] = {type(model)}
    seen: dict[int, Any] = {}
    left = [item for name, item in held.items() if name in names] if isinstance(held, dict) else []
    while left:
        part = left.pop()
        if id(part) not in seen:
            seen[id(part)] = part
            kinds |= {type(part)} if is_model(part) else set()
            left += items(held_by(part) or [])
    return kinds


@lru_cache(maxsize=_CLASSES)
def _is_other_in_json(kind: Any) -> bool:  # noqa: ANN401
    left: list[Any] = [kind.__pydantic_core_schema__]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if str(part.get("when_used", "")).startswith("json"):
                return True
            left += _nested(part.values())
        else:
            left += _nested(part)
    return False


def _nested(parts: Iterable[Any]) -> list[Any]:
    return [part for part in parts if isinstance(part, dict | list | tuple)]
