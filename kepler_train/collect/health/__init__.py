"""How sound the collected samples are: timing, counters, power, phases and feature groups, by node."""
