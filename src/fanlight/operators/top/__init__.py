"""Top: lists of rows that windows fire with become rows, each with its rank, and changes of ranks."""
