//! A section of a configuration: a struct whose fields are keys.

/// Declares a struct whose fields are the keys of a section, under the same names. `read` takes
/// them from [`Settings`](super::settings::Settings), falling back to `defaults`; `entries` gives
/// them back. Fields behind the semicolon are not keys: they stay as `defaults` has them, resolved
/// by the caller from keys that depend on each other.
macro_rules! section {
    (
        $(#[$attributes:meta])*
        pub struct $name:ident in $section:literal {
            $($(#[$docs:meta])* $field:ident: $type:ty,)*
            $(; $($(#[$more_docs:meta])* $more:ident: $more_type:ty,)*)?
        }
    ) => {
        $(#[$attributes])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$docs])* pub $field: $type,)*
            $($($(#[$more_docs])* pub $more: $more_type,)*)?
        }

        impl $name {
            pub(super) fn read_keys(
                settings: &mut $crate::train::config::settings::Settings,
                defaults: Self,
            ) -> $crate::error::Result<Self> {
                Ok(Self {
                    $($field: settings
                        .get(concat!($section, ".", stringify!($field)))?
                        .unwrap_or(defaults.$field),)*
                    $($($more: defaults.$more,)*)?
                })
            }

            pub(super) fn add_keys(&self, entries: &mut $crate::train::config::Entries) {
                $(entries.add(concat!($section, ".", stringify!($field)), &self.$field);)*
            }
        }
    };
}

pub(super) use section;
