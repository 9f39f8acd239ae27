//! The vendored libraries of the lab's page are those that were pinned, with their licences.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/lab/vendor")
}

fn packages() -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(folder().join("vendored.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["packages"].as_array().unwrap().clone()
}

#[test]
fn vendored_files_have_the_pinned_hashes() {
    let mut pinned = BTreeSet::new();
    for package in packages() {
        for file in package["files"].as_array().unwrap() {
            let name = file["to"].as_str().unwrap();
            let bytes = std::fs::read(folder().join(name)).unwrap();
            let digest = Sha256::digest(&bytes);
            let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, file["sha256"].as_str().unwrap(), "{name} was changed");
            pinned.insert(name.to_owned());
        }
    }
    let code = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let code: BTreeSet<String> = code
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.ends_with(".js") || name.ends_with(".css"))
        .collect();
    assert_eq!(code, pinned, "every vendored file is pinned");
}

#[test]
fn vendored_packages_come_with_their_licences() {
    let licences = std::fs::read_to_string(folder().join("LICENSES.txt")).unwrap();
    for package in packages() {
        let title = format!(
            "{} {}\n",
            package["name"].as_str().unwrap(),
            package["version"].as_str().unwrap()
        );
        assert!(licences.contains(&title), "no licence of {title}");
    }
}
