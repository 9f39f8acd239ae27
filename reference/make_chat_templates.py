"""Chat templates in the style of published ones, rendered by transformers' apply_chat_template.

Writes fixtures/chat-templates/cases.json: templates, conversations, and the prompt of each or the
fact that the template refuses it. Messages and variables are JSON in strings: their order counts.

    PYTHONPATH=. HF_HUB_OFFLINE=1 python make_chat_templates.py
"""

import json
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

TEMPLATES = {}

TEMPLATES["chatml"] = """\
{% for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{% endfor %}
{% if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{% endif %}
"""

TEMPLATES["llama2"] = """\
{% if messages[0]['role'] == 'system' %}
    {% set rest = messages[1:] %}
    {% set instructions = messages[0]['content'] %}
{% else %}
    {% set rest = messages %}
    {% set instructions = false %}
{% endif %}
{% for message in rest %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('Roles must alternate: user, assistant, user, ...') }}
    {% endif %}
    {% if loop.index0 == 0 and instructions != false %}
        {% set content = '<<SYS>>\\n' + instructions + '\\n<</SYS>>\\n\\n' + message['content'] %}
    {% else %}
        {% set content = message['content'] %}
    {% endif %}
    {% if message['role'] == 'user' %}
        {{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
    {% elif message['role'] == 'assistant' %}
        {{ ' ' + content.strip() + ' ' + eos_token }}
    {% endif %}
{% endfor %}"""

TEMPLATES["llama3"] = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' -}}
        {{- message['content'] | trim + '<|eot_id|>' }}
    {%- elif message.role == 'tool' or message.role == 'ipython' %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or (message.content is iterable
                and message.content is not string) %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- else %}
        {%- if not message.tool_calls | length == 1 %}
            {{- raise_exception("Only one tool call at a time.") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + "}" }}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

