"""Everything that speaks to the API server: connection, requests, discovery, informers, the runtime's own writes.

The only package of the main process that imports ``kubernetes``, and only to read kubeconfigs and credentials:
requests are raw JSON, since typed models cost three times as much (docs/architecture.md).
"""
