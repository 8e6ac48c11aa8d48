"""What the workbook says: the analysis of training a large model on a cluster, one module per section."""