TEMPLATES["mistral"] = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.tool_calls is defined) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("user and assistant must take turns") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + (message["content"] or "")|trim + eos_token }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, not " ~ message.role) }}
    {%- endif %}
{%- endfor %}
"""

TEMPLATES["gemma"] = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}\
{{ raise_exception('System role not supported') }}{% endif %}\
{% for message in messages %}\
{% if (message['role'] == 'assistant') %}{% set role = 'model' %}\
{% else %}{% set role = message['role'] %}{% endif %}\
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}\
{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""

TEMPLATES["zephyr"] = """\
{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{% generation %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endgeneration %}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

TEMPLATES["phi"] = """\
{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}\
{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}\
{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}\
{% elif message['role'] == 'assistant' %}\
{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}\
{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"""

TEMPLATES["qwen"] = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nFunction signatures within <tools></tools> tags:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string
           and not(message.content.startswith('<tool_response>')
                   and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n')
                    .split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and reasoning_content %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') }}
            {{- '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

TEMPLATES["vicuna"] = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% set system = 'A chat between a person and an assistant.' %}
{% if messages[0].role == 'system' %}{% set system = messages[0].content %}\
{% set messages = messages[1:] %}{% endif %}
{{ system + ' ' -}}
{% for message in messages -%}
  {% if message.role not in ['user', 'assistant'] %}{% continue %}{% endif -%}
  {{ message.role.upper() ~ ': ' ~ message.content | trim }}\
{{- ' ' if message.role == 'user' else eos_token -}}
{% endfor %}
{{ 'ASSISTANT:' if add_generation_prompt }}"""

TEMPLATES["tools"] = """\
{%- macro type_of(spec) -%}
    {%- if spec.type == "array" -%}
        list[{{ type_of(spec['items']) }}]
    {%- elif spec.type is not string and spec.type is iterable -%}
        {{ spec.type | join(" | ") }}
    {%- else -%}
        {{ {"string": "str", "integer": "int", "number": "float"}.get(spec.type, "any") }}
    {%- endif -%}
{%- endmacro -%}
{#- Tools as signatures, then the conversation. -#}
{{ bos_token }}[{{ strftime_now("%Y") | length }} digits]
{% if tools %}
# Tools
{% for tool in tools -%}
    {%- set f = tool.function -%}
## {{ f.name.replace('_', ' ').title() }}
{{ f.description | indent(2) }}
{{ f.name }}(
    {%- for name, spec in f.parameters.properties.items() -%}
        {{ name }}: {{ type_of(spec) }}
        {%- if name not in f.parameters.required %} = {{ spec.default | default("none", true) }}\
{% endif %}
        {%- if not loop.last %}, {% endif %}
    {%- endfor -%}
)
{{ f.parameters | tojson(indent=2) }}
{{ f.parameters.properties | dictsort | map("first") | join(",") }}
{% endfor %}
{% endif %}
{% for message in messages %}
{% set who = message.role | capitalize %}
{{ loop.index }}/{{ loop.length }} {{ who }}:
{%- if message.content is string %} {{ message.content | replace("<", "&lt;") }}
{% elif message.content %}
{% for part in message.content if part.type == "text" %} {{ part.text }}{% endfor %}

{% else %} (nothing)
{% endif %}
{% for call in message.tool_calls or [] %}
-> {{ call.function.name }} {{ call.function.arguments | tojson(ensure_ascii=true, sort_keys=true,
    separators=(",", ":")) }}
{% endfor %}
{% if loop.previtem is defined and loop.previtem.role == message.role %}(again)
{% endif %}
{% if message.stop %}{% break %}{% endif %}
{% endfor %}
{{ {"a": [1, 2.5, none, true], "b": "it's"} }} {{ [1, 'x'] + [2] }} {{ 7 // 2 }} {{ 7 / 2 }}
{% if add_generation_prompt %}Assistant:{% endif %}
"""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "The weather.\nOf a place.",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "Zürich, say \"here\" & <there>"},
                    "days": {"type": "array", "items": {"type": "integer"}, "default": []},
                    "scale": {"type": ["string", "null"], "default": 1e-07},
                },
                "required": ["place"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "",
            "parameters": {"type": "object", "properties": {}, "required": []},
        },
    },
]


def message(role, content, **more):
    return {"role": role, "content": content, **more}


CALL = [{"type": "function", "function": {"name": "add", "arguments": {"z": 1, "a": "é\n😀"}}}]

CONVERSATIONS = {
    "one": [message("user", "Hello!")],
    "system": [message("system", "Be brief. "), message("user", "  Who are you?\n")],
    "turns": [
        message("system", "You answer in <b>one</b> word."),
        message("user", "Is it «late»?\n\nSay 'yes' or \"no\"."),
        message("assistant", " Yes.\n"),
        message("user", "日本語 🙂\ttabs and {{ braces }} {% if x %}"),
    ],
    "assistant_last": [
        message("user", "2 + 2?"),
        message("assistant", "<think>\nsum\n</think>\n\n4"),
    ],
    "two_users": [message("user", "a"), message("user", "b")],
    "empty": [message("user", "")],
    "calls": [
        message("user", "Add."),
        message("assistant", None, tool_calls=CALL),
        message("tool", "{\"sum\": 3}"),
        message("assistant", "It is 3."),
        message("user", "Thanks", stop=True),
        message("user", "unread"),
    ],
    "parts": [message("user", [{"type": "text", "text": "see"}, {"type": "image"}])],
}

OPTIONS = {
    "plain": {"add_generation_prompt": True},
    "no_prompt": {"add_generation_prompt": False},
    "tools": {"add_generation_prompt": True, "tools": TOOLS},
    "more": {"add_generation_prompt": True, "enable_thinking": False, "date_string": "1 Jan 2025"},
}


def main():
    cases = []
    for name, template in TEMPLATES.items():
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(WordLevel({"<unk>": 0}, unk_token="<unk>")), **TOKENS
        )
        tokenizer.chat_template = template
        for conversation, messages in CONVERSATIONS.items():
            for option, options in OPTIONS.items():
                case = {"template": name, "conversation": conversation, "options": option}
                try:
                    case["prompt"] = tokenizer.apply_chat_template(
                        messages, tokenize=False, **options
                    )
                except Exception as e:  # noqa: BLE001: a template may fail in any way
                    case["error"] = f"{type(e).__name__}: {e}"
                cases.append(case)
    out = Path(__file__).parent / "fixtures" / "chat-templates"
    out.mkdir(parents=True, exist_ok=True)
    dumps = lambda value: json.dumps(value, ensure_ascii=False)  # noqa: E731
    text = {
        "special_tokens": TOKENS,
        "templates": TEMPLATES,
        "conversations": {name: [dumps(m) for m in all] for name, all in CONVERSATIONS.items()},
        "options": {
            name: {key: dumps(value) for key, value in all.items()}
            for name, all in OPTIONS.items()
        },
        "cases": cases,
    }
    json_text = json.dumps(text, ensure_ascii=False, indent=1)
    (out / "cases.json").write_text(json_text + "\n", encoding="utf-8")
    failed = sum("error" in case for case in cases)
    print(f"{len(cases)} cases, {failed} of them refused")


if __name__ == "__main__":
    main()
