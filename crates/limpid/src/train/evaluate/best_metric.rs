//! Which of two validations is better.

use crate::report::Validation;
use crate::train::config::BestMetric;

impl BestMetric {
    /// Its value in a validation. A correlation that is not defined counts as the worst.
    ///
    /// # Panics
    /// If the task of the validation does not have it.
    pub fn value(self, found: &Validation) -> f64 {
        let of_task = |value: Option<f64>| value.expect("the task has this metric");
        match self {
            BestMetric::Loss => found.loss,
            BestMetric::Accuracy => of_task(found.accuracy),
            BestMetric::F1 => of_task(found.macro_f1.or(found.f1)),
            BestMetric::MicroF1 => of_task(found.micro_f1),
            BestMetric::ExactMatch => of_task(found.exact_match),
            BestMetric::Pearson => found.pearson.unwrap_or(-1.0),
            BestMetric::Spearman => found.spearman.unwrap_or(-1.0),
        }
    }

    /// Whether `value` is better than `best`: a lower loss, a higher value of another metric.
    pub fn is_better(self, value: f64, best: f64) -> bool {
        match self {
            BestMetric::Loss => value < best,
            _ => value > best,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_loss_is_better_and_a_higher_accuracy_or_f1() {
        let early = Validation {
            loss: 0.6,
            accuracy: Some(0.7),
            macro_f1: Some(0.65),
            ..Validation::default()
        };
        // Overconfident: the loss rises while more labels are right.
        let late =
            Validation { loss: 0.9, accuracy: Some(0.8), macro_f1: Some(0.75), ..early.clone() };
        let improves =
            |metric: BestMetric| metric.is_better(metric.value(&late), metric.value(&early));
        assert!(!improves(BestMetric::Loss));
        assert!(improves(BestMetric::Accuracy) && improves(BestMetric::F1));
        // The first of equal ones stays.
        let metrics = [BestMetric::Loss, BestMetric::Accuracy, BestMetric::F1];
        assert!(metrics.iter().all(|metric| !metric.is_better(0.5, 0.5)));
    }
}
