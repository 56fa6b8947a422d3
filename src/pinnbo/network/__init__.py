"""The network: features, training, and the theory of the paper."""
