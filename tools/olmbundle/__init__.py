"""Makes the OLM bundle and the file-based catalog from `config/`, and says what of a CRD's change OLM would choke on.

What belongs here: turning rendered manifests into a ClusterServiceVersion and the files beside it, refusing what OLM
cannot install, the catalog's blobs. What does not: any text of the operator's own (`config/manifests` has it), and
judging the result (opm and operator-verify do).
"""
