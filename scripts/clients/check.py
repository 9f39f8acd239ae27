"""Every endpoint through a real client, against the server at LIMPID_URL."""

import json
import os
import subprocess

import numpy as np
import openai
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from langchain_openai import OpenAI as LangchainOpenAI
from langchain_openai import OpenAIEmbeddings
from libretranslatepy import LibreTranslateAPI

url, key = os.environ["LIMPID_URL"], os.environ["LIMPID_KEY"]
limpid, models = os.environ["LIMPID_BIN"], os.environ["LIMPID_MODELS"]


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


def openai_client():
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    assert [model.id for model in client.models.list()] == ["gpt", "fr-en", "bert", "labels"]
    assert client.models.retrieve("gpt").object == "model"

    alone = command("generate", f"{models}/gpt", "One day", "--max-new-tokens", "12", "--json")
    alone = json.loads(alone.splitlines()[0])
    text = client.completions.create(model="gpt", prompt="One day", max_tokens=12)
    assert text.choices[0].text == alone["text"], (text, alone)
    assert text.usage.completion_tokens <= 12 and text.system_fingerprint.startswith("fp_")
    stream = client.completions.create(
        model="gpt", prompt="One day", max_tokens=12, stream=True,
        stream_options={"include_usage": True})
    chunks = list(stream)
    streamed = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    assert streamed == text.choices[0].text
    assert chunks[-1].usage.total_tokens == text.usage.total_tokens
    several = client.completions.create(
        model="gpt", prompt=["One day", "Tom"], max_tokens=5, n=2, temperature=0.8, seed=1,
        logprobs=2)
    assert [choice.index for choice in several.choices] == [0, 1, 2, 3]
    assert len(several.choices[0].logprobs.tokens) > 0

    messages = [{"role": "user", "content": "One day"}]
    chat = client.chat.completions.create(model="gpt", messages=messages, max_tokens=8)
    stream = client.chat.completions.create(
        model="gpt", messages=messages, max_tokens=8, stream=True)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert said == chat.choices[0].message.content

    # This client asks for base64 and decodes it.
    found = client.embeddings.create(model="bert", input=["One day", "Tom ran"])
    plain = client.embeddings.create(
        model="bert", input=["One day", "Tom ran"], encoding_format="float")
    for one, other in zip(found.data, plain.data):
        np.testing.assert_allclose(one.embedding, other.embedding, rtol=1e-6)
    short = client.embeddings.create(model="bert", input="Tom", dimensions=4)
    assert abs(np.linalg.norm(short.data[0].embedding) - 1) < 1e-5

    error = fails(openai.NotFoundError,
                  lambda: client.completions.create(model="nobody", prompt="x"))
    assert error.code == "model_not_found"
    error = fails(openai.BadRequestError,
                  lambda: client.completions.create(model="gpt", prompt="x", presence_penalty=1))
    assert error.param == "presence_penalty"
    fails(openai.BadRequestError, lambda: client.embeddings.create(model="gpt", input="x"))
    stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.models.list())


def hugging_face():
    def client(model):
        return InferenceClient(model=f"{url}/models/{model}", token=key)

    text = client("gpt").text_generation("One day", max_new_tokens=6, return_full_text=False)
    assert isinstance(text, str)
    masked = client("bert").fill_mask("One day [MASK] ran.", top_k=3)
    assert len(masked) == 3 and masked[0].score >= masked[1].score
    labels = client("labels").text_classification("Tom found a red ball")
    assert {label.label for label in labels} == {"good", "bad"}
    assert abs(sum(label.score for label in labels) - 1) < 1e-5
    translated = client("fr-en").translation("Je suis étudiant")
    alone = command("translate", f"{models}/fr-en", "Je suis étudiant").strip()
    assert translated.translation_text == alone, (translated, alone)
    assert isinstance(client("fr-en/pipeline/summarization").summarization("Je suis"), object)
    vector = client("bert").feature_extraction("One day")
    assert vector.ndim == 1 and abs(np.linalg.norm(vector) - 1) < 1e-5
    near = client("bert").sentence_similarity("One day", other_sentences=["One day", "Tom"])
    assert abs(near[0] - 1) < 1e-5
    chat = InferenceClient(base_url=f"{url}/v1", token=key)
    reply = chat.chat_completion([{"role": "user", "content": "Tom"}], model="gpt", max_tokens=4)
    assert reply.choices[0].message.role == "assistant"
    fails(HfHubHTTPError, lambda: client("labels").fill_mask("x [MASK]"))


def libre_translate():
    api = LibreTranslateAPI(f"{url}/", api_key=key)
    assert {language["code"] for language in api.languages()} == {"en", "fr"}
    assert api.detect("Les enfants jouent dans le jardin.")[0]["language"] == "fr"
    alone = command("translate", f"{models}/fr-en", "Je suis étudiant").strip()
    assert api.translate("Je suis étudiant", "fr", "en") == alone
    fails(Exception, lambda: api.translate("x", "de", "en"))


def langchain():
    embeddings = OpenAIEmbeddings(
        base_url=f"{url}/v1", api_key=key, model="bert", check_embedding_ctx_length=False)
    assert len(embeddings.embed_documents(["One day", "Tom"])) == 2
    model = LangchainOpenAI(
        base_url=f"{url}/v1", api_key=key, model="gpt", max_tokens=5, temperature=0)
    assert isinstance(model.invoke("One day"), str)
    assert "".join(model.stream("One day")) == model.invoke("One day")


for check in (openai_client, hugging_face, libre_translate, langchain):
    check()
    print(f"{check.__name__}: passed")
