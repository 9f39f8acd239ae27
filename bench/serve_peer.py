#!/usr/bin/env python3
"""A server as its users write it: another library behind FastAPI, for bench/serve.

Requests that wait are computed together: all that have come while the last batch was computed, so
that nothing waits for a batch to fill. Texts of an embedding batch are sorted by length."""

import argparse
import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request


class Batcher:
    """Collects what waits, and computes it in a thread: at most `workers` batches at once."""

    def __init__(self, compute, largest, workers):
        self.compute, self.largest = compute, largest
        self.threads = ThreadPoolExecutor(workers)
        self.workers = workers

    async def start(self):
        self.queue = asyncio.Queue()
        self.tasks = [asyncio.create_task(self.run()) for _ in range(self.workers)]

    async def run(self):
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self.queue.get()]
            while len(batch) < self.largest and not self.queue.empty():
                batch.append(self.queue.get_nowait())
            texts = [text for text, _ in batch]
            try:
                answers = await loop.run_in_executor(self.threads, self.compute, texts)
                for (_, future), answer in zip(batch, answers):
                    if not future.done():
                        future.set_result(answer)
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)

    async def ask(self, text):
        future = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((text, future))
        return await future


def ctranslate2_translation(args):
    import ctranslate2
    from tokenizers import Tokenizer

    from ct2_translate import token_names

    translator = ctranslate2.Translator(
        str(args.converted), inter_threads=args.workers, intra_threads=args.threads)
    config = json.loads((args.model / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    names = token_names(tokenizer, config["vocab_size"])
    ids = {name: i for i, name in enumerate(names)}
    pad = names[config["pad_token_id"]]

    def compute(texts):
        encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
        found = translator.translate_batch(
            [e.tokens for e in encoded], beam_size=1, max_batch_size=64, max_decoding_length=64,
            suppress_sequences=[[pad]], return_scores=False)
        tokens = [[ids[t] for t in f.hypotheses[0]] for f in found]
        return tokenizer.decode_batch(tokens)

    return compute


def onnxruntime_embedding(args):
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(args.converted), options)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()

    def embed(texts):
        encoded = tokenizer.encode_batch(texts)
        inputs = {
            "input_ids": np.array([e.ids for e in encoded]),
            "attention_mask": np.array([e.attention_mask for e in encoded]),
            "token_type_ids": np.array([e.type_ids for e in encoded]),
        }
        hidden = session.run(None, inputs)[0]
        mask = inputs["attention_mask"][..., None].astype(np.float32)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).tolist()

    def compute(texts):
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found = [None] * len(texts)
        for first in range(0, len(order), 8):
            part = order[first:first + 8]
            for i, vector in zip(part, embed([texts[i] for i in part])):
                found[i] = vector
        return found

    return compute


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["translate", "embed"])
    parser.add_argument("model", type=Path)
    parser.add_argument("converted", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--largest", type=int, default=32)
    args = parser.parse_args()
    make = ctranslate2_translation if args.task == "translate" else onnxruntime_embedding
    batcher = Batcher(make(args), args.largest, args.workers)
    app = FastAPI()
    app.router.on_startup.append(batcher.start)

    @app.post("/translate")
    async def translate(request: Request):
        return {"translatedText": await batcher.ask((await request.json())["q"])}

    @app.post("/embed")
    async def embed(request: Request):
        return [await batcher.ask((await request.json())["inputs"])]

    @app.post("/v1/embeddings")
    async def embeddings(request: Request):
        vector = await batcher.ask((await request.json())["input"])
        data = [{"object": "embedding", "index": 0, "embedding": vector}]
        return {"object": "list", "data": data}

    uvicorn.run(app, port=args.port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
