"""Databases by JDBC: the driver of a URL, the words of its database, and rows on their way to it."""
