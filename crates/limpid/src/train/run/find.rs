//! A run that is not to be trained, only to be tried with growing learning rates.

use super::{News, Run, Signal};
use crate::error::{ErrorKind, Result};
use crate::train::find_rate::{RateCurve, RateSearch};

impl Run {
    /// Steps with rates that grow, from the weights as they are, and what became of the loss. The run is used up: its weights are ruined, and nothing
    /// is saved. Nothing comes of it if `news` says to stop.
    pub fn find_rate(
        mut self,
        search: RateSearch,
        news: &mut dyn FnMut(News) -> Signal,
    ) -> Result<Option<RateCurve>> {
        search.validate()?;
        let mut curve = RateCurve::new(search);
        while let Some(rate) = curve.next_rate() {
            match self.step(rate) {
                Ok((report, tokens)) => {
                    curve.add(rate, Some(report.loss));
                    let step = curve.losses.len() as u64;
                    let now = News::Step { step, steps: search.steps, loss: report.loss, tokens };
                    if news(now) == Signal::Stop {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Numeric => curve.add(rate, None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(curve))
    }
}
