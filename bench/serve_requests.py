#!/usr/bin/env python3
"""Requests for `limpid bench serve`, each with the answer that the command line gives alone.

    bench/serve_requests.py --translator de-en=MODEL SOURCE --embedder MODEL TEXTS \\
        --generator MODEL TEXTS > requests.jsonl

Any of the three; their requests take turns. LIMPID names another binary than
target/release/limpid. A name of two languages tells what a translator translates."""

import argparse
import itertools
import json
import os
import subprocess
from pathlib import Path

LIMPID = os.environ.get("LIMPID", Path(__file__).resolve().parent.parent / "target/release/limpid")


def alone(*arguments, texts=None):
    """The objects that a command prints."""
    given = None if texts is None else "\n".join(texts) + "\n"
    done = subprocess.run(
        [LIMPID, *arguments], input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(path, body, pointer, value):
    return {"path": path, "body": body, "expect": {"pointer": pointer, "value": value}}


def translations(named, texts, args):
    name, model = named.split("=", 1)
    source, target = name.split("-")[-2:]
    for text, found in zip(texts, alone("translate", model, "--json", texts=texts)):
        body = {"q": text, "source": source, "target": target, "model": name}
        yield request("/translate", body, "/translatedText", found["translation"])


def embeddings(named, texts, args):
    name, model = named.split("=", 1)
    for text, found in zip(texts, alone("embed", model, texts=texts)):
        if args.openai:
            body = {"model": name, "input": text}
            yield request("/v1/embeddings", body, "/data/0/embedding", found["embedding"])
        else:
            yield request(f"/models/{name}/embed", {"inputs": text}, "/0", found["embedding"])


def continuations(named, texts, args):
    name, model = named.split("=", 1)
    tokens = args.tokens
    prompts = itertools.chain.from_iterable(("--prompt", text) for text in texts)
    found = alone("generate", model, "--json", "--max-new-tokens", str(tokens), *prompts)
    for text, found in zip(texts, found):
        body = {"model": name, "max_tokens": tokens}
        if args.openai:
            # For a chat template that is the content alone.
            body |= {"messages": [{"role": "user", "content": text}], "temperature": 0}
            pointer = "/choices/0/message/content"
            yield request("/v1/chat/completions", body, pointer, found["text"])
        else:
            body |= {"prompt": text}
            yield request("/v1/completions", body, "/choices/0/text", found["text"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = {"translator": translations, "embedder": embeddings, "generator": continuations}
    for kind in kinds:
        parser.add_argument(f"--{kind}", nargs=2, metavar=("NAME=MODEL", "TEXTS"))
    parser.add_argument("--lines", type=int, default=500, help="lines of each file")
    parser.add_argument("--tokens", type=int, default=16, help="new tokens of a continuation")
    parser.add_argument("--openai", action="store_true", help="OpenAI's routes for all but texts to"
                        " translate, as other servers have them")
    args = parser.parse_args()
    all = []
    for kind, make in kinds.items():
        if chosen := getattr(args, kind):
            lines = Path(chosen[1]).read_text(encoding="utf-8").splitlines()
            texts = [line for line in lines if line.strip()][:args.lines]
            all.append(make(chosen[0], texts, args))
    for turn in itertools.zip_longest(*all):
        for found in turn:
            if found:
                print(json.dumps(found, ensure_ascii=False))


if __name__ == "__main__":
    main()
