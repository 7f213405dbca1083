"""What the commit before the rebuilding gave, recorded, so that every commit after it can be laid beside it."""
