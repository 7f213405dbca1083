"""What a pipeline costs on Spark, beside what Spark does itself: streaming queries over the same files, in turn.

orders ─ files ─► contestants ─ play ─► batches ─ rounds ─► ratios ─ suite ─► tables
"""
