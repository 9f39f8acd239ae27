//! Guards in a template's source: calls of ours wherever a value can grow or cost time.
//!
//! The steps of a template are counted by `minijinja`, but one step can double a text, so steps
//! bound neither memory nor time. Its syntax tree says where that happens:
//!
//! ```text
//! {% set x = x ~ x %}        {% set x = guard((guard((x ~ x)))) %}
//! {% for m in list %}…       {% for m in guard_loop((list), bytes of …) %}…
//! ```
//!
//! `guard` gives its argument back and charges its size to a budget.

use crate::error::{ChatError, TemplateLimit};
use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;
use serde_json::Value;

/// Charges the size of a value.
pub(super) const GUARD: &str = "_limpid_guard";
/// Charges the text in the body of a loop, for each turn.
pub(super) const GUARD_LOOP: &str = "_limpid_guard_loop";

/// Bytes of a template; the longest published ones have some twenty thousand.
const MAX_TEMPLATE: usize = 256 << 10;
/// Bytes between two braces, strings aside: operators nest without limit in the parser.
const MAX_TAG: usize = 4 << 10;
/// Blocks in blocks; the parser has no limit, and an `elif` is a block in the one before it.
const MAX_NESTED: usize = 200;

/// The source with guards.
pub(super) fn guarded(source: &str, syntax: SyntaxConfig) -> Result<String, ChatError> {
    if source.len() > MAX_TEMPLATE {
        return Err(ChatError::TooLong { bytes: source.len(), limit: MAX_TEMPLATE });
    }
    if source.contains(GUARD) {
        let reason = format!("it uses the reserved name {GUARD}");
        return Err(ChatError::Syntax { reason, line: None });
    }
    let source = plain_generation_tags(source)?;
    let tree = machinery::parse(&source, "chat_template", syntax).map_err(syntax_error)?;
    let tree = serde_json::to_value(&tree)
        .map_err(|e| ChatError::Syntax { reason: e.to_string(), line: None })?;
    let mut guards = Guards { source: &source, found: Vec::new() };
    guards.visit(&tree);
    Ok(guards.insert())
}

pub(super) fn syntax_error(error: minijinja::Error) -> ChatError {
    let reason = error.detail().map_or_else(|| error.kind().to_string(), String::from);
    if reason.contains("recursion") {
        return ChatError::Stopped { limit: TemplateLimit::Depth, line: error.line() };
    }
    ChatError::Syntax { reason, line: error.line() }
}

