"""The roles that hold models for training: ranks that live and die together, all behind one engine, `trainer`."""
