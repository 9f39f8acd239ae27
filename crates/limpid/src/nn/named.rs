//! Options that configuration files and command lines know by name.

use crate::error::{ModelConfigError, Result};

/// An option with a name for each of its values.
///
/// ```
/// use limpid::nn::{Named, Positions};
///
/// assert_eq!(Positions::from_name("sinusoidal").unwrap(), Positions::Sinusoidal);
/// assert_eq!(Positions::OneHot.name(), "one-hot");
/// assert!("absolute".parse::<Positions>().is_err());
/// ```
pub trait Named: Copy + PartialEq + 'static {
    /// What the option is, for messages: "activation".
    const OPTION: &'static str;
    /// Every name with its value; where a value has several names, the first is the one written.
    const NAMES: &'static [(&'static str, Self)];

    /// The value of a name.
    /// # Errors
    /// [`ModelConfigError::UnknownName`] with the names there are.
    fn from_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let expected = Self::NAMES.iter().map(|(name, _)| *name).collect();
            let (option, found) = (Self::OPTION, name.into());
            ModelConfigError::UnknownName { option, found, expected }.into()
        })
    }

    /// The name of a value.
    /// # Panics
    /// If [`Named::NAMES`] leaves the value out.
    fn name(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(_, value)| *value == self);
        named.expect("every value has a name").0
    }
}

/// Names for the values of an enum of this crate, with `FromStr`, `Display` and serde by name.
macro_rules! named {
    ($kind:ident, $option:literal, $($name:literal => $value:ident),*) => {
        impl $crate::nn::Named for $kind {
            const OPTION: &'static str = $option;
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),*];
        }
        impl std::str::FromStr for $kind {
            type Err = $crate::error::Error;
            fn from_str(name: &str) -> $crate::error::Result<Self> {
                $crate::nn::Named::from_name(name)
            }
        }
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::nn::Named::name(*self))
            }
        }
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::nn::Named::name(*self))
            }
        }
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                $crate::nn::Named::from_name(&name).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use named;
