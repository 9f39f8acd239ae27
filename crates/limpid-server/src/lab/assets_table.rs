//! The files of the page, generated from the folder `assets/lab` by a test.

/// Path and content.
pub const FILES: &[(&str, &[u8])] =
    &[("index.html", include_bytes!("../../assets/lab/index.html"))];
