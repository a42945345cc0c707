"""What bench/record.py is made of."""
