"""The file against Microsoft's schemas of Office Open XML, by the optional package openxml-audit.

What it says of fonts is left out: it wants their elements in one order, where ECMA-376 part 1, section 18.8.22 has a
choice, and Excel reads any. So are its warnings: they foretell what Excel rewrites when it saves, and no fault.
"""

from __future__ import annotations

from pathlib import Path

from pyxl.errors import MissingProgram
from pyxl.lint.rules import Finding, Severity

RULE = "schema"


def findings(path: Path) -> list[Finding]:
    """What breaks the schemas. Raises `MissingProgram` where the package is missing."""
    try:
        from openxml_audit import OpenXmlValidator
    except ImportError:
        raise MissingProgram("--schema needs openxml-audit: pip install 'solbook[schema]'") from None
    found = OpenXmlValidator(max_errors=0).validate(path).errors
    return [
        Finding(
            RULE,
            Severity.REPAIR,
            each.part_uri or "",
            each.path or "",
            each.description,
            "write it as the schema has it",
        )
        for each in found
        if each.severity.value == "error" and "/fonts[" not in (each.path or "")
    ]
