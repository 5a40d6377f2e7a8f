//! The Leafid server: one service behind several doors.

mod config;

pub use config::Config;
