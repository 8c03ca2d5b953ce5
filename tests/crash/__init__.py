"""Real processes: stopped at named points, raced behind a gate, killed at random; and what must hold in the file."""
