"""What bench/plot.py is made of: rows are read by rows, told by tables_*, drawn by figures_*."""
