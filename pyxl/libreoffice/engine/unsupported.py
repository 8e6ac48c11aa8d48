"""What xlwings offers and this engine does not says so by its name."""

from __future__ import annotations

from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def explained(cls: Class) -> Class:
    """Replace what the class inherits and xlwings leaves open, so that it raises an error that names it.

    Where the class declares a field, the property of xlwings' that it stands for gives way.
    """
    for name in set(vars(cls).get("__annotations__", ())) - set(vars(cls)):
        setattr(cls, name, None)
    for base in cls.__mro__[1:-1]:
        for name, member in vars(base).items():
            if name not in vars(cls) and _open(member.fget if isinstance(member, property) else member):
                refuse = _refusal(f"{cls.__name__}.{name}")
                setattr(cls, name, property(refuse, refuse) if isinstance(member, property) else refuse)
    return cls


def _open(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and "NotImplementedError" in code.co_names


def _refusal(name: str) -> Any:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise NotImplementedError(f"xlwings' {name} is not available on LibreOffice")

    return refuse
