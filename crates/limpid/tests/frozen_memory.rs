//! Frozen parameters cost no gradient, no moments and no moving average.

use limpid::data::batch::LmBatch;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::optim::{AdamConfig, Optimizer};
use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{ParamBuffer, Role};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Bytes that an optimizer and a moving average take, and the frozen values before and after a
/// step.
fn measure(is_frozen: impl Fn(&str) -> bool) -> (usize, usize) {
    let mut model = Model::new(DecoderConfig::gpt2(4_000, 16, 2, 2, 64), 1).unwrap();
    model.params.set_roles(|spec| if is_frozen(&spec.name) { Role::Fixed } else { spec.role });
    let frozen = |model: &Model| -> Vec<Vec<f32>> {
        let params = &model.params;
        let frozen = params.iter().filter(|(_, spec)| spec.role == Role::Fixed);
        frozen.map(|(id, _)| params.get(id).to_vec()).collect()
    };
    let (values, flat) = (frozen(&model), model.params.flat().to_vec());
    let before = ALLOCATOR.bytes();
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let ema = ParamBuffer::zeros_like(&model.params);
    let taken = ALLOCATOR.bytes() - before;
    let batch = LmBatch::new(&[vec![1, 2, 3, 4, 5]]);
    let spec = LossSpec { smoothing: 0.0, weight: 0.25 };
    let decoder = model.decoder().expect("a decoder").clone();
    optimizer.step(&mut model.params, 1e-2, None, |t| decoder.loss(t, &batch, spec)).unwrap();
    assert_eq!(frozen(&model), values);
    assert_ne!(model.params.flat(), flat);
    drop(ema);
    (taken, model.params.count())
}

// One test: allocations of other threads are counted, too.
#[test]
fn frozen_parameters_take_no_gradient_no_moments_and_no_average() {
    let (all, parameters) = measure(|_| false);
    let (some, trained) = measure(|name| !name.starts_with("layers.1."));
    assert!(trained * 6 < parameters, "{trained} of {parameters} are trained");
    for (taken, count) in [(all, parameters), (some, trained)] {
        let (least, most) = (16 * count, 16 * count + 16 * 4 * 64 * 4 + (64 << 10));
        assert!(taken >= least && taken <= most, "{taken} bytes for {count} parameters");
    }
}
