"""How the operator tells what it does: logs, metrics, and the small servers that show them. Knows no cluster."""
