"""Learned models: torch modules from views [N, R, C] to logits [N, R, C], and the solver that plays by one."""
