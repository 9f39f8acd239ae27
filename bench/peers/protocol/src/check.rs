//! Is it a real training step? A library may lack the backward of an operation and silently train
//! almost nothing.

use crate::Result;

/// The sum of |gradient| of every variable, by name; `None` where the library gave no gradient at
/// all.
#[derive(Default)]
pub struct Gradients(Vec<(String, Option<f32>)>);

impl Gradients {
    pub fn push(&mut self, name: impl Into<String>, sum: Option<f32>) {
        self.0.push((name.into(), sum));
    }

    /// Refuses a step that leaves a variable untrained.
    pub fn check(&self) -> Result<()> {
        let trained = |sum: &Option<f32>| sum.is_some_and(|sum| sum.is_finite() && sum > 0.0);
        let left: Vec<&str> =
            self.0.iter().filter(|(_, sum)| !trained(sum)).map(|(name, _)| &name[..]).collect();
        match left[..] {
            _ if self.0.is_empty() => Err("there are no variables".into()),
            [] => Ok(()),
            _ => Err(format!(
                "{} of {} variables get no gradient: {}",
                left.len(),
                self.0.len(),
                left.join(", ")
            )),
        }
    }
}

/// The losses of the first steps.
pub struct Losses(pub Vec<f64>);

impl Losses {
    /// Random weights know nothing, so the first loss is about ln(vocabulary); then it falls.
    pub fn check(&self, vocab: usize) -> Result<()> {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        let ignorant = (vocab as f64).ln();
        if (first - ignorant).abs() > 0.5 {
            return Err(format!(
                "the first loss is {first}, expected about ln({vocab}) = {ignorant:.3}"
            ));
        }
        if last >= first {
            return Err(format!("the loss does not fall: {:?}", self.0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_without_a_gradient_is_named() {
        let mut gradients = Gradients::default();
        gradients.push("norm", Some(0.5));
        assert_eq!(gradients.check(), Ok(()));
        gradients.push("qkv", None);
        gradients.push("up", Some(0.0));
        assert_eq!(gradients.check(), Err("2 of 3 variables get no gradient: qkv, up".into()));
    }

    #[test]
    fn a_loss_that_starts_elsewhere_or_does_not_fall_is_refused() {
        assert_eq!(Losses(vec![4.18, 4.17]).check(65), Ok(()));
        assert!(Losses(vec![4.18, 4.18]).check(65).unwrap_err().contains("does not fall"));
        assert!(Losses(vec![9.0, 8.0]).check(65).unwrap_err().contains("expected about"));
    }
}
