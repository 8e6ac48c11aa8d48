"""The analysis: every section, in the order in which the workbook shows them.

A new section is a module that declares quantities, and a line here.
"""

from workbook.model import analysis

# isort: off
from workbook import constants as _constants  # noqa: F401
from workbook import inputs as _inputs  # noqa: F401
from workbook import choices as _choices  # noqa: F401
from workbook import parameters as _parameters  # noqa: F401
from workbook import flops as _flops  # noqa: F401
from workbook import parallelism as _parallelism  # noqa: F401
from workbook import placement as _placement  # noqa: F401
from workbook import activations as _activations  # noqa: F401
from workbook import memory as _memory  # noqa: F401
from workbook import traffic as _traffic  # noqa: F401
from workbook import latency as _latency  # noqa: F401
from workbook import times as _times  # noqa: F401
from workbook import conventions as _conventions  # noqa: F401
from workbook import verdict as _verdict  # noqa: F401
from workbook import checks as _checks  # noqa: F401
# isort: on

analysis.close()

__all__ = ["analysis"]
