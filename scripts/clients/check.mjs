// Node's clients against the server at LIMPID_URL.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
const OpenAI = require("openai");
const { InferenceClient } = require("@huggingface/inference");
const { LIMPID_URL: url, LIMPID_KEY: key } = process.env;

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const ask = { model: "gpt", prompt: "the cat", max_tokens: 8 };
const text = (await client.completions.create(ask)).choices[0].text;
let streamed = "";
for await (const chunk of await client.completions.create({ ...ask, stream: true })) {
  streamed += chunk.choices[0]?.text ?? "";
}
assert.equal(streamed, text);
const messages = [{ role: "user", content: "the cat" }];
const chat = await client.chat.completions.create({ model: "gpt", messages, max_tokens: 4 });
assert.equal(chat.choices[0].message.role, "assistant");
let said = "";
const replies = await client.chat.completions.create({
  model: "gpt", messages, max_tokens: 4, stream: true });
for await (const chunk of replies) said += chunk.choices[0]?.delta?.content ?? "";
assert.equal(said, chat.choices[0].message.content);
const embedded = await client.embeddings.create({ model: "masked", input: ["the cat", "a dog"] });
assert.equal(embedded.data.length, 2);
assert.equal(embedded.data[0].embedding.length, 16);
await assert.rejects(client.completions.create({ model: "nobody", prompt: "x" }), (error) =>
  error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
await assert.rejects(new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 })
  .models.list(), OpenAI.AuthenticationError);
console.log("openai for Node: passed");

const endpoint = (model) => new InferenceClient(key, { endpointUrl: `${url}/models/${model}` });
const masked = await endpoint("masked").fillMask({ inputs: "the [MASK] sat" });
assert.ok(masked[0].score >= masked[1].score);
const labels = await endpoint("classifier").textClassification({ inputs: "so good" });
assert.equal(labels.length, 2);
const translated = await endpoint("fr-en").translation({ inputs: "il dort ." });
assert.equal(typeof translated.translation_text, "string");
const entities = await endpoint("tagger").tokenClassification({ inputs: "the cat sat" });
assert.ok(Array.isArray(entities));
const answer = await endpoint("answerer").questionAnswering({
  inputs: { question: "who sat ?", context: "the cat sat on the mat ." } });
assert.equal(typeof answer.answer, "string");
const vector = await endpoint("masked/pipeline/feature-extraction")
  .featureExtraction({ inputs: "the cat" });
assert.equal(vector.length, 16);
const near = await endpoint("masked").sentenceSimilarity({
  inputs: { source_sentence: "the cat", sentences: ["the cat", "a dog"] } });
assert.ok(Math.abs(near[0] - 1) < 1e-5);
const generated = await endpoint("gpt").textGeneration({
  inputs: "the cat", parameters: { max_new_tokens: 4 } });
// For an endpoint, this client asks OpenAI's route.
const same = await client.completions.create({ ...ask, max_tokens: 4 });
assert.equal(generated.generated_text, same.choices[0].text);
await assert.rejects(endpoint("gpt").fillMask({ inputs: "the [MASK]" }));
console.log("@huggingface/inference: passed");
