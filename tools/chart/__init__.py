"""Writes the templates of the operator's chart from config/, and the table of its values from values.yaml."""
