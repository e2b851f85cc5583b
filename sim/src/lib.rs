//! A seeded network of stacks with a clock of its own.
