//! Who may ask: this machine, by its exact address, with the token of this process.

use super::problem::{Kind, LabProblem};
use axum::http::{HeaderMap, Method, Request, header};
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, RandomState};
use subtle::ConstantTimeEq;

/// The header that carries the token.
pub const TOKEN: &str = "x-limpid-token";

/// A secret of this process: who has it was given the address by the terminal.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// A new one, from the random numbers of the operating system that seed hash tables.
    pub(crate) fn new() -> Self {
        let mut hash = Sha256::new();
        for i in 0..4_u64 {
            hash.update(RandomState::new().hash_one(i).to_le_bytes());
        }
        let bytes: [u8; 32] = hash.finalize().into();
        Self(bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// As the address ends with it.
    pub fn text(&self) -> &str {
        &self.0
    }

    fn is(&self, given: &str) -> bool {
        let digest = |text: &str| -> [u8; 32] { Sha256::digest(text.as_bytes()).into() };
        digest(&self.0).ct_eq(&digest(given)).into()
    }
}

/// The values of `Host` that are ours: name and port.
#[derive(Clone, Debug)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Those of a port on this machine.
    pub fn of_port(port: u16) -> Self {
        Self(vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")])
    }

    fn has(&self, host: &str) -> bool {
        self.0.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    fn has_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.has(host))
    }
}

fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| ())).transpose()?;
    if values.next().is_some() { Err(()) } else { Ok(first) }
}

/// Checks a request before anything of it is read.
/// # Errors
/// A [`LabProblem`] that does not say what would have been right.
pub fn check<B>(
    hosts: &Hosts,
    token: &AccessToken,
    request: &Request<B>,
) -> Result<(), LabProblem> {
    let headers = request.headers();
    // A page of another site must not reach this server by a name of its own (DNS rebinding).
    match one(headers, header::HOST.as_str()) {
        Ok(Some(host)) if hosts.has(host) => {}
        _ => return Err(LabProblem::new(Kind::WrongHost, "this server has another address")),
    }
    let path = request.uri().path();
    if !path.starts_with("/api/") {
        return match *request.method() {
            Method::GET | Method::HEAD => Ok(()),
            _ => Err(LabProblem::new(Kind::Method, "files can only be read")),
        };
    }
    let foreign = || Err(LabProblem::new(Kind::WrongOrigin, "only the lab's own page may ask"));
    match one(headers, header::ORIGIN.as_str()) {
        Ok(None) => {}
        Ok(Some(origin)) if hosts.has_origin(origin) => {}
        _ => return foreign(),
    }
    match one(headers, "sec-fetch-site") {
        Ok(None | Some("same-origin")) => {}
        _ => return foreign(),
    }
    match one(headers, TOKEN) {
        Ok(Some(given)) if token.is(given) => Ok(()),
        _ => Err(LabProblem::new(Kind::NoToken, "this page belongs to another start of the lab")
            .hint("open the address that the terminal shows")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, method: &str, headers: &[(&str, &str)]) -> Result<(), Kind> {
        let token = AccessToken("aa".into());
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        check(&Hosts::of_port(7000), &token, &request).map_err(|problem| problem.kind)
    }

    #[test]
    fn only_our_own_address_is_answered() {
        for host in ["127.0.0.1:7000", "localhost:7000", "LOCALHOST:7000"] {
            assert_eq!(checked("/", "GET", &[("host", host)]), Ok(()), "{host}");
        }
        for host in ["127.0.0.1", "127.0.0.1:7001", "evil.example:7000", "", "127.0.0.1:7000.evil"]
        {
            assert_eq!(checked("/", "GET", &[("host", host)]), Err(Kind::WrongHost), "{host}");
        }
        assert_eq!(checked("/", "GET", &[]), Err(Kind::WrongHost));
        let two = [("host", "127.0.0.1:7000"), ("host", "evil.example")];
        assert_eq!(checked("/", "GET", &two), Err(Kind::WrongHost));
    }

    #[test]
    fn the_api_wants_our_page_and_the_token() {
        let api = |more: &[(&str, &str)]| {
            let own = [("host", "127.0.0.1:7000")];
            checked("/api/lab", "POST", &[&own[..], more].concat())
        };
        assert_eq!(api(&[(TOKEN, "aa")]), Ok(()));
        assert_eq!(api(&[]), Err(Kind::NoToken));
        assert_eq!(api(&[(TOKEN, "ab")]), Err(Kind::NoToken));
        assert_eq!(api(&[(TOKEN, "aa"), (TOKEN, "aa")]), Err(Kind::NoToken));
        assert_eq!(api(&[(TOKEN, "aa"), ("origin", "http://127.0.0.1:7000")]), Ok(()));
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:7001", "https://127.0.0.1:7000"]
        {
            let found = api(&[(TOKEN, "aa"), ("origin", origin)]);
            assert_eq!(found, Err(Kind::WrongOrigin), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            let found = api(&[(TOKEN, "aa"), ("sec-fetch-site", site)]);
            assert_eq!(found, Err(Kind::WrongOrigin), "{site}");
        }
    }

    #[test]
    fn two_tokens_differ() {
        let (a, b) = (AccessToken::new(), AccessToken::new());
        assert_eq!(a.text().len(), 32);
        assert_ne!(a.text(), b.text());
    }
}
