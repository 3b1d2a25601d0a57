"""Where models go when a run is good: folders and buckets with versions."""
