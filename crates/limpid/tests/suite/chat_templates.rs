//! Chat templates against `apply_chat_template` of `transformers`
//! (`reference/make_chat_templates.py`), and templates that mean harm.

use limpid::error::{ChatError, Error, TemplateLimit};
use limpid::generate::chat::{ChatTemplate, Message, PromptEnd, RenderOptions, Variable};
use serde_json::Value;

fn fixture() -> Value {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/fixtures/chat-templates/cases.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn template(fixture: &Value, name: &str) -> ChatTemplate {
    let template = ChatTemplate::new(fixture["templates"][name].as_str().unwrap());
    let tokens = fixture["special_tokens"].as_object().unwrap();
    tokens.iter().fold(template, |template, (role, token)| {
        template.with_special_token(role, token.as_str().unwrap())
    })
}

fn render(source: &str) -> Result<String, ChatError> {
    let rendered =
        ChatTemplate::new(source).render(&[Message::user("hello")], &RenderOptions::default());
    rendered.map_err(|error| match error {
        Error::Chat(error) => error,
        error => panic!("{error}"),
    })
}

#[test]
fn ten_templates_render_as_transformers_renders_them() {
    let fixture = fixture();
    assert_eq!(fixture["templates"].as_object().unwrap().len(), 10);
    let (mut rendered, mut wrong) = (0, Vec::new());
    for case in fixture["cases"].as_array().unwrap() {
        let [name, conversation, option] =
            ["template", "conversation", "options"].map(|key| case[key].as_str().unwrap());
        let messages = fixture["conversations"][conversation].as_array().unwrap().iter();
        let messages: Vec<Message> =
            messages.map(|json| Message::from_json(json.as_str().unwrap()).unwrap()).collect();
        let mut options = RenderOptions::default();
        for (key, json) in fixture["options"][option].as_object().unwrap() {
            match (key.as_str(), json.as_str().unwrap()) {
                ("add_generation_prompt", "false") => options.end = PromptEnd::Message,
                ("add_generation_prompt", _) => options.end = PromptEnd::Reply,
                (key, json) => {
                    options.variables.push((key.into(), Variable::from_json(json).unwrap()))
                }
            }
        }
        let found = template(&fixture, name).render(&messages, &options);
        match (case["prompt"].as_str(), found) {
            (Some(want), Ok(found)) if found == want => rendered += 1,
            (None, Err(_)) => rendered += 1,
            (want, found) => {
                wrong.push(format!("{name}/{conversation}/{option}\n{want:?}\n{found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(rendered, 320);
}

#[test]
fn a_template_that_refuses_a_conversation_says_why() {
    let template = template(&fixture(), "gemma");
    let messages = [Message::system("x"), Message::user("y")];
    let error = template.render(&messages, &RenderOptions::default()).unwrap_err();
    let message = "System role not supported".into();
    assert!(matches!(&error, Error::Chat(found) if *found == ChatError::Refused { message }));
    let error = template.render(&[], &RenderOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Chat(ChatError::Empty)));
}

#[test]
fn templates_that_do_not_end_are_stopped() {
    let nested = "{% for a in range(99999) %}".repeat(4) + &"{% endfor %}".repeat(4);
    for (source, limit) in [
        (nested.as_str(), TemplateLimit::Steps),
        ("{% for i in range(1000000000) %}x{% endfor %}", TemplateLimit::Steps),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", TemplateLimit::Depth),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", TemplateLimit::Depth),
        (
            "{% macro f(n) %}{% for i in range(9) %}{{ f(n) if n else '' }}{% endfor %}{% endmacro \
             %}{% for i in range(99999) %}{% set x = f(0) %}{% endfor %}",
            TemplateLimit::Steps,
        ),
    ] {
        match render(source) {
            Err(ChatError::Stopped { limit: found, .. }) if found == limit => {}
            found => panic!("{source}: {found:?}"),
        }
    }
}

#[test]
fn templates_that_fill_the_memory_are_stopped() {
    let doubling = |set: &str| format!("{{% set x = 'abcdefgh' %}}{}", set.repeat(60));
    let calls = "{% macro f(x, n) %}{{ f(x ~ x, n - 1) if n }}{% endmacro %}{{ f('abcdef', 40) }}";
    let body = format!("{}{}{}", "{% for a in range(99999) %}", "x".repeat(9000), "{% endfor %}");
    for source in [
        doubling("{% set x = x ~ x %}"),
        doubling("{% set x = x + x %}"),
        doubling("{% set x = [x, x] %}") + "{{ x }}",
        doubling("{% set x = (x, x) %}") + "{{ x ~ '' }}",
        doubling("{% set x = {'a': x, 'b': x} %}") + "{{ x | tojson }}",
        doubling("{% set x = [x, x] | join(x | string) %}"),
        doubling("{% set x = x | replace('a', x) %}"),
        doubling("{% set x = x.replace('a', x) %}"),
        doubling("{% set x = x.join([x, x, x]) %}"),
        doubling("{% set x %}{{ x }}{{ x }}{% endset %}"),
        doubling("{% set ns = namespace(x=x) %}{% set ns.x = ns.x ~ ns.x %}{% set x = ns.x %}"),
        "{% with a = 'abcdefgh' %}".to_string()
            + &"{% with a = a ~ a %}".repeat(60)
            + &"{% endwith %}".repeat(61),
        calls.to_string(),
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}".into(),
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns ~ '' }}".into(),
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns | tojson }}".into(),
        "{% set ns = namespace(a=[]) %}{% for i in range(9999) %}{% set ns.a = [ns.a] %}{% endfor \
         %}"
        .into(),
        "{{ 'abc' * 999999999999 }}".into(),
        format!("{{{{ [{}] }}}}", ["'abcdefgh' * 9999999"; 99].join(", ")),
        "{% set x = 'a' * 9999999 %}{% for i in range(99999) %}{{ x == x ~ '' }}{% endfor %}"
            .into(),
        "{% set x = 'a' * 9999999 %}{% for i in range(99999) %}{% if x | upper %}{% endif %}\
         {% endfor %}"
            .into(),
        body.clone(),
        format!("{{% set x %}}{body}{{% endset %}}"),
        "{{ 'a' | indent(999999999) }}".into(),
        "{{ '%999999999d' | format(1) }}".into(),
        "{{ '{:999999999}'.format(1) }}".into(),
    ] {
        let start = &source[..source.len().min(100)];
        match render(&source) {
            Err(ChatError::Stopped { .. } | ChatError::Failed { .. }) => {}
            found => panic!("{start}: {:?}", found.map(|text| text.len())),
        }
    }
}

