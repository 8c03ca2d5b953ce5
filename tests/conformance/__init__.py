"""The contract, verb by verb, over a real store; `model` says what is right."""
