//! A section of a configuration: values that stand under keys. What has keys names them once, for
//! reading and for writing alike.

use super::Entries;
use super::settings::Settings;
use super::value::Setting;
use crate::error::Result;
use std::path::PathBuf;

/// What happens to the value of each key.
pub(super) enum Keys<'a> {
    /// It is read, if the key is set.
    Read(&'a mut Settings),
    /// It is listed.
    List(&'a mut Entries),
    /// Its paths are changed.
    Paths(&'a mut dyn FnMut(&mut PathBuf)),
}

impl Keys<'_> {
    /// The value of a key.
    pub(super) fn key<T: Setting>(&mut self, key: &'static str, value: &mut T) -> Result<()> {
        match self {
            Keys::Read(settings) => {
                if let Some(found) = settings.get(key)? {
                    *value = found;
                }
            }
            Keys::List(entries) => entries.add(key, value),
            Keys::Paths(change) => value.each_path(*change),
        }
        Ok(())
    }

    /// The value of a key that has an effect only in some runs.
    pub(super) fn key_if<T: Setting>(
        &mut self,
        has_effect: bool,
        key: &'static str,
        value: &mut T,
    ) -> Result<()> {
        if has_effect { self.key(key, value) } else { Ok(()) }
    }
}

/// Values that stand under keys.
pub(super) trait Section {
    /// Visits every key that has an effect, in an order in which a key comes after those that
    /// decide whether it has one. Only reading can fail.
    fn keys(&mut self, keys: &mut Keys) -> Result<()>;

    /// Reads the keys that are set; `self` has the defaults.
    fn read(mut self, settings: &mut Settings) -> Result<Self>
    where
        Self: Sized,
    {
        self.keys(&mut Keys::Read(settings))?;
        Ok(self)
    }

    /// The keys with their values.
    fn list(&self) -> Entries
    where
        Self: Clone,
    {
        let mut entries = Entries::default();
        self.clone().keys(&mut Keys::List(&mut entries)).expect("only reading can fail");
        entries
    }
}

/// Declares a struct whose fields are the keys of a section, under the same names. Fields behind a
/// semicolon are not: with them the caller implements [`Section`], from `own_keys` and the keys
/// that stand for these fields.
macro_rules! section {
    (
        $(#[$attributes:meta])*
        pub struct $name:ident in $section:literal {
            $($(#[$docs:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        section! {
            $(#[$attributes])*
            pub struct $name in $section { $($(#[$docs])* $field: $type,)*; }
        }

        impl $crate::train::config::section::Section for $name {
            fn keys(
                &mut self,
                keys: &mut $crate::train::config::section::Keys,
            ) -> $crate::error::Result<()> {
                self.own_keys(keys)
            }
        }
    };
    (
        $(#[$attributes:meta])*
        pub struct $name:ident in $section:literal {
            $($(#[$docs:meta])* $field:ident: $type:ty,)*
            ;
            $($(#[$more_docs:meta])* $more:ident: $more_type:ty,)*
        }
    ) => {
        $(#[$attributes])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$docs])* pub $field: $type,)*
            $($(#[$more_docs])* pub $more: $more_type,)*
        }

        impl $name {
            fn own_keys(
                &mut self,
                keys: &mut $crate::train::config::section::Keys,
            ) -> $crate::error::Result<()> {
                $(keys.key(concat!($section, ".", stringify!($field)), &mut self.$field)?;)*
                Ok(())
            }
        }
    };
}

pub(super) use section;
