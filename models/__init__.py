"""Learned models: torch modules from planes [N, F, R, C] to logits [N, R, C], and the solver that plays by one."""
