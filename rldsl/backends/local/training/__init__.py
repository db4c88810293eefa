"""From recorded rows to a step: log-probs, divergences, the gradient of one update, its optimizer."""
