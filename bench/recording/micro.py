"""Rows out of what Google Benchmark prints with --benchmark_format=json."""

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
OF_EVERY_RUN = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time",
                "time_unit", "items_per_second", "bytes_per_second", "family_index", "per_family_instance_index",
                "aggregate_name", "aggregate_unit", "label", "error_occurred", "error_message", "complexity_n"}


def rows_of(program, printed):
    """One a benchmark; of repetitions the median alone. What failed is left out."""
    found = []
    for run in printed["benchmarks"]:
        if run.get("error_occurred") or run.get("aggregate_name", "median") != "median":
            continue
        scale = NANOSECONDS[run.get("time_unit", "ns")]
        row = {"program": program, "name": run["run_name"], "repetitions": run.get("repetitions", 1),
               "real_time_ns": run["real_time"] * scale, "cpu_time_ns": run["cpu_time"] * scale}
        for key in ("items_per_second", "bytes_per_second"):
            if key in run:
                row[key] = run[key]
        counters = {key: value for key, value in run.items() if key not in OF_EVERY_RUN and isinstance(value, (int, float))}
        if counters:
            row["counters"] = counters
        if run.get("label"):
            row["label"] = run["label"]
        found.append(row)
    return found
