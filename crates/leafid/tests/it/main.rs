//! The library from outside, as a program uses it.

mod conformance;
