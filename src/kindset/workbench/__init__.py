"""From a file or an array to runs: reading, methods by name, sweeps, describing, predicting."""
