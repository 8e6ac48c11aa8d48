"""`solbook lint`: whether a workbook file is sound, and keeps the rules of modelling."""
