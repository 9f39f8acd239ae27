//! Who may ask: API keys and host names.

use super::problem::{Problem, ProblemKind};
use axum::http::{HeaderMap, Uri, header};
use sha2::{Digest, Sha256};
use std::path::Path;
use subtle::{Choice, ConstantTimeEq};

/// The SHA-256 of a key: keys themselves are not kept.
type Hashed = [u8; 32];

/// API keys.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<Hashed>);

impl Keys {
    /// Reads keys from a file, one per line; empty lines and lines with `#` are skipped.
    /// # Errors
    /// [`ServeError::Keys`](crate::error::ServeError::Keys) if it cannot be read or has none.
    pub fn load(path: &Path) -> Result<Self, crate::error::ServeError> {
        let fail = |problem: String| crate::error::ServeError::Keys { path: path.into(), problem };
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        let keys: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        match keys.is_empty() {
            true => Err(fail("there is no key in it".into())),
            false => Ok(Self::new(&keys)),
        }
    }

    /// These keys.
    pub fn new<S: AsRef<str>>(keys: &[S]) -> Self {
        Self(keys.iter().map(|key| hashed(key.as_ref())).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a key is one of them. All are compared, each in constant time.
    fn accepts(&self, key: &str) -> bool {
        let given = hashed(key);
        let found = self.0.iter().map(|known| known.ct_eq(&given));
        found.fold(Choice::from(0), |any, same| any | same).into()
    }
}

fn hashed(key: &str) -> Hashed {
    Sha256::digest(key.as_bytes()).into()
}

/// What a request must have to be answered.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Without keys, nobody needs one.
    pub keys: Keys,
    /// Host names that requests may ask for; without any, all.
    pub hosts: Vec<String>,
}

impl Access {
    /// The key of a request: `Authorization: Bearer`, `x-api-key`.
    pub fn key_of(headers: &HeaderMap) -> Option<&str> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text("authorization").and_then(|value| {
            let (scheme, key) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
        });
        bearer.or_else(|| text("x-api-key"))
    }

    /// Checks a key.
    /// # Errors
    /// A [`Problem`] that does not say which keys there are.
    pub fn check_key(&self, key: Option<&str>) -> Result<(), Problem> {
        let refuse = |message: &str| Err(Problem::new(ProblemKind::Unauthorized, message));
        match key {
            _ if self.keys.is_empty() => Ok(()),
            None => refuse("no API key: send it as Authorization: Bearer KEY"),
            Some(key) if self.keys.accepts(key) => Ok(()),
            Some(_) => refuse("the API key is wrong"),
        }
    }

    /// Checks the host name that a request asks for, so that a page of another site cannot reach
    /// a server on this machine by a name of its own (DNS rebinding).
    /// # Errors
    /// A [`Problem`].
    pub fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if self.hosts.is_empty() {
            return Ok(());
        }
        let named = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let host = named.or_else(|| uri.host()).unwrap_or("");
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(""),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let known = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
        match known && headers.get_all(header::HOST).iter().count() <= 1 {
            true => Ok(()),
            false => {
                let message = format!("this server does not answer for the host {name:?}");
                Err(Problem::new(ProblemKind::WrongHost, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_key_is_taken_from_either_header_and_must_be_one_of_ours() {
        let access = Access { keys: Keys::new(&["first", "second"]), hosts: Vec::new() };
        for (given, accepted) in [
            (headers(&[("authorization", "Bearer second")]), true),
            (headers(&[("authorization", "bearer first")]), true),
            (headers(&[("x-api-key", "first")]), true),
            (headers(&[("authorization", "Bearer firs")]), false),
            (headers(&[("authorization", "Basic first")]), false),
            (headers(&[("x-api-key", "")]), false),
            (headers(&[]), false),
        ] {
            assert_eq!(access.check_key(Access::key_of(&given)).is_ok(), accepted, "{given:?}");
        }
        assert!(Access::default().check_key(None).is_ok(), "without keys nobody needs one");
    }

    #[test]
    fn a_host_that_is_not_ours_is_refused() {
        let hosts = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
        let access = Access { keys: Keys::default(), hosts };
        let check = |host| access.check_host(&Uri::from_static("/"), &headers(&[("host", host)]));
        for host in ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"] {
            assert!(check(host).is_ok(), "{host}");
        }
        for host in ["evil.example", "evil.example:8000", "localhost.evil.example", ""] {
            assert!(check(host).is_err(), "{host}");
        }
    }
}
