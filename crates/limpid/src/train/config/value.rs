//! Types of values: from TOML to a type and back, with the words for what a key accepts.
//!
//! Serde's errors name Rust types and neither key nor place. Here a type says in words what it
//! accepts, and [`Settings`](super::Settings) adds the key, the value as written and the line.

use super::data::Unit;
use super::model::Architecture;
use super::training::{BestMetric, Epochs};
use super::{Targets, TaskKind};
use crate::data::sampler::Bucketing;
use crate::data::table::{Column, TableFormat};
use crate::model::config::{Cell, Directions, RecurrentAttention};
use crate::nn::{Named, NormPlacement, Normalization, Positions, Residual, Scaling};
use crate::optim::Schedule;
use crate::text::TokenizerKind;
use limpid_tensor::kernels::activation::Activation;
use std::path::PathBuf;
use toml::Value;

/// A type that the value of a key can have.
pub(super) trait Setting: Sized {
    /// Reads a value; the error is what is accepted, in words.
    fn parse(value: &Value) -> Result<Self, String>;

    /// The value as TOML; `None` where nothing is set.
    fn to_value(&self) -> Option<Value>;
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            fn parse(value: &Value) -> Result<Self, String> {
                let number = value.as_integer().and_then(|number| <$type>::try_from(number).ok());
                number.ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
            }

            fn to_value(&self) -> Option<Value> {
                i64::try_from(*self).ok().map(Value::Integer)
            }
        }
    )*};
}
whole_numbers!(u64, usize);

impl Setting for f64 {
    fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::Float(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err("a number".into()),
        }
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

impl Setting for f32 {
    fn parse(value: &Value) -> Result<Self, String> {
        f64::parse(value).map(|number| number as f32)
    }

    fn to_value(&self) -> Option<Value> {
        // By its shortest decimal: 0.1f32 as f64 would be written 0.10000000149011612.
        self.to_string().parse().ok().map(Value::Float)
    }
}

impl Setting for bool {
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| "true or false".into())
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::Boolean(*self))
    }
}

impl Setting for PathBuf {
    fn parse(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some(path) if !path.is_empty() => Ok(path.into()),
            _ => Err("a path".into()),
        }
    }

    fn to_value(&self) -> Option<Value> {
        self.to_str().map(|path| Value::String(path.into()))
    }
}

/// A number is a column's number, a text its name; so is a number in quotes.
impl Setting for Column {
    fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(number @ 1..) => Ok(Column::Number(*number as usize)),
            Value::String(name) if !name.is_empty() => Ok(Column::parse(name)),
            _ => Err("the name of a column, or its number from 1".into()),
        }
    }

    fn to_value(&self) -> Option<Value> {
        Some(match self {
            Column::Number(number) => Value::Integer(*number as i64),
            Column::Name(name) => Value::String(name.clone()),
        })
    }
}

/// A list of one needs no brackets.
impl<T: Setting> Setting for Vec<T> {
    fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::Array(values) => values.iter().map(T::parse).collect(),
            one => Ok(vec![T::parse(one)?]),
        }
    }

    fn to_value(&self) -> Option<Value> {
        let values = self.iter().filter_map(T::to_value).collect();
        (!self.is_empty()).then_some(Value::Array(values))
    }
}

impl<T: Setting> Setting for Option<T> {
    fn parse(value: &Value) -> Result<Self, String> {
        T::parse(value).map(Some)
    }

    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}

/// The names of an enum's values.
macro_rules! names {
    ($type:ty { $($name:literal => $value:ident),* $(,)? }) => {
        impl Setting for $type {
            fn parse(value: &Value) -> Result<Self, String> {
                match value.as_str() {
                    $(Some($name) => Ok(Self::$value),)*
                    _ => Err(one_of(&[$($name),*])),
                }
            }

            fn to_value(&self) -> Option<Value> {
                let name = match self {
                    $(Self::$value => $name,)*
                };
                Some(Value::String(name.into()))
            }
        }
    };
}

