//! The Leafid server: one service behind several doors.

mod config;
mod suggest;

pub use config::{
    Config, ConfigError, Loaded, LogFormat, Origin, SETTINGS, Setting, Shown, Sources,
    without_password,
};
