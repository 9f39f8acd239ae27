"""The facade: what it gives, that numpy agrees, and what it says about mistakes."""

import threading
import time

import limpid
import numpy as np
import pytest


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_a_stream_is_the_text_in_pieces_and_a_seed_repeats_it(gpt):
    generator = limpid.Generator(gpt)
    options = {"temperature": 0.9, "top_p": 0.95, "seed": 7, "max_new_tokens": 20}
    text = generator.generate("the ", **options)
    pieces = list(generator.stream("the ", **options))
    assert len(pieces) > 1 and "".join(pieces) == text
    assert generator.generate("the ", **options) == text
    limpid.set_threads(1)
    assert generator.generate("the ", **options) == text
    limpid.set_threads(2)


def test_beams_come_best_first_with_tokens_and_reasons(gpt):
    generator = limpid.Generator(gpt)
    prompts = ["the cat", "a dog"]
    found = generator.generate_all(prompts, num_beams=3, num_return_sequences=2, max_new_tokens=8)
    assert [len(best) for best in found] == [2, 2]
    for first, second in found:
        assert first.score >= second.score
        assert first.finish_reason in ("eos_token", "length")
        assert first.tokens.dtype == np.uint32
        assert generator.tokenizer.decode(first.tokens) == first.text


def test_greedy_tokens_are_the_largest_logits(gpt):
    generator = limpid.Generator(gpt)
    ids = generator.tokenizer.encode("the cat sat")
    (found,), = generator.generate_all(["the cat sat"], temperature=0, max_new_tokens=6)
    for token in found.tokens:
        logits = generator.logits(ids)
        assert logits.shape == (len(ids), generator.vocab_size) and logits.dtype == np.float32
        assert logits[-1].argmax() == token
        ids = np.append(ids, token).astype(np.uint32)
    assert (generator.logits(ids.tolist()) == generator.logits(ids)).all()
    assert (generator.logits(ids[::2]) == generator.logits(ids[::2].tolist())).all()


def test_parameters_are_views_that_cannot_be_written_and_outlive_the_model(gpt):
    generator = limpid.Generator(gpt)
    parameters = generator.parameters()
    assert sum(array.size for array in parameters.values()) == generator.num_parameters
    name, array = max(parameters.items(), key=lambda item: item[1].size)
    with pytest.raises(ValueError):
        array[...] = 0
    with pytest.raises(ValueError):
        array.flags.writeable = True
    again = generator.parameters()[name]
    assert again.ctypes.data == array.ctypes.data and not array.flags.owndata
    before = array.copy()
    del generator, parameters, again
    limpid.Generator(gpt).generate("the", max_new_tokens=4)
    assert (array == before).all()


def test_logits_are_those_of_the_parameters_computed_by_numpy(gpt):
    generator = limpid.Generator(gpt)
    p = generator.parameters()
    ids = generator.tokenizer.encode("the cat sat on the mat")
    heads, n = 2, len(ids)

    def linear(x, name):
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)
        return x / scale * p[name + ".weight"] + p[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    x = p["token_embedding.weight"][ids] + p["position_embedding.weight"][:n]
    mask = np.triu(np.full((n, n), -np.inf), 1)
    attention = generator.attention("the cat sat on the mat")
    assert "".join(attention.tokens) and len(attention.layers) == 2
    for i, layer in enumerate(attention.layers):
        qkv = linear(norm(x, f"layers.{i}.attention_norm"), f"layers.{i}.self_attention.qkv")
        q, k, v = (part.reshape(n, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, 1))
        weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + mask)
        assert layer.name == "self_attention" and layer.layer == i
        assert np.abs(layer.weights - weights).max() < 1e-5
        mixed = (weights @ v).transpose(1, 0, 2).reshape(n, -1)
        x = x + linear(mixed, f"layers.{i}.self_attention.out")
        up = gelu(linear(norm(x, f"layers.{i}.ffn_norm"), f"layers.{i}.ffn.up"))
        x = x + linear(up, f"layers.{i}.ffn.down")
    want = norm(x, "final_norm") @ p["token_embedding.weight"].T
    got = generator.logits(ids)
    assert np.abs(got - want).max() < 1e-4
    lens = generator.logit_lens("the cat sat on the mat", top=3)
    assert (len(lens), len(lens[0]), len(lens[0][0])) == (3, n, 3)
    token, log_probability = lens[-1][-1][0]
    assert token == generator.tokenizer.token(int(want[-1].argmax()))
    assert abs(np.log(softmax(want[-1])).max() - log_probability) < 1e-4


