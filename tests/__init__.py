"""The tests: protocol, conformance, crash, workers, control, contracts, cases."""
