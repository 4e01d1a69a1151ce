"""Trees and forests: the estimators, and the steps of fit and predict."""
