"""From rows and targets to a surrogate: closed-form Gaussian inference and gradient descent."""