/// `{% generation %}` marks what the model says, for training; here it is a scope of its own. Also
/// refuses tags that are too long.
fn plain_generation_tags(source: &str) -> Result<String, ChatError> {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut blocks: Vec<usize> = Vec::new();
    while let Some(at) = rest.find("{%").into_iter().chain(rest.find("{{")).min() {
        let (before, tag) = rest.split_at(at);
        let close = if tag.starts_with("{%") { "%}" } else { "}}" };
        let end = tag_end(tag, close);
        let line = || source[..source.len() - tag.len()].matches('\n').count() + 1;
        let bytes = outside_strings(&tag[..end]).count();
        if bytes > MAX_TAG {
            return Err(ChatError::TagTooLong { bytes, line: line(), limit: MAX_TAG });
        }
        out.push_str(before);
        let inside = tag[..end].trim_start_matches("{%").trim_end_matches("%}");
        let name = inside.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
        match name.split_whitespace().next().unwrap_or_default() {
            "if" | "for" | "macro" | "call" | "filter" | "with" | "generation" => blocks.push(1),
            "elif" => blocks.iter_mut().last().into_iter().for_each(|block| *block += 1),
            "endset" => {}
            end if end.starts_with("end") => _ = blocks.pop(),
            _ => {}
        }
        if blocks.iter().sum::<usize>() > MAX_NESTED {
            let line = Some(line());
            return Err(ChatError::Stopped { limit: TemplateLimit::Depth, line });
        }
        match name {
            "generation" => out.push_str(&tag[..end].replace("generation", "with")),
            "endgeneration" => out.push_str(&tag[..end].replace("endgeneration", "endwith")),
            _ => out.push_str(&tag[..end]),
        }
        rest = &tag[end..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The bytes of a tag with its closing braces, which do not stand in a string.
fn tag_end(tag: &str, close: &str) -> usize {
    let ends = |(i, _): &(usize, u8)| tag.as_bytes()[*i..].starts_with(close.as_bytes());
    outside_strings(&tag[2..])
        .map(|(i, byte)| (i + 2, byte))
        .find(ends)
        .map_or(tag.len(), |(i, _)| i + close.len())
}

/// The bytes of an expression that are not in a string, and where they are.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let (mut quote, mut escaped) = (None, false);
    text.bytes().enumerate().filter(move |(_, byte)| {
        let outside = quote.is_none();
        match quote {
            _ if std::mem::take(&mut escaped) => {}
            Some(_) if *byte == b'\\' => escaped = true,
            Some(mark) if *byte == mark => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(*byte),
            _ => {}
        }
        outside
    })
}

/// Where guards go.
struct Guards<'a> {
    source: &'a str,
    /// A range of bytes, the name before it and what stands after it.
    found: Vec<(usize, usize, &'static str, String)>,
}

impl Guards<'_> {
    /// Visits a part of the tree and gives the bytes of plain text in it. The tree is `minijinja`'s
    /// as JSON: an expression is `{"expr": kind, "inner": [fields, span]}`.
    fn visit(&mut self, tree: &Value) -> usize {
        let map = match tree {
            Value::Array(items) => return items.iter().map(|item| self.visit(item)).sum(),
            Value::Object(map) => map,
            _ => return 0,
        };
        let fields = map.get("inner").map_or(&Value::Null, |inner| &inner[0]);
        let kind = map.get("expr").or(map.get("stmt")).and_then(Value::as_str).unwrap_or("");
        match kind {
            "BinOp" => match fields["op"].as_str() {
                Some("Add" | "Concat") => {
                    self.guard(tree);
                    return self.visit_chain(tree);
                }
                Some("Mul") => {
                    self.guard(tree);
                    // The compiler would multiply constants at once.
                    self.guard_operand(&fields["left"], true);
                }
                // Comparisons read all of both sides.
                Some("Eq" | "Ne" | "Lt" | "Lte" | "Gt" | "Gte" | "In") => {
                    self.guard(&fields["left"]);
                    self.guard(&fields["right"]);
                }
                _ => {}
            },
            "List" | "Map" | "Tuple" | "Call" => self.guard(tree),
            "Filter" => self.guard(&fields["expr"]),
            "Test" if fields["args"].as_array().is_some_and(|args| !args.is_empty()) => {
                self.guard(&fields["expr"]);
            }
            "Compare" => {
                self.guard(&fields["expr"]);
                let operands = fields["ops"].as_array().into_iter().flatten();
                operands.for_each(|operand| self.guard(&operand["expr"]));
            }
            "Set" => self.guard(&fields["expr"]),
            "EmitRaw" => return fields["raw"].as_str().map_or(0, str::len),
            "ForLoop" => return self.visit_loop(fields),
            "WithBlock" => {
                let assigned = fields["assignments"].as_array().into_iter().flatten();
                assigned.for_each(|pair| _ = self.visit(&pair[1]));
                return self.visit(&fields["body"]);
            }
            _ => {}
        }
        // What is assigned to is no value.
        let parts = map.iter().filter(|(key, _)| *key != "target");
        parts.map(|(_, part)| self.visit(part)).sum()
    }

    /// The operands of a + b + c: with each charged, the sums in between need no guards, which
    /// would nest deeper than the parser allows.
    fn visit_chain(&mut self, tree: &Value) -> usize {
        let fields = &tree["inner"][0];
        match (tree["expr"].as_str(), fields["op"].as_str()) {
            (Some("BinOp"), Some("Add" | "Concat")) => {
                self.visit_chain(&fields["left"]);
                self.guard(&fields["right"]);
                self.visit(&fields["right"])
            }
            _ => {
                self.guard(tree);
                self.visit(tree)
            }
        }
    }

    fn visit_loop(&mut self, fields: &Value) -> usize {
        let place = self.found.len();
        let body = self.visit(&fields["body"]);
        // The guard of the loop stands outside those of its expression, but needs the body's size.
        if let Some((from, to)) = span(self.source, &fields["iter"]) {
            let end = format!("), {body})");
            self.found.insert(place, (from, to, GUARD_LOOP, end));
        }
        self.visit(&fields["iter"]);
        self.visit(&fields["filter_expr"]);
        body + self.visit(&fields["else_body"])
    }

    fn guard(&mut self, expression: &Value) {
        self.guard_operand(expression, false);
    }

    fn guard_operand(&mut self, expression: &Value, even_constants: bool) {
        if expression["expr"] == "Const" && !even_constants {
            return;
        }
        if let Some((from, to)) = span(self.source, expression) {
            let there = |found: &(usize, usize, &str, String)| {
                (found.0, found.1) == (from, to) && found.2 == GUARD
            };
            // An expression asks for it as itself and as an operand: both were a moment ago.
            if !self.found.iter().rev().take(4).any(there) {
                self.found.push((from, to, GUARD, "))".into()));
            }
        }
    }

    /// The source with the guards: an outer one is found before those inside it.
    fn insert(&self) -> String {
        let source = self.source;
        let mut places: Vec<(usize, bool, isize, String)> = Vec::new();
        for (i, (from, to, name, end)) in self.found.iter().enumerate() {
            // Ends come before beginnings, the inner end first, the outer beginning first.
            places.push((*from, true, i as isize, format!("{name}((")));
            places.push((*to, false, -(i as isize), end.clone()));
        }
        places.sort();
        let (mut out, mut at) = (String::with_capacity(2 * source.len()), 0);
        for (place, _, _, text) in places {
            out.push_str(source.get(at..place).unwrap_or_default());
            out.push_str(&text);
            at = place;
        }
        out.push_str(source.get(at..).unwrap_or_default());
        out
    }
}

/// The bytes of an expression in the source. The parser's span of `(a)|f` or `a.b.c` begins late:
/// its first operand says where it begins, and brackets that close say how many open before that.
fn span(source: &str, expression: &Value) -> Option<(usize, usize)> {
    expression.get("expr")?;
    let end = expression["inner"][1]["end_offset"].as_u64()? as usize;
    let mut start = leftmost(expression)? as usize;
    let (mut open, mut missing) = (0, 0);
    for (_, byte) in outside_strings(source.get(start..end)?) {
        match byte {
            b'(' => open += 1,
            b')' if open == 0 => missing += 1,
            b')' => open -= 1,
            _ => {}
        }
    }
    for _ in 0..missing {
        start = source[..start].rfind('(')?;
    }
    Some((start, end))
}

/// Where the first part of an expression begins.
fn leftmost(tree: &Value) -> Option<u64> {
    match tree {
        Value::Array(items) => items.iter().filter_map(leftmost).min(),
        Value::Object(map) => {
            let own = map.get("inner").and_then(|inner| inner.get(1)?["start_offset"].as_u64());
            // The span of `a if b else c` begins with the token before it.
            let own = own.filter(|_| map.get("expr").is_some_and(|kind| kind != "IfExpr"));
            map.values().filter_map(leftmost).chain(own).min()
        }
        _ => None,
    }
}
