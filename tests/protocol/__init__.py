"""The rules, without a store."""
