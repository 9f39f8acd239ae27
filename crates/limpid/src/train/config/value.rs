//! Types of values: from TOML to a type and back, with the words for what a key accepts.
//!
//! Serde's errors name Rust types and neither key nor place. Here a type says in words what it
//! accepts, and [`Settings`](super::Settings) adds the key, the value as written and the line.

use super::training::Epochs;
use super::training::Snapshots;
use crate::data::clean::Duplicates;
use crate::data::masking::MaskUnit;
use crate::data::sampler::Bucketing;
use crate::data::table::{Column, TableFormat};
use crate::distributed::Sharding;
use crate::model::config::Directions;
use crate::nn::{Named, named};
use crate::optim::{Activations, Schedule};
use crate::text::{Casing, TokenizerKind};
use std::path::PathBuf;
use toml::Value;

/// A type that the value of a key can have.
pub(super) trait Setting: Sized {
    /// Reads a value; the error is what is accepted, in words.
    fn parse(value: &Value) -> Result<Self, String>;

    /// The value as TOML; `None` where nothing is set.
    fn to_value(&self) -> Option<Value>;

    /// Calls `change` on every path in it.
    fn each_path(&mut self, _change: &mut dyn FnMut(&mut PathBuf)) {}
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

    fn each_path(&mut self, change: &mut dyn FnMut(&mut PathBuf)) {
        change(self);
    }
}

impl Setting for String {
    fn parse(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some(text) if !text.is_empty() => Ok(text.into()),
            _ => Err("a name".into()),
        }
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::String(self.clone()))
    }
}

impl Setting for char {
    fn parse(value: &Value) -> Result<Self, String> {
        let mut characters = value.as_str().unwrap_or_default().chars();
        match (characters.next(), characters.next()) {
            (Some(one), None) => Ok(one),
            _ => Err("one character between quotation marks".into()),
        }
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
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
            Column::Name(name) | Column::List(name) => Value::String(name.clone()),
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

    fn each_path(&mut self, change: &mut dyn FnMut(&mut PathBuf)) {
        self.iter_mut().for_each(|value| value.each_path(change));
    }
}

impl<T: Setting> Setting for Option<T> {
    fn parse(value: &Value) -> Result<Self, String> {
        T::parse(value).map(Some)
    }

    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }

    fn each_path(&mut self, change: &mut dyn FnMut(&mut PathBuf)) {
        self.iter_mut().for_each(|value| value.each_path(change));
    }
}

/// One of an option's names.
impl<T: Named> Setting for T {
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_str().and_then(|name| T::from_name(name).ok()).ok_or_else(|| {
            let names: Vec<&str> = T::NAMES.iter().map(|(name, _)| *name).collect();
            format!("one of {}", names.join(", "))
        })
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::String(self.name().into()))
    }
}

named!(Bucketing, "bucketing", "mixed" => Mixed, "by-length" => ByLength);
named!(Schedule, "schedule", "constant" => Constant, "inverse-sqrt" => InverseSquareRoot,
    "linear" => Linear, "cosine" => Cosine);
named!(TableFormat, "format", "tsv" => Tsv, "csv" => Csv, "jsonl" => JsonLines,
    "label-first" => LabelFirst);
named!(TokenizerKind, "kind of tokenizer", "char" => Character, "byte" => Byte, "word" => Word,
    "bpe" => Bpe, "wordpiece" => WordPiece, "unigram" => Unigram);

/// Options of two values that are switches in a configuration.
macro_rules! switches {
    ($($type:ident { true => $on:ident, false => $off:ident })*) => {$(
        impl Setting for $type {
            fn parse(value: &Value) -> Result<Self, String> {
                bool::parse(value).map(|is_on| if is_on { $type::$on } else { $type::$off })
            }

            fn to_value(&self) -> Option<Value> {
                (*self == $type::$on).to_value()
            }
        }
    )*};
}
switches! {
    // As PyTorch has it.
    Directions { true => Bidirectional, false => Forward }
    Duplicates { true => Drop, false => Keep }
    Casing { true => Uncased, false => Cased }
    MaskUnit { true => WholeWord, false => Token }
    Activations { true => Recomputed, false => Kept }
    Snapshots { true => Doubling, false => None }
    Sharding { true => Sliced, false => Replicated }
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
    use limpid_tensor::kernels::activation::Activation;

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
