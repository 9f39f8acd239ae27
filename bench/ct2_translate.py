#!/usr/bin/env python3
"""Times CTranslate2 on the lines of a file when told to (protocol.py).

The model folder of Limpid is opened with transformers and converted in memory: the same weights.
Tokenization and detokenization are part of the time, as they are for Limpid; loading is not."""

import argparse
import json
import multiprocessing
import tempfile
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

import protocol


def convert(folder, to, compute_type):
    """In a process of its own: what transformers needs is not CTranslate2's memory."""
    import transformers
    from ctranslate2.converters.transformers import BartLoader, MarianMTLoader

    class Loader(MarianMTLoader):
        """Marian's layers, but with a start token that has an embedding of its own."""

        def get_model_spec(self, model):
            model.config.normalize_before = False
            model.config.normalize_embedding = False
            return BartLoader.get_model_spec(self, model)

        def set_decoder(self, spec, decoder):
            BartLoader.set_decoder(self, spec, decoder)

    model = transformers.MarianMTModel.from_pretrained(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = model.config
    names = token_names(tokenizer, config.vocab_size)
    spec = Loader().get_model_spec(model)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.eos_token = names[config.eos_token_id]
    spec.config.unk_token = names[config.pad_token_id]
    spec.config.decoder_start_token = names[config.decoder_start_token_id]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    to.mkdir(parents=True)
    spec.save(str(to))


def token_names(tokenizer, count):
    return [tokenizer.id_to_token(i) or f"<unused {i}>" for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--num-beams", type=int, default=1)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--compute-type", default="float32", choices=["float32", "int8"])
    parser.add_argument("--workers", type=int, default=2, help="each with --threads")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--converted", type=Path, help="keep converted models in this folder")
    parser.add_argument("--out", type=Path, help="write the translations to this file")
    args = parser.parse_args()
    own_mb = protocol.memory_mb("VmRSS")
    with tempfile.TemporaryDirectory() as folder:
        model = (args.converted or Path(folder)) / args.compute_type
        if not model.exists():
            words = (args.model, model, args.compute_type)
            conversion = multiprocessing.get_context("spawn").Process(target=convert, args=words)
            conversion.start()
            conversion.join()
        translator = ctranslate2.Translator(
            str(model),
            compute_type=args.compute_type,
            inter_threads=args.workers,
            intra_threads=args.threads,
        )
    config = json.loads((args.model / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    names = token_names(tokenizer, config["vocab_size"])
    pad = names[config["pad_token_id"]]
    texts = args.texts.read_text().splitlines()[: args.lines]
    ids = {name: i for i, name in enumerate(names)}

    def translate(texts):
        encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
        found = translator.translate_batch(
            [e.tokens for e in encoded],
            beam_size=args.num_beams,
            max_batch_size=128,
            max_decoding_length=args.max_new_tokens,
            suppress_sequences=[[pad]],
            return_scores=False,
        )
        tokens = [[ids[t] for t in f.hypotheses[0]] for f in found]
        return tokenizer.decode_batch(tokens)

    lines = translate(texts)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")
    turn = iter(())

    def step():
        nonlocal turn
        if not args.one_by_one:
            return translate(texts) and None
        text = next(turn, None)
        if text is None:
            turn = iter(texts)
            text = next(turn)
        translate([text])

    version = f"ctranslate2 {ctranslate2.__version__}"
    threads = args.workers * args.threads
    about = {"version": version, "threads": threads, "own_mb": own_mb}
    protocol.serve(step, about)


if __name__ == "__main__":
    main()
