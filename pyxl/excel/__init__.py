"""Excel's side of an add-in, through the open-source part of xlwings: settings, macros and a ribbon tab."""
