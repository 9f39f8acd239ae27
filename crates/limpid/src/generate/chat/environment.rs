//! The engine that renders a template: what `transformers` sets up in Jinja, with limits.

use super::budget::{self, Budget};
use super::guard::{self, GUARD, GUARD_LOOP};
use super::json::{self, Style};
use super::{ChatTemplate, Message, PromptEnd, RenderOptions, clock, methods};
use crate::error::{ChatError, TemplateLimit};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value, escape_formatter};
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// Steps of a rendering: some thousand times a long conversation's.
const MAX_STEPS: u64 = 2_000_000;
/// Bytes of a prompt.
const MAX_PROMPT: usize = 16 << 20;
/// The parser and the engine recurse: their limits fit into this stack, whatever the caller's is.
const STACK: usize = 256 << 20;

/// What Jinja has not, or what makes much out of little.
const REMOVED_FILTERS: [&str; 9] =
    ["batch", "bool", "chain", "format", "lines", "pprint", "slice", "split", "zip"];

/// Renders in a thread of its own.
pub(super) fn render(
    template: &ChatTemplate,
    messages: &[Message],
    options: &RenderOptions,
) -> Result<String, ChatError> {
    let failed = |reason: String| ChatError::Failed { reason, line: None };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread
            .spawn_scoped(scope, || render_here(template, messages, options))
            .map_err(|e| failed(format!("no thread: {e}")))?;
        thread.join().unwrap_or_else(|_| Err(failed("the engine gave up".into())))
    })
}

fn render_here(
    template: &ChatTemplate,
    messages: &[Message],
    options: &RenderOptions,
) -> Result<String, ChatError> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let syntax = syntax.map_err(guard::syntax_error)?;
    let source = guard::guarded(&template.source, syntax.clone())?;
    let environment = environment(syntax, options.now.unwrap_or_else(SystemTime::now));
    let compiled = environment.template_from_str(&source).map_err(guard::syntax_error)?;
    let mut prompt = Prompt(Vec::new());
    let context = context(template, messages, options);
    compiled.render_captured_to(context, &mut prompt).map_err(chat_error)?;
    String::from_utf8(prompt.0)
        .map_err(|_| ChatError::Failed { reason: "the prompt is not UTF-8".into(), line: None })
}

/// The variables of a template, as `apply_chat_template` sets them.
fn context(template: &ChatTemplate, messages: &[Message], options: &RenderOptions) -> Value {
    let messages: Vec<Value> = messages.iter().map(Message::value).collect();
    let mut variables = vec![
        ("messages".to_string(), Value::from(messages)),
        ("tools".to_string(), Value::from(())),
        ("documents".to_string(), Value::from(())),
        ("add_generation_prompt".to_string(), Value::from(options.end == PromptEnd::Reply)),
    ];
    let tokens = template.special_tokens.iter();
    variables.extend(tokens.map(|(role, token)| (role.clone(), Value::from(token.as_str()))));
    let given = options.variables.iter();
    variables.extend(given.map(|(name, variable)| (name.clone(), variable.value())));
    Value::from_pairs(variables)
}

fn environment(syntax: SyntaxConfig, now: SystemTime) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_fuel(Some(MAX_STEPS));
    for filter in REMOVED_FILTERS {
        environment.remove_filter(filter);
    }
    environment.remove_global("debug");
    let raise = |message: String| Err::<Value, _>(budget::error(ChatError::Refused { message }));
    environment.add_function("raise_exception", raise);
    let strftime = move |format: String| clock::strftime(now, &format);
    environment.add_function("strftime_now", strftime);
    add_limits(&mut environment, &Arc::new(Budget::new()));
    environment
}