def test_the_gil_is_released_while_a_model_works(gpt):
    generator = limpid.Generator(gpt)
    counted, done = 0, threading.Event()

    def work():
        generator.generate_all(["the"] * 400, max_new_tokens=28, num_beams=4)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    start = time.perf_counter()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    seconds = time.perf_counter() - start
    thread.join()
    # Had the call held the GIL, this thread would not have counted.
    assert counted > 3 and seconds > 0.01, (counted, seconds)


def test_a_stream_that_is_given_up_ends_its_thread_and_threads_share_a_model(gpt):
    generator = limpid.Generator(gpt)
    next(generator.stream("the", max_new_tokens=28))
    want = generator.generate("the", max_new_tokens=12)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(generator.generate("the", max_new_tokens=12)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 4


def test_translations_have_attention_and_alignment(translator):
    model = limpid.Translator(translator)
    assert model.translate("le chat dort") == "the cat sleeps"
    assert model.translate(["le chien court", ""]) == ["the dog runs", ""]
    assert model.translate("le chat dort", prefix="the dog").startswith("the dog")
    best = model.translate_all(["le chat dort"], num_beams=3, num_return_sequences=3)[0]
    assert len(best) == 3 and best[0].text == "the cat sleeps"
    found = model.attention("le chat dort")
    assert found.translation == "the cat sleeps"
    assert found.weights.shape == (len(found.target), len(found.source))
    assert np.allclose(found.weights.sum(axis=1), 1, atol=1e-5)
    text, pairs = model.align("le chat dort")
    assert text == "the cat sleeps" and {target for _, target in pairs} <= {0, 1, 2}


def test_embeddings_are_an_array_of_unit_vectors(bert):
    embedder = limpid.Embedder(bert)
    vectors = embedder.embed(["the cat sat", "a dog ran", "the cat sat"])
    assert vectors.shape == (3, embedder.dimension) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors[0] == vectors[2]).all() and (embedder.embed("the cat sat") == vectors[0]).all()
    assert embedder.embed([]).shape == (0, embedder.dimension)
    longer = limpid.Embedder(bert, normalize=False, pooling="cls").embed("the cat sat")
    assert abs(np.linalg.norm(longer) - 1) > 1e-3
    rows = embedder.attention("the cat sat").layers[0].weights.sum(axis=-1)
    assert np.allclose(rows, 1, atol=1e-5)


def test_masks_are_filled_by_probability(bert):
    model = limpid.FillMask(bert)
    text = f"the cat {model.mask_token} on the mat"
    (mask,) = model.fill(text, top=4)
    assert len(mask) == 4
    assert all(a.probability >= b.probability for a, b in zip(mask, mask[1:]))
    assert mask[0].text == text.replace(model.mask_token, mask[0].token)
    assert len(model.fill([text, text])) == 2


def test_labels_come_with_scores_that_add_up(classifier):
    model = limpid.Classifier(classifier)
    assert sorted(model.labels) == ["negative", "positive"]
    assert model.classify("so good")[0][0] == "positive"
    both = model.classify(["so good", "so bad"])
    assert [labels[0][0] for labels in both] == ["positive", "negative"]
    scores = model.scores(["so good", "so bad"])
    assert scores.shape == (2, 2) and np.allclose(scores.sum(axis=1), 1, atol=1e-6)
    assert scores[0, model.labels.index("positive")] == np.float32(both[0][0][1])


def test_mistakes_are_exceptions_that_say_what_and_where(gpt, bert, tmp_path):
    with pytest.raises(limpid.LimpidError, match="nowhere"):
        limpid.Generator(tmp_path / "nowhere")
    with pytest.raises(limpid.TaskError, match="cannot"):
        limpid.Generator(bert)
    generator = limpid.Generator(gpt)
    with pytest.raises(TypeError, match="temprature"):
        generator.generate("the", temprature=1)
    with pytest.raises(TypeError, match="top_k"):
        generator.generate("the", top_k="many")
    with pytest.raises(limpid.InputError, match="top_p"):
        generator.stream("the", top_p=2.0)
    with pytest.raises(limpid.InputError):
        generator.logits([10_000])
    with pytest.raises(limpid.InputError):
        generator.logits([])
    with pytest.raises(limpid.InputError, match="exceed"):
        generator.logits([1] * 1000)
    with pytest.raises((OverflowError, TypeError)):
        generator.logits([-1])
    with pytest.raises(limpid.InputError):
        limpid.FillMask(bert).fill("no mask here")
    with pytest.raises(TypeError):
        limpid.Embedder(bert).embed([1, 2])
    with pytest.raises(ValueError, match="pooling"):
        limpid.Embedder(bert, pooling="sum")
    assert "Generator" in repr(generator) and str(gpt) in repr(generator)
