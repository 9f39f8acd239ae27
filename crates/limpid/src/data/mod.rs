//! Data: the built-in corpora.

pub mod corpus;
