"""The one model that every section of the analysis declares its quantities in."""

from pyxl.quantity import Model

analysis = Model()
quantity = analysis.quantity
check = analysis.check
