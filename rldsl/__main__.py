"""`python -m rldsl`."""

from rldsl.cli.main import main

raise SystemExit(main())
