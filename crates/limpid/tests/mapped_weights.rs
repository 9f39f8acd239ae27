//! Weights that stay in their file: the same numbers as copied ones, without private memory.

use limpid::hub;
use limpid::model::Model;
use limpid::model::config::StackConfig;
use limpid_tensor::counting::CountingAllocator;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Allocations of all threads are counted, so one test runs at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures")
}

/// The share of the numbers that are used in place; all of them are compared with copies.
fn compare(folder: &Path) -> f64 {
    let (copied, _) = hub::load(folder).unwrap();
    let (mapped, _) = hub::load_mapped(folder).unwrap();
    let (mut in_place, mut all) = (0, 0);
    for (id, spec) in copied.params.iter() {
        let bits = |model: &Model| model.params.get(id).iter().map(|x| x.to_bits()).collect();
        let (a, b): (Vec<u32>, Vec<u32>) = (bits(&copied), bits(&mapped));
        assert!(a == b, "{} of {}", spec.name, folder.display());
        assert!(!copied.params.is_mapped(id));
        all += spec.shape.len();
        in_place += if mapped.params.is_mapped(id) { spec.shape.len() } else { 0 };
    }
    in_place as f64 / all as f64
}

#[test]
fn mapped_weights_are_the_copied_ones_bit_for_bit_in_every_family() {
    let _alone = alone();
    let mut compared = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("model.safetensors").is_file() && folder.join("config.json").is_file() {
            compare(&folder);
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} fixtures");
}

/// A decoder like llama: its gate and up matrices lie beside each other in the file, q, k and v do
/// not.
fn gated(c: usize) -> Model {
    let (config, _) = hub::read_config(&fixtures().join("llama-tiny/config.json")).unwrap();
    let StackConfig::Decoder(mut config) = config else { unreachable!("a decoder") };
    (config.hidden_size, config.intermediate_size, config.vocab_size) = (c, 2 * c, 512);
    config.variant.attention.head_dim = None;
    Model::new(&config, 1).unwrap()
}

#[test]
fn loading_for_inference_allocates_only_what_the_file_stores_in_another_order() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("limpid-mapped-{}", std::process::id()));
    let model = gated(256);
    hub::save(&model, &folder).unwrap();
    drop(model);
    let in_place = compare(&folder);
    assert!(in_place > 0.7, "{in_place:.2} of the numbers are used in place");
    ALLOCATOR.reset_peak();
    let before = ALLOCATOR.bytes();
    let (mapped, _) = hub::load_mapped(&folder).unwrap();
    let taken = ALLOCATOR.peak_bytes() - before;
    let numbers: usize = mapped.params.iter().map(|(_, spec)| spec.shape.len()).sum();
    let copied = 4.0 * numbers as f64 * (1.0 - in_place);
    assert!((taken as f64) < copied + 300_000.0, "{taken} bytes for {copied:.0} that are copied");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_number_that_is_not_finite_is_refused_with_its_tensor_wherever_it_lies() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("limpid-finite-{}", std::process::id()));
    let mut model = gated(64);
    let id = model.params.find("layers.1.ffn.up.weight").unwrap();
    let len = model.params.get(id).len();
    // In the second of two stacked matrices.
    model.params.get_mut(id)[len / 2 + 3] = f32::NAN;
    hub::save(&model, &folder).unwrap();
    for load in [hub::load, hub::load_mapped] {
        let error = load(&folder).err().unwrap().to_string();
        let expected = "model.layers.1.mlp.up_proj.weight has NaN at element 3";
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
