"""Fill: windows in which nothing came get a row, with the next window of their key."""
