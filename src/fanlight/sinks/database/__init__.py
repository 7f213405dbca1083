"""A result in tables of a database, whichever it is.

DatabaseSink ─► tables and changes ─► statements ─► Connection of SqliteDatabase │ JdbcDatabase
"""
