"""Kernel forests: features are kernel values between samples and prototypes."""