#[test]
fn templates_that_are_too_large_or_too_deep_are_refused() {
    let terms = |n: usize| format!("{{{{ 1{} }}}}", " + 1".repeat(n));
    assert_eq!(render(&terms(1000)).unwrap(), "1001");
    assert!(matches!(render(&terms(9000)), Err(ChatError::TagTooLong { line: 1, .. })));
    let hidden = terms(9000).replacen("1", "'}}' ~ 1", 1);
    assert!(matches!(render(&hidden), Err(ChatError::TagTooLong { .. })));
    assert!(matches!(render(&"x".repeat(300_000)), Err(ChatError::TooLong { .. })));
    for source in [
        "{{ ".to_string() + &"(".repeat(5000) + "1" + &")".repeat(5000) + " }}",
        "{{ ".to_string() + &"[".repeat(5000) + "1" + &"]".repeat(5000) + " }}",
        "{{ ".to_string() + &"not ".repeat(3000) + "1 }}",
        "{{ ".to_string() + &"-".repeat(9000) + "1 }}",
        "{% if 1 %}".repeat(9000) + &"{% endif %}".repeat(9000),
        "{% if 1 %}".to_string() + &"{% elif 1 %}".repeat(20_000) + "{% endif %}",
        "{{ ".to_string() + &"a.".repeat(5000) + "b }}",
        "{{ x".to_string() + &"|upper".repeat(2000) + " }}",
        "{{ ".to_string() + &"1 if 1 else ".repeat(1000) + "1 }}",
    ] {
        // An answer or an error, but it ends.
        let _ = render(&source);
    }
}

#[test]
fn nothing_but_the_conversation_can_be_reached() {
    for source in [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ undefined_function() }}",
        "{{ messages | no_such_filter }}",
        "{{ 1 / 0 }}",
        "{% for %}",
        "{{ ",
        "{% generation %}",
        "{{ _limpid_guard }}",
        "{{ raise_exception() }}",
        "{{ messages[0].content.split('') }}",
        "{{ undefined.attribute }}",
    ] {
        let found = render(source);
        let typed = matches!(found, Err(ChatError::Failed { .. } | ChatError::Syntax { .. }));
        assert!(typed, "{source}: {found:?}");
    }
}
