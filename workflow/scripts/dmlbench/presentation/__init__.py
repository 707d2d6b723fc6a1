"""What a reader sees: tables, figures, the report, the terminal's summary."""
