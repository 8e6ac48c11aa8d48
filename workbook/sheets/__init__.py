"""The sheets of the workbook, one module each: what they say. How they are laid out is in `pyxl.layout`."""