fn one_of(names: &[&str]) -> String {
    format!("one of {}", names.join(", "))
}

names!(TaskKind {
    "gpt" => Gpt, "translate" => Translate, "bert" => Bert, "classify" => Classify,
});
names!(Architecture { "transformer" => Transformer, "rnn" => Recurrent });
names!(Unit { "windows" => Windows, "lines" => Lines, "pairs" => Pairs });
names!(Targets { "translations" => Translations, "summaries" => Summaries });
names!(BestMetric { "loss" => Loss, "accuracy" => Accuracy, "f1" => F1 });
names!(Bucketing { "mixed" => Mixed, "by-length" => ByLength });
names!(Schedule {
    "constant" => Constant, "inverse-sqrt" => InverseSquareRoot, "linear" => Linear,
    "cosine" => Cosine,
});
names!(TableFormat {
    "tsv" => Tsv, "csv" => Csv, "jsonl" => JsonLines, "label-first" => LabelFirst,
});
names!(TokenizerKind {
    "char" => Character, "byte" => Byte, "word" => Word, "bpe" => Bpe, "wordpiece" => WordPiece,
    "unigram" => Unigram,
});
/// Options of models have their names from below.
macro_rules! options {
    ($($type:ty),* $(,)?) => {$(
        impl Setting for $type {
            fn parse(value: &Value) -> Result<Self, String> {
                let named = value.as_str().and_then(|name| Self::from_name(name).ok());
                let names = || Self::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>();
                named.ok_or_else(|| one_of(&names()))
            }

            fn to_value(&self) -> Option<Value> {
                Some(Value::String(self.name().into()))
            }
        }
    )*};
}
options!(
    NormPlacement,
    Positions,
    Normalization,
    Residual,
    Scaling,
    Cell,
    RecurrentAttention,
    Activation,
);

/// `bidirectional`, as PyTorch has it.
impl Setting for Directions {
    fn parse(value: &Value) -> Result<Self, String> {
        Ok(if bool::parse(value)? { Directions::Bidirectional } else { Directions::Forward })
    }

    fn to_value(&self) -> Option<Value> {
        (*self == Directions::Bidirectional).to_value()
    }
}

impl Setting for Epochs {
    fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(name) if name == "auto" => Ok(Epochs::Auto),
            value => match u64::parse(value) {
                Ok(count) => Ok(Epochs::Count(count)),
                Err(_) => Err("a whole number, or \"auto\"".into()),
            },
        }
    }

    fn to_value(&self) -> Option<Value> {
        match self {
            Epochs::Auto => Some(Value::String("auto".into())),
            Epochs::Count(count) => count.to_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_with_as_few_digits_as_it_was_read_with() {
        for number in [0.1f32, 5e-5, 0.98, 1e-8, 3.0, 0.0] {
            let value = number.to_value().unwrap();
            assert_eq!(f32::parse(&value), Ok(number));
            assert!(value.to_string().len() <= 10, "{value}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_those_that_exist() {
        let wrong = Value::String("zigzag".into());
        assert_eq!(
            Schedule::parse(&wrong),
            Err("one of constant, inverse-sqrt, linear, cosine".into())
        );
        assert!(u64::parse(&Value::Integer(-1)).unwrap_err().starts_with("a whole number"));
    }

    #[test]
    fn every_name_reads_back_and_an_alias_is_written_by_its_first_name() {
        for name in ["gelu_new", "gelu", "relu", "silu", "tanh", "sigmoid", "linear"] {
            let value = Value::String(name.into());
            assert_eq!(Activation::parse(&value).unwrap().to_value(), Some(value));
        }
        let swish = Activation::parse(&Value::String("swish".into())).unwrap();
        assert_eq!(swish.to_value(), Some(Value::String("silu".into())));
    }
}
