//! What the page and the lab say to each other, as JSON. `api.d.ts` is made from these types.

mod ablation;
mod explain;
mod generation;
mod models;
mod pass;
mod training;

pub use ablation::*;
pub use explain::*;
pub use generation::*;
pub use models::*;
pub use pass::*;
pub use training::*;
