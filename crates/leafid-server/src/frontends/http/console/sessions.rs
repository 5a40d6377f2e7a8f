//! `Sessions`: browsers that showed a token. A session is a random word in a cookie that no script
//! can read and no other site can send; it lives in this server's memory, for half a day, and ends
//! with its token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{COOKIE, HeaderValue};
use leafid::Clock;

use crate::service::Caller;

/// How long a session lasts.
const LIFE: Duration = Duration::from_secs(12 * 3600);
/// How many there may be; the oldest makes room.
const SESSIONS_MAX: usize = 1000;
/// The name of the cookie; over TLS with the prefix that binds it to this host.
const COOKIE_NAME: &str = "leafid_session";
const COOKIE_NAME_TLS: &str = "__Host-leafid_session";

/// The sessions of this server.
pub(in crate::frontends::http) struct Sessions {
    by_word: Mutex<HashMap<String, Session>>,
    clock: Arc<dyn Clock>,
}

struct Session {
    caller: Caller,
    until: Duration,
}

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let by_word = Mutex::default();
        Self { by_word, clock }
    }

    /// Begins a session; the cookie that goes with it.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub(super) fn begin(&self, caller: Caller, is_tls: bool) -> Result<String, getrandom::Error> {
        let mut word = [0; 32];
        getrandom::fill(&mut word)?;
        let word: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = self.clock.now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.until > now && session.caller.token().is_some());
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.until);
            let oldest = oldest.map(|(word, _)| word.clone());
            oldest.and_then(|word| sessions.remove(&word));
        }
        let until = now + LIFE;
        sessions.insert(word.clone(), Session { caller, until });
        drop(sessions);
        Ok(cookie(&word, is_tls, LIFE))
    }

    /// The caller of a request with the cookie of a session.
    pub(in crate::frontends::http) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let word = word(headers)?;
        let sessions = self.lock();
        let session = sessions.get(word)?;
        let is_over = session.until <= self.clock.now();
        let caller = Some(&session.caller).filter(|caller| !is_over && caller.token().is_some());
        caller.cloned()
    }

    /// Ends the session of a request; the cookie that removes its cookie.
    pub(super) fn end(&self, headers: &HeaderMap, is_tls: bool) -> String {
        if let Some(word) = word(headers) {
            self.lock().remove(word);
        }
        cookie("", is_tls, Duration::ZERO)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.by_word.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request has a cookie that may be that of a session.
pub(in crate::frontends::http) fn word(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|line: &HeaderValue| line.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(name, _)| [COOKIE_NAME, COOKIE_NAME_TLS].contains(name));
    found.map(|(_, word)| word)
}

fn cookie(word: &str, is_tls: bool, life: Duration) -> String {
    let (name, secure) = match is_tls {
        true => (COOKIE_NAME_TLS, "; Secure"),
        false => (COOKIE_NAME, ""),
    };
    let seconds = life.as_secs();
    format!("{name}={word}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Limits, TokenSpec};
    use crate::service::Service;

    const SECRET: &str = "a secret of the console";

    fn with_cookie(cookie: &str) -> HeaderMap {
        let (pair, _) = cookie.split_once(';').unwrap();
        let line = format!("other=1; {pair}");
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&line).unwrap())])
    }

    /// Guards that a session ends with a logout, with its token, and never counts for another word.
    #[test]
    fn a_session_is_as_good_as_its_token() {
        let tokens = vec![TokenSpec::new("ops", SECRET)];
        let (service, _driver) = Service::in_memory(tokens, Limits::default());
        let sessions = Sessions::new(Arc::new(leafid::SystemClock::new()));
        let log_in = || {
            let caller = service.authenticate(None, SECRET).unwrap();
            with_cookie(&sessions.begin(caller, true).unwrap())
        };
        let (first, second) = (log_in(), log_in());
        let name = |headers: &HeaderMap| {
            let caller = sessions.caller(headers);
            caller.and_then(|caller| caller.token().map(str::to_owned))
        };
        assert_eq!(name(&first).as_deref(), Some("ops"));
        assert!(sessions.end(&first, false).contains("Max-Age=0"));
        assert_eq!((name(&first), name(&second)), (None, Some("ops".into())));
        for other in ["leafid_session=", "leafid_session=0", "x"] {
            assert_eq!(name(&with_cookie(&format!("{other};"))), None, "{other}");
        }
        service.apply_access(&[], &[]);
        assert_eq!(name(&second), None);
    }

    #[test]
    fn sessions_are_bounded() {
        let tokens = vec![TokenSpec::new("ops", SECRET)];
        let (service, _driver) = Service::in_memory(tokens, Limits::default());
        let sessions = Sessions::new(Arc::new(leafid::SystemClock::new()));
        for _ in 0..SESSIONS_MAX + 10 {
            let caller = service.authenticate(None, SECRET).unwrap();
            sessions.begin(caller, false).unwrap();
        }
        assert_eq!(sessions.lock().len(), SESSIONS_MAX);
    }

    /// Guards that no cookie panics, and that none is a session that was not begun.
    #[test]
    fn any_cookie_is_read_or_passed_over() {
        let tokens = vec![TokenSpec::new("ops", SECRET)];
        let (service, _driver) = Service::in_memory(tokens, Limits::default());
        let sessions = Sessions::new(Arc::new(leafid::SystemClock::new()));
        let caller = service.authenticate(None, SECRET).unwrap();
        sessions.begin(caller, false).unwrap();
        leafid_fuzz::fuzz("session-cookies", |data| {
            let Ok(value) = HeaderValue::from_bytes(data) else {
                return false;
            };
            let headers = HeaderMap::from_iter([(COOKIE, value)]);
            assert!(sessions.caller(&headers).is_none());
            word(&headers).is_some()
        });
    }
}
