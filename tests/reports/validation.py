"""Writes templates/validation/report.json, what the sheet Validation shows: python tests/reports/validation.py"""

import json

from workbook.validation import REPORT, validate

if __name__ == "__main__":
    REPORT.write_text(json.dumps(validate().totals(), indent=1) + "\n", encoding="utf-8")
