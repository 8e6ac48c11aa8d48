"""How Python becomes a workbook and back: quantities, their readings, layout, writing, evaluating."""
