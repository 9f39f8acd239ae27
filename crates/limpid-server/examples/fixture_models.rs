//! Writes the small models that scripts/test-clients serves: `fixture_models FOLDER`.

#[path = "../tests/server/fixtures.rs"]
mod fixtures;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder to write the models to");
    for model in fixtures::all(folder.as_ref()) {
        println!("{}", model.display());
    }
}
