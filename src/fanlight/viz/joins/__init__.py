"""Pictures of joins: two lanes of records, and a line for each match that the engine gave."""
