"""The main job, shown on a real API server: `make demo`.

What belongs here: getting a cluster to show it on, starting the operator as its ServiceAccount, setting the metrics
that it reads, and telling what happens. What does not: any help for the operator. Everything here is done through the
API with kubectl, as a user could do it; tests hold that.
"""
