"""Spark looks for data sources in modules whose names begin with `pyspark_`. So
`spark.read.format("livebuf")` works wherever the package is installed."""

from livebuf.spark import DefaultSource

__all__ = ["DefaultSource"]
