"""Job files for the schedulers that hand out machines: one jinja2 template per target, filled from a recipe."""
