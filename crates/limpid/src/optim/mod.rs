//! Optimization: gradients of micro-batches, clipping, AdamW and learning-rate schedules.
//!
//! [`crate::train::Trainer`] does this for a dataset. By hand, a linear model of one number:
//!
//! ```
//! use limpid::optim::{AdamConfig, LearningRate, Optimizer, Schedule};
//! use limpid::tensor::kernels::activation::Activation;
//! use limpid::tensor::params::{Init, Params};
//! use limpid::tensor::tape::Var;
//! use limpid::tensor::tensor::Tensor;
//!
//! let mut builder = Params::builder();
//! let w = builder.add("w", [1, 1], Init::Ones);
//! let mut params = builder.build(0);
//! let x = Var::constant(Tensor::new([1, 1], &[2.0]));
//!
//! // The loss is x·w: its gradient by w is 2, so w falls by about the learning rate.
//! let schedule = Schedule::Linear;
//! let lr = LearningRate { schedule, peak: 0.1, floor: 0.0, warmup: 0, total: 10 };
//! let mut optimizer = Optimizer::new(&params, AdamConfig::default(), 1);
//! let step = optimizer.step(&mut params, lr.at(1), None, |tape| {
//!     tape.linear(&x, w, None, Activation::None)
//! })?;
//! assert_eq!((step.loss, step.grad_norm), (2.0, 2.0));
//! assert!((params.get(w)[0] - (1.0 - lr.at(1))).abs() < 1e-4);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod adam;
mod data_parallel;
mod optimizer;
mod schedule;

pub use adam::{Adam, AdamConfig};
pub use data_parallel::DataParallel;
pub use optimizer::{Activations, Optimizer, StepOutput};
pub use schedule::{LearningRate, Schedule};
