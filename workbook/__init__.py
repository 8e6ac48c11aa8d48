"""What the workbook says: the analysis of training a large model on a cluster, one module per section."""

__version__ = "0.1.0"
DEFAULT_STUDY = "deepseek-v3-h800"
