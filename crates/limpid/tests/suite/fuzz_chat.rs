//! Mutated chat templates, of ten in the style of published ones and of some that mean harm:
//! rendered or refused, never a panic, never long, never much memory.

use crate::fuzz::{never_panics, scratch};
use limpid::generate::chat::{ChatTemplate, Message, RenderOptions};
use std::fs;

const CASES: u64 = 10_000;

/// What doubles, repeats, recurses and compares.
const HARMFUL: [&str; 12] = [
    "{% set x = 'abcdefgh' %}{% set x = x ~ x %}{% set x = x + x %}{% set x = [x, x] %}{{ x }}",
    "{% set ns = namespace(x='ab') %}{% for i in range(999) %}{% set ns.x = ns.x ~ ns.x ~ 'a' %}\
     {% endfor %}{{ ns.x }}",
    "{% macro f(x, n) %}{{ f(x ~ x, n - 1) if n else x }}{% endmacro %}{{ f('abcdef', 40) }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx{% endfor %}{% endfor %}",
    "{% set x %}{% for a in range(999) %}{{ messages | tojson(indent=4) }}{% endfor %}{% endset %}",
    "{{ ('abc' * 9999) | replace('a', 'abc' * 9999) | upper | trim | length }}",
    "{{ [1, 2] | join('x' * 99999) ~ ('%9d' | format(1)) ~ 'y'.join(['a', 'b'] * 99) }}",
    "{% set x = 'a' * 9999999 %}{% for i in range(9999) %}{{ x == x ~ '' and x in x }}{% endfor %}",
    "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | sort \
     | unique | groupby('a') | batch(2) | dictsort }}",
    "{{ (1, 2, [3, {'a': (4, 5)}])[0:2][::-1] ~ 2 ** 9999 ~ 7 // 2 % 3 ~ -1 | abs | round(99) }}",
    "{% for a in [[1, [2]], [3]] recursive %}{{ loop(a) if a is iterable else a }}{{ loop.cycle(1, \
     2) }}{% endfor %}",
    "{{ 'a b c'.split(' ', 1).count('a') ~ 'x'.zfill(99999999) ~ 'x'.ljust(99999999) ~ \
     'x'.center(9999999) ~ strftime_now('%Y%999999d') }}",
];

fn seeds() -> Vec<Vec<u8>> {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/fixtures/chat-templates/cases.json");
    let cases: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let templates = cases["templates"].as_object().unwrap().values();
    let templates = templates.map(|source| source.as_str().unwrap());
    // Harm is short: it is as often as the ten together.
    templates.chain(HARMFUL).map(|source| source.as_bytes().to_vec()).collect()
}

#[test]
fn templates_survive_any_bytes() {
    let messages =
        [Message::system("Be brief."), Message::user("Hello, a b c!"), Message::assistant("x")];
    never_panics("chat template", &seeds(), CASES, |bytes| {
        let source = String::from_utf8_lossy(bytes).into_owned();
        let template = ChatTemplate::new(source).with_special_token("eos_token", "</s>");
        let _ = template.render(&messages, &RenderOptions::default());
    });
}

#[test]
fn files_with_templates_survive_any_bytes() {
    let folder = scratch("chat");
    let path = folder.join("tokenizer_config.json");
    let list = r#"{"chat_template": [{"name": "rag", "template": "r"}, {"name": "default",
        "template": "{{ messages[0].content }}"}], "eos_token": {"content": "</s>"}}"#;
    let key = r#"{"chat_template": "{{ bos_token }}", "bos_token": "<s>", "pad_token": null}"#;
    never_panics("tokenizer_config.json", &[list.into(), key.into()], CASES, |bytes| {
        fs::write(&path, bytes).unwrap();
        if let Ok(template) = ChatTemplate::load(&folder) {
            let _ = template.render(&[Message::user("hi")], &RenderOptions::default());
        }
    });
    fs::remove_dir_all(&folder).unwrap();
}