/// All that is charged.
fn add_limits(environment: &mut Environment, budget: &Arc<Budget>) {
    let b = budget.clone();
    environment.add_function(GUARD, move |value: Value| b.charge(&value).map(|()| value));
    let b = budget.clone();
    environment.add_function(GUARD_LOOP, move |list: Value, body: usize| {
        let turns = list.len().unwrap_or(0);
        // At least one for each turn; in parts, because a value alone has a limit.
        (0..turns).try_for_each(|_| b.charge_bytes(body + 1)).map(|()| list)
    });
    let b = budget.clone();
    environment.set_formatter(move |out, state, value| {
        b.charge(value)?;
        match f64::try_from(value.clone()) {
            Ok(x) if value.is_number() && !value.is_integer() && x.is_finite() => {
                out.write_str(&json::float(x)).map_err(Error::from)
            }
            _ => escape_formatter(out, state, value),
        }
    });
    let b = budget.clone();
    environment.set_unknown_method_callback(move |state, value, method, args| {
        methods::call(&b, state, value, method, args)
    });
    let b = budget.clone();
    environment.add_filter("replace", move |text: String, old: String, new: String| {
        methods::replace(&b, &text, &old, &new, None)
    });
    let b = budget.clone();
    let join = move |items: Value, by: Option<String>, attribute: Option<String>, more: Kwargs| {
        let by = by.or(more.get("d")?).unwrap_or_default();
        let attribute = attribute.or(more.get("attribute")?);
        more.assert_all_used()?;
        methods::join(&b, &items, &by, attribute.as_deref())
    };
    environment.add_filter("join", join);
    let b = budget.clone();
    environment.add_filter("indent", move |text: String, width: Option<Value>, more: Kwargs| {
        let width = Some(width.unwrap_or(more.get("width").unwrap_or_default()));
        let first = more.get::<Option<bool>>("first")?.unwrap_or(false);
        let blank = more.get::<Option<bool>>("blank")?.unwrap_or(false);
        more.assert_all_used()?;
        let by = indentation(width.filter(|w| !w.is_undefined()))?.unwrap_or("    ".into());
        b.charge_bytes(text.len() + by.len().saturating_mul(text.matches('\n').count() + 1))?;
        Ok::<_, Error>(indent(&text, &by, first, blank))
    });
    let b = budget.clone();
    let to_json = move |value: Value, ascii: Option<bool>, by: Option<Value>, more: Kwargs| {
        let by = by.or(more.get("indent")?);
        let separators: Option<Vec<String>> = more.get("separators")?;
        let style = Style {
            ensure_ascii: ascii.or(more.get("ensure_ascii")?).unwrap_or(false),
            indent: indentation(by)?,
            separators: match separators.as_deref() {
                None => None,
                Some([item, key]) => Some((item.clone(), key.clone())),
                Some(_) => return Err(invalid("separators are two texts")),
            },
            sort_keys: more.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        };
        more.assert_all_used()?;
        json::dumps(&value, &style, &b).map(Value::from)
    };
    environment.add_filter("tojson", to_json);
}

/// What lines are indented by: a number of spaces, or a text.
fn indentation(width: Option<Value>) -> Result<Option<String>, Error> {
    let Some(width) = width.filter(|width| !width.is_none()) else { return Ok(None) };
    match (width.as_str(), width.as_usize()) {
        (Some(text), _) if text.len() <= 64 => Ok(Some(text.into())),
        (None, Some(n)) if n <= 64 => Ok(Some(" ".repeat(n))),
        _ => Err(invalid("lines are indented by 0 to 64 spaces")),
    }
}

/// Jinja's filter: `first` indents the first line, `blank` those without text.
fn indent(text: &str, by: &str, first: bool, blank: bool) -> String {
    let lines = text.split('\n').enumerate().map(|(i, line)| {
        let indented = if i == 0 { first } else { blank || !line.is_empty() };
        if indented { format!("{by}{line}") } else { line.to_string() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The prompt as it is written.
struct Prompt(Vec<u8>);

impl Write for Prompt {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_PROMPT {
            let limit = TemplateLimit::Size;
            return Err(std::io::Error::other(ChatError::Stopped { limit, line: None }));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The engine's error as ours: the one that travelled in it, if there is one.
fn chat_error(error: Error) -> ChatError {
    let line = error.line();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        let io = inner.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let ours = inner.downcast_ref().or_else(|| io?.downcast_ref::<ChatError>());
        match ours {
            Some(ChatError::Stopped { limit, .. }) => {
                return ChatError::Stopped { limit: *limit, line };
            }
            Some(ours) => return ours.clone(),
            None => source = inner.source(),
        }
    }
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let limit = match error.kind() {
        ErrorKind::OutOfFuel => TemplateLimit::Steps,
        _ if reason.contains("recursion limit") => TemplateLimit::Depth,
        _ if reason.contains("too many elements") => TemplateLimit::Steps,
        _ if reason.contains("too large") => TemplateLimit::Size,
        _ => return ChatError::Failed { reason, line },
    };
    ChatError::Stopped { limit, line }
}
