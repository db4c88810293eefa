"""One toy task per file; the file's name is the task's name after `toy:`."""
