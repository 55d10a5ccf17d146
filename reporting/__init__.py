"""Figures, tables and results/REPORT.md, made from the files in results/; never imports torch."""
