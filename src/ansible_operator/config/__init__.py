"""What the user wrote, made into the model: ``watches.yaml``, flags and environment. Finds every fault at once."""
