"""One controller for each watch: changes, through predicates, into the queue, and out of it to the reconciler."""
