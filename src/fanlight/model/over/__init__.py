"""What `over` computes for each row: frames, functions of the rows in them, and the declaration of both."""
