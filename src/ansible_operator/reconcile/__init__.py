"""One pass over one object: read it, run its content, judge the run, write what is ours, say when to come back."""
