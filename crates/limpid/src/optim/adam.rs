//! Adam and AdamW over the flat parameters, with clipping by the global norm.

use limpid_tensor::kernels::adam::{AdamStep, DecayMode, adam_ranges};
use limpid_tensor::kernels::elementwise::sum_of_squares;
use limpid_tensor::params::{ParamBuffer, ParamId, Params, Role};
use limpid_tensor::tape::Gradients;
use limpid_tensor::team;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Settings of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// β₁, decay of the first moment.
    pub beta1: f32,
    /// β₂, decay of the second moment.
    pub beta2: f32,
    /// ε, added to the denominator.
    pub eps: f32,
    /// Weight decay λ, of matrices only.
    pub weight_decay: f32,
    /// How λ enters: decoupled (AdamW) or added to the gradient (Adam with L2).
    pub decay_mode: DecayMode,
    /// The largest global norm of the gradient; larger ones are scaled down to it.
    pub clip_norm: Option<f32>,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-9,
            weight_decay: 0.0,
            decay_mode: DecayMode::Decoupled,
            clip_norm: Some(1.0),
        }
    }
}

/// Two moments per parameter, and how many steps were taken.
pub struct Adam {
    config: AdamConfig,
    /// What it updates: all of the flat parameters, or a slice of them.
    slice: Range<usize>,
    m: ParamBuffer,
    v: ParamBuffer,
    steps: u64,
    segments: Vec<Segment>,
    /// Of each segment, counted from the beginning of the slice.
    ranges: Vec<Range<usize>>,
}

/// What belongs to a range of the flat parameters: a piece of one of them, small enough to share
/// out between threads and processes.
struct Segment {
    param: ParamId,
    decay: f32,
}

const SEGMENT: usize = 8_192;

impl Adam {
    /// Zero moments for `params`.
    pub fn new(params: &Params, config: AdamConfig) -> Self {
        let trained = params.iter().filter(|(_, spec)| spec.role == Role::Trained);
        let pieces = trained.flat_map(|(param, spec)| {
            let decay = if spec.decays() { config.weight_decay } else { 0.0 };
            let range = params.flat_range(param).expect("gradients have refused what is mapped");
            let end = range.end;
            let piece = move |start| (Segment { param, decay }, start..end.min(start + SEGMENT));
            range.step_by(SEGMENT).map(piece)
        });
        let (segments, ranges) = pieces.unzip();
        let (m, v) = (ParamBuffer::zeros_like(params), ParamBuffer::zeros_like(params));
        let slice = 0..params.flat().len();
        Self { config, slice, m, v, steps: 0, segments, ranges }
    }

    /// Where the flat parameters may be cut into slices: the beginnings of the segments.
    pub(super) fn cuts(&self) -> Vec<usize> {
        self.ranges.iter().map(|range| self.slice.start + range.start).collect()
    }

    /// Updates this slice alone from now on, and forgets the moments of the rest.
    ///
    /// # Panics
    /// If it cuts a segment, or is not within what was updated so far.
    #[track_caller]
    pub(super) fn keep_slice(&mut self, slice: Range<usize>) {
        let start = slice.start - self.slice.start;
        let within = start..start + slice.len();
        let keep = |all: &ParamBuffer| {
            let mut kept = ParamBuffer::zeros(slice.len());
            kept.flat_mut().copy_from_slice(&all.flat()[within.clone()]);
            kept
        };
        (self.m, self.v) = (keep(&self.m), keep(&self.v));
        let first = self.ranges.partition_point(|range| range.start < within.start);
        let end = self.ranges.partition_point(|range| range.start < within.end);
        let cut = |range: &Range<usize>| range.end > within.end;
        assert!(!self.ranges[first..end].iter().any(cut), "a slice cuts a segment");
        let shifted = |range: &Range<usize>| range.start - start..range.end - start;
        self.ranges = self.ranges[first..end].iter().map(shifted).collect();
        self.segments = self.segments.drain(first..end).collect();
        self.slice = slice;
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The two moments of what it updates, in the layout of the parameters.
    pub fn moments(&self) -> (&[f32], &[f32]) {
        (self.m.flat(), self.v.flat())
    }

    /// Both moments, to be filled from a checkpoint, after this many steps.
    pub fn restore(&mut self, steps: u64) -> (&mut [f32], &mut [f32]) {
        self.steps = steps;
        (self.m.flat_mut(), self.v.flat_mut())
    }

    /// One step with learning rate `lr`. Returns the global norm of the gradient before clipping.
    ///
    /// If that norm is not finite, nothing changes: the caller decides what to do.
    pub fn step(&mut self, params: &mut Params, gradients: &Gradients, lr: f32) -> f32 {
        // In the order of the parameters, each in f64: the same bits at any number of threads.
        let trained = params.iter().filter(|(_, spec)| spec.role == Role::Trained);
        let squares = |(id, _)| gradients.get(params, id).map_or(0.0, sum_of_squares);
        let norm = trained.map(squares).sum::<f64>().sqrt() as f32;
        if norm.is_finite() {
            self.update(params, gradients, lr, norm);
        }
        norm
    }

    /// Σ g² of each segment: added up in their order, those of all slices give the square of the
    /// global norm, with the same bits at any number of slices.
    pub(super) fn squares(&self, gradients: &Gradients) -> Vec<f64> {
        let flat = &gradients.flat()[self.slice.clone()];
        let sums: Vec<AtomicU64> = self.ranges.iter().map(|_| AtomicU64::new(0)).collect();
        team::run(sums.len(), |i| {
            if gradients.reaches(self.segments[i].param) {
                let sum = sum_of_squares(&flat[self.ranges[i].clone()]);
                sums[i].store(sum.to_bits(), Ordering::Relaxed);
            }
        });
        sums.into_iter().map(|sum| f64::from_bits(sum.into_inner())).collect()
    }

    /// One step with learning rate `lr`, for a gradient of this global norm.
    pub(super) fn update(
        &mut self,
        params: &mut Params,
        gradients: &Gradients,
        lr: f32,
        norm: f32,
    ) {
        let clip = match self.config.clip_norm {
            // PyTorch's clip_grad_norm_ adds 1e-6 as well.
            Some(limit) => (limit / (norm + 1e-6)).min(1.0),
            None => 1.0,
        };
        self.steps += 1;
        let AdamConfig { beta1, beta2, eps, decay_mode, .. } = self.config;
        let (t, segments) = (self.steps, &self.segments);
        let step_of = |i: usize| {
            let Segment { param, decay } = segments[i];
            // PyTorch, too, leaves a parameter alone that no gradient has reached.
            gradients.reaches(param).then_some(AdamStep {
                lr,
                beta1,
                beta2,
                eps,
                weight_decay: decay,
                decay_mode,
                clip,
                t,
            })
        };
        let (m, v) = (self.m.flat_mut(), self.v.flat_mut());
        let (p, g) = (&mut params.flat_mut()[self.slice.clone()], gradients.flat());
        adam_ranges(p, m, v, &g[self.slice.clone()], &self.ranges, step_of);
    }
}
