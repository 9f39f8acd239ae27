"""Every endpoint through a real client, against the server at LIMPID_URL."""

import json
import os
import subprocess

import httpx
import numpy as np
import openai
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_openai import OpenAI as LangchainOpenAI
from libretranslatepy import LibreTranslateAPI
from tei_client import HttpClient

url, key = os.environ["LIMPID_URL"], os.environ["LIMPID_KEY"]
limpid, models = os.environ["LIMPID_BIN"], os.environ["LIMPID_MODELS"]
TEXT, OTHER = "the cat sat on the mat .", "a dog ran over the hill"


def command(*arguments):
    """What the command line answers."""
    done = subprocess.run([limpid, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def fails(expected, call):
    """The error that a call must raise."""
    try:
        call()
    except expected as error:
        return error
    raise AssertionError(f"expected {expected}")


def openai_models_and_completions():
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    names = [model.id for model in client.models.list()]
    assert names == ["gpt", "fr-en", "masked", "classifier", "reranker", "tagger", "answerer"]
    assert client.models.retrieve("gpt").object == "model"

    alone = command("generate", f"{models}/gpt", "--prompt", "the cat", "--max-new-tokens", "12",
                    "--json")
    alone = json.loads(alone.splitlines()[0])
    text = client.completions.create(model="gpt", prompt="the cat", max_tokens=12)
    assert text.choices[0].text == alone["text"], (text, alone)
    assert text.usage.completion_tokens <= 12 and text.system_fingerprint.startswith("fp_")
    stream = client.completions.create(
        model="gpt", prompt="the cat", max_tokens=12, stream=True,
        stream_options={"include_usage": True})
    chunks = list(stream)
    streamed = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    assert streamed == text.choices[0].text
    assert chunks[-1].usage.total_tokens == text.usage.total_tokens
    several = client.completions.create(
        model="gpt", prompt=["the cat", "a dog"], max_tokens=5, n=2, temperature=0.8, seed=1,
        logprobs=2)
    assert [choice.index for choice in several.choices] == [0, 1, 2, 3]
    assert len(several.choices[0].logprobs.tokens) > 0
    echo = client.completions.create(
        model="gpt", prompt=TEXT, max_tokens=1, echo=True, logprobs=1)
    assert echo.choices[0].text.startswith(TEXT)
    assert echo.choices[0].logprobs.token_logprobs[0] is None
    inside = client.completions.create(
        model="gpt", prompt=TEXT, max_tokens=2,
        extra_body={"inspect": {"logit_lens": 3, "attention": True}})
    assert len(inside.inspect[0]["logit_lens"]["layers"]) == 3


def openai_chat_and_embeddings():
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    messages = [{"role": "user", "content": "the cat"}]
    chat = client.chat.completions.create(
        model="gpt", messages=messages, max_completion_tokens=8, logprobs=True, top_logprobs=2)
    stream = client.chat.completions.create(
        model="gpt", messages=messages, max_tokens=8, stream=True)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert said == chat.choices[0].message.content
    assert len(chat.choices[0].logprobs.content[0].top_logprobs) == 2

    # This client asks for base64 and decodes it.
    found = client.embeddings.create(model="masked", input=[TEXT, OTHER])
    plain = client.embeddings.create(
        model="masked", input=[TEXT, OTHER], encoding_format="float")
    for one, other in zip(found.data, plain.data):
        np.testing.assert_allclose(one.embedding, other.embedding, rtol=1e-6)
    short = client.embeddings.create(model="masked", input=TEXT, dimensions=4)
    assert abs(np.linalg.norm(short.data[0].embedding) - 1) < 1e-5


def openai_errors():
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    error = fails(openai.NotFoundError,
                  lambda: client.completions.create(model="nobody", prompt="x"))
    assert error.code == "model_not_found"
    error = fails(openai.BadRequestError,
                  lambda: client.completions.create(model="gpt", prompt="x", presence_penalty=1))
    assert error.param == "presence_penalty"
    fails(openai.BadRequestError, lambda: client.embeddings.create(model="gpt", input="x"))
    fails(openai.BadRequestError,
          lambda: client.chat.completions.create(model="fr-en", messages=[]))
    fails(openai.APIStatusError,
          lambda: client.completions.create(model="gpt", prompt="x", max_tokens=100_000))
    stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.models.list())


def hugging_face():
    def client(model):
        return InferenceClient(model=f"{url}/models/{model}", token=key)

    text = client("gpt").text_generation("the cat", max_new_tokens=6, return_full_text=False)
    assert isinstance(text, str)
    masked = client("masked").fill_mask("the [MASK] sat", top_k=3)
    assert len(masked) == 3 and masked[0].score >= masked[1].score
    labels = client("classifier").text_classification(TEXT)
    assert {label.label for label in labels} == {"good", "bad"}
    assert abs(sum(label.score for label in labels) - 1) < 1e-5
    translated = client("fr-en").translation("il dort sur le tapis .")
    alone = command("translate", f"{models}/fr-en", "il dort sur le tapis .").strip()
    assert translated.translation_text == alone, (translated, alone)
    summary = client("fr-en/pipeline/summarization").summarization("il dort .")
    assert isinstance(summary.summary_text, str)
    vector = client("masked/pipeline/feature-extraction").feature_extraction(TEXT)
    assert abs(np.linalg.norm(vector) - 1) < 1e-5
    near = client("masked").sentence_similarity(TEXT, other_sentences=[TEXT, OTHER])
    assert abs(near[0] - 1) < 1e-5
    alone = command("tag", f"{models}/tagger", TEXT, "--json")
    alone = json.loads(alone.splitlines()[0])["entities"]
    entities = client("tagger").token_classification(TEXT)
    assert [entity.entity_group for entity in entities] == [e["entity_group"] for e in alone]
    assert [entity.start for entity in entities] == [e["start"] for e in alone]
    answer = client("answerer").question_answering("who sat ?", TEXT)
    assert TEXT[answer.start:answer.end] == answer.answer
    several = client("answerer").question_answering("who sat ?", TEXT, top_k=2)
    assert len(several) == 2 and several[0].answer == answer.answer
    chat = InferenceClient(base_url=f"{url}/v1", token=key)
    messages = [{"role": "user", "content": "the cat"}]
    reply = chat.chat_completion(messages, model="gpt", max_tokens=4)
    assert reply.choices[0].message.role == "assistant"
    stream = chat.chat_completion(messages, model="gpt", max_tokens=4, stream=True)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert said == reply.choices[0].message.content
    fails(HfHubHTTPError, lambda: client("classifier/pipeline/fill-mask").fill_mask("x [MASK]"))
    fails(HfHubHTTPError, lambda: client("nobody").fill_mask("x [MASK]"))


def libre_translate():
    api = LibreTranslateAPI(f"{url}/", api_key=key)
    assert {language["code"] for language in api.languages()} == {"en", "fr"}
    assert api.detect("Les enfants jouent dans le jardin.")[0]["language"] == "fr"
    alone = command("translate", f"{models}/fr-en", "il dort .").strip()
    assert api.translate("il dort .", "fr", "en") == alone
    fails(Exception, lambda: api.translate("x", "de", "en"))
    stranger = LibreTranslateAPI(f"{url}/", api_key="wrong")
    fails(Exception, lambda: stranger.translate("il dort .", "fr", "en"))


def langchain():
    embeddings = OpenAIEmbeddings(
        base_url=f"{url}/v1", api_key=key, model="masked", check_embedding_ctx_length=False)
    assert len(embeddings.embed_documents([TEXT, OTHER])) == 2
    model = LangchainOpenAI(
        base_url=f"{url}/v1", api_key=key, model="gpt", max_tokens=5, temperature=0)
    assert "".join(model.stream("the cat")) == model.invoke("the cat")
    chat = ChatOpenAI(base_url=f"{url}/v1", api_key=key, model="gpt", max_tokens=5, temperature=0)
    said = chat.invoke("the cat").content
    assert "".join(chunk.content for chunk in chat.stream("the cat")) == said


def text_embeddings_inference():
    """The routes of TEI, through tei-client; what that has no method for, by plain HTTP."""
    headers = {"Authorization": f"Bearer {key}"}

    def client(model):
        return HttpClient(f"{url}/models/{model}", headers=headers)

    encoder = client("masked")
    assert encoder.health() and encoder.info().server_model_id == "masked"
    vectors = encoder.embed([TEXT, OTHER])
    assert len(vectors) == 2 and abs(np.linalg.norm(vectors[0]) - 1) < 1e-5
    tokens = encoder.tokenize(TEXT)[0]
    assert len(encoder.embed_all(TEXT)[0]) == len(tokens.tokens)
    assert encoder.decode(tokens.get_ids()) == [TEXT]
    scores = client("classifier").classify(["so good", ("so", "bad")])
    assert len(scores) == 2 and scores[0].scores[0].score >= 0.5
    ranks = client("reranker").rerank("so good", [TEXT, OTHER])
    alone = command("rerank", f"{models}/reranker", "--query", "so good", TEXT, OTHER, "--json")
    assert ranks.ranks[0].index == json.loads(alone.splitlines()[0])["corpus_id"], (ranks, alone)

    def post(path, body, status=200):
        answer = httpx.post(f"{url}{path}", json=body, headers=headers, timeout=60)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()

    near = post("/similarity", {"inputs": {"source_sentence": TEXT, "sentences": [OTHER]}})
    assert len(near) == 1
    assert post("/embed", {"inputs": []}, 400)["error_type"] == "empty"
    post("/models/gpt/embed", {"inputs": "x"}, 424)


checks = (openai_models_and_completions, openai_chat_and_embeddings, openai_errors, hugging_face,
          libre_translate, langchain, text_embeddings_inference)
for check in checks:
    check()
    print(f"{check.__name__.replace('_', ' ')}: passed", flush=True)
