"""All tables by name."""

from plotting import group_tables, micro_tables, paper_tables, peers, trouble_tables
from plotting.rows import BadRecord

TABLES = {**group_tables.TABLES, **trouble_tables.TABLES, **paper_tables.TABLES, **peers.TABLES, **micro_tables.TABLES}


def make(results, name):
    """Raises Missing where nothing is recorded, BadRecord where a row lacks something."""
    try:
        return TABLES[name](results)
    except (KeyError, TypeError, AttributeError, ValueError) as wrong:
        raise BadRecord(f"table {name}: a row is not what its program prints: {type(wrong).__name__}: {wrong}") from wrong
