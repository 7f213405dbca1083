"""What a person sees of a pipeline: flat tables, rows as text, a page of a notebook."""
