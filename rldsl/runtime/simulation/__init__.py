"""A schedule under a discrete-event clock: the same policy objects as in a run, with latencies instead of engines."""
