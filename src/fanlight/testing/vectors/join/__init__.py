"""The op `join`: cases about two sides whose rows match."""
