//! What all servers have in common towards the tests: port, stop, kill, start again, pause.

/// The password has every character that a URL must escape.
pub(crate) const PASSWORD: &str = "s3cret/with@odd:chars%#?";
pub(crate) const PASSWORD_IN_URL: &str = "s3cret%2Fwith%40odd%3Achars%25%23%3F";

/// The methods of a server that has a `process` and can say whether it `is_ready`.
macro_rules! server_methods {
    ($server:ty, stopped by $signal:literal) => {
        impl $server {
            /// The port on 127.0.0.1.
            #[must_use]
            pub fn port(&self) -> u16 {
                self.process.port
            }

            /// Ends the server as an operator would, without waiting for its clients.
            pub fn stop(&self) {
                self.process.end_by($signal);
            }

            /// Ends the server by `kill -9`.
            pub fn kill(&self) {
                self.process.end_by("KILL");
            }

            /// Starts a server that was stopped, on the same port and files.
            ///
            /// # Panics
            ///
            /// When it does not start.
            pub fn start_again(&self) {
                self.process.start(|| self.is_ready());
            }

            /// A copy of the files of a server that was stopped, to be [`put_back`](Self::put_back).
            ///
            /// # Panics
            ///
            /// When they cannot be copied.
            #[must_use]
            pub fn backup(&self) -> tempfile::TempDir {
                self.process.backup()
            }

            /// Puts a copy in place of the files of a server that was stopped.
            ///
            /// # Panics
            ///
            /// When they cannot be copied.
            pub fn put_back(&self, backup: &tempfile::TempDir) {
                self.process.put_back(backup);
            }

            /// Stops the server's processor time, so that it accepts connections and answers
            /// nothing.
            pub fn pause(&self) {
                self.process.signal("STOP");
            }

            /// Resumes a paused server.
            pub fn resume(&self) {
                self.process.signal("CONT");
            }
        }
    };
}
pub(crate) use server_methods;

/// The methods of a server that asks for [`PASSWORD`].
macro_rules! password_methods {
    ($server:ty) => {
        impl $server {
            /// The password in the URL, as it is and as the URL has it: neither may appear in
            /// any message.
            #[must_use]
            pub fn passwords(&self) -> [&'static str; 2] {
                [$crate::server::PASSWORD, $crate::server::PASSWORD_IN_URL]
            }
        }
    };
}
pub(crate) use password_methods;
