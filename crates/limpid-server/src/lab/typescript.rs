//! `api.d.ts`: the page's types, generated from the JSON types of this crate.

use super::types as t;
use std::collections::BTreeMap;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// All types by name.
struct Types(BTreeMap<String, RefOr<Schema>>);

impl Types {
    fn add<T: ToSchema>(mut self) -> Self {
        self.0.insert(T::name().into_owned(), <T as PartialSchema>::schema());
        let mut found = Vec::new();
        T::schemas(&mut found);
        self.0.extend(found);
        self
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "// Generated from crates/limpid-server/src/lab/types by a test: \
             UPDATE_LAB=1 writes it.\n",
        );
        for (name, schema) in &self.0 {
            let RefOr::T(schema) = schema else { continue };
            if let Some(note) = note(schema) {
                text += &format!("\n/** {} */", note.replace("*/", "* /").replace('\n', " "));
            }
            text += &format!("\nexport type {name} = {};\n", typed(schema, ""));
        }
        text
    }
}

fn note(schema: &Schema) -> Option<&str> {
    match schema {
        Schema::Object(object) => object.description.as_deref(),
        Schema::OneOf(one) => one.description.as_deref(),
        Schema::Array(array) => array.description.as_deref(),
        Schema::AllOf(all) => all.description.as_deref(),
        _ => None,
    }
}

fn reference(of: &Ref) -> String {
    of.ref_location.rsplit('/').next().unwrap_or("unknown").to_string()
}

fn any(schema: &RefOr<Schema>, indent: &str) -> String {
    match schema {
        RefOr::Ref(of) => reference(of),
        RefOr::T(schema) => typed(schema, indent),
    }
}

fn basic(kind: &Type) -> &'static str {
    match kind {
        Type::String => "string",
        Type::Integer | Type::Number => "number",
        Type::Boolean => "boolean",
        Type::Null => "null",
        Type::Array => "unknown[]",
        Type::Object => "Record<string, unknown>",
    }
}

fn union(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    // null last, as in the sources.
    parts.sort_by_key(|part| part == "null");
    parts.dedup();
    parts.join(" | ")
}

fn typed(schema: &Schema, indent: &str) -> String {
    let inner = format!("{indent}  ");
    match schema {
        Schema::Array(array) => {
            let items = match &array.items {
                ArrayItems::RefOrSchema(items) => any(items, indent),
                ArrayItems::False if !array.prefix_items.is_empty() => {
                    let items = array.prefix_items.iter().map(|item| typed(item, indent));
                    return nullable(
                        &array.schema_type,
                        format!("[{}]", items.collect::<Vec<_>>().join(", ")),
                    );
                }
                _ => "unknown".into(),
            };
            let items = if items.contains(" | ") { format!("({items})") } else { items };
            nullable(&array.schema_type, format!("{items}[]"))
        }
        Schema::OneOf(one) => union(one.items.iter().map(|item| any(item, indent))),
        Schema::AnyOf(some) => union(some.items.iter().map(|item| any(item, indent))),
        Schema::AllOf(all) => {
            all.items.iter().map(|item| any(item, indent)).collect::<Vec<_>>().join(" & ")
        }
        Schema::Object(object) => {
            if let Some(values) = &object.enum_values {
                return union(values.iter().map(ToString::to_string));
            }
            if !object.properties.is_empty() {
                let mut text = String::from("{\n");
                for (name, property) in &object.properties {
                    if let RefOr::T(schema) = property
                        && let Some(note) = note(schema)
                    {
                        text += &format!("{inner}/** {} */\n", note.replace('\n', " "));
                    }
                    let optional = if object.required.contains(name) { "" } else { "?" };
                    text += &format!("{inner}{name}{optional}: {};\n", any(property, &inner));
                }
                return text + indent + "}";
            }
            if let Some(values) = &object.additional_properties
                && let AdditionalProperties::RefOr(values) = &**values
            {
                return format!("Record<string, {}>", any(values, indent));
            }
            match &object.schema_type {
                SchemaType::Type(kind) => basic(kind).into(),
                SchemaType::Array(kinds) => union(kinds.iter().map(|kind| basic(kind).into())),
                SchemaType::AnyValue => "unknown".into(),
            }
        }
        _ => "unknown".into(),
    }
}

fn nullable(kind: &SchemaType, text: String) -> String {
    match kind {
        SchemaType::Array(kinds) if kinds.contains(&Type::Null) => {
            format!("{text} | null")
        }
        _ => text,
    }
}

fn all() -> Types {
    Types(BTreeMap::new())
        .add::<t::Lab>()
        .add::<t::ModelDetail>()
        .add::<t::Cost>()
        .add::<t::Tokens>()
        .add::<t::TokensRequest>()
        .add::<t::TokenizeRequest>()
        .add::<t::Tokenized>()
        .add::<t::PassRequest>()
        .add::<t::Pass>()
        .add::<t::HeadRoles>()
        .add::<t::LensRequest>()
        .add::<t::Lens>()
        .add::<t::Ablation>()
        .add::<t::AblateAllRequest>()
        .add::<t::HeadEffect>()
        .add::<t::ExplainRequest>()
        .add::<t::Explained>()
        .add::<t::GenerateRequest>()
        .add::<t::Generation>()
        .add::<t::TruthRequest>()
        .add::<t::Truth>()
        .add::<t::BeamsRequest>()
        .add::<t::Beams>()
        .add::<t::FillMaskRequest>()
        .add::<t::FillMask>()
        .add::<t::Runs>()
        .add::<t::RunDetail>()
        .add::<t::Metrics>()
        .add::<t::DemoRequest>()
        .add::<t::Training>()
        .add::<t::TrainRequest>()
        .add::<t::Estimate>()
        .add::<t::Started>()
        .add::<t::FrameRequest>()
        .add::<t::Frame>()
}

/// `UPDATE_LAB=1 cargo test -p limpid-server --lib lab` writes the file.
#[test]
fn the_types_of_the_page_are_those_of_the_lab() {
    let text = all().text();
    let root = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("assets/lab/api.d.ts");
    if std::env::var_os("UPDATE_LAB").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "api.d.ts differs from the types: UPDATE_LAB=1 writes it");
}
