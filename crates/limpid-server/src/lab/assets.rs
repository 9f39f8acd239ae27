//! The files of the page: embedded in the program, or read from a folder while they are edited.

use super::State;
use super::assets_table::FILES;
use super::problem::{Kind, LabProblem};
use axum::body::Body;
use axum::extract;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What a page may load and do: nothing but its own files, and blobs as pictures.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The media type of a file, by its name; other files are not served.
fn media_type(path: &str) -> Option<&'static str> {
    Some(match Path::new(path).extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// A file of the page; `/` is `index.html`.
pub async fn file(
    extract::State(state): extract::State<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    let missing = || LabProblem::new(Kind::NotFound, format!("there is no file {path}"));
    // Only plain names: nothing that leads out of the folder.
    let plain = |part: Component| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    let is_plain = |path: &str| Path::new(path).components().all(plain);
    let Some(media_type) = media_type(path).filter(|_| is_plain(path)) else {
        return missing().into_response();
    };
    let found: Option<(Body, String)> = match &state.settings.assets {
        Some(folder) => read(folder.join(path)).await.map(|bytes| {
            let tag = limpid::hash::hash_bytes(&bytes);
            (Body::from(bytes), format!("\"{tag:016x}\""))
        }),
        None => FILES.iter().find(|(name, _)| *name == path).map(|(_, bytes)| {
            let tag = limpid::hash::hash_bytes(bytes);
            (Body::from(*bytes), format!("\"{tag:016x}\""))
        }),
    };
    let Some((body, tag)) = found else { return missing().into_response() };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value == tag.as_str());
    let mut response = Response::new(if known { Body::empty() } else { body });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ETAG, HeaderValue::from_str(&tag).expect("hexadecimal"));
    response
}

/// A file, read off the event loop.
async fn read(path: PathBuf) -> Option<Vec<u8>> {
    tokio::task::spawn_blocking(move || std::fs::read(path).ok()).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn below(folder: &Path, base: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                below(&path, base, found);
            } else {
                let name = path.strip_prefix(base).unwrap().to_string_lossy().replace('\\', "/");
                if media_type(&name).is_some() {
                    found.insert(name);
                }
            }
        }
    }

    /// `UPDATE_LAB=1 cargo test -p limpid-server --lib lab` writes the table.
    #[test]
    fn every_file_of_the_page_is_embedded() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let base = root.join("assets/lab");
        let mut names = BTreeSet::new();
        below(&base, &base, &mut names);
        let mut table = String::from(
            "//! The files of the page, generated from the folder `assets/lab` by a test.\n\n\
             /// Path and content.\npub const FILES: &[(&str, &[u8])] = &[\n",
        );
        for name in &names {
            let line = format!("    (\"{name}\", include_bytes!(\"../../assets/lab/{name}\")),\n");
            table.push_str(&line);
        }
        table.push_str("];\n");
        let path = root.join("src/lab/assets_table.rs");
        if std::env::var_os("UPDATE_LAB").is_some() {
            std::fs::write(&path, &table).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap();
        assert!(
            found == table,
            "assets_table.rs is not that of the folder: UPDATE_LAB=1 writes it"
        );
    }
}
