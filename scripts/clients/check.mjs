// Node's clients against the server at LIMPID_URL.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
const OpenAI = require("openai");
const { InferenceClient } = require("@huggingface/inference");
const { LIMPID_URL: url, LIMPID_KEY: key } = process.env;

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const ask = { model: "gpt", prompt: "One day", max_tokens: 8 };
const text = (await client.completions.create(ask)).choices[0].text;
let streamed = "";
for await (const chunk of await client.completions.create({ ...ask, stream: true })) {
  streamed += chunk.choices[0]?.text ?? "";
}
assert.equal(streamed, text);
const messages = [{ role: "user", content: "One day" }];
const chat = await client.chat.completions.create({ model: "gpt", messages, max_tokens: 4 });
assert.equal(chat.choices[0].message.role, "assistant");
const embedded = await client.embeddings.create({ model: "bert", input: ["One day", "Tom"] });
assert.equal(embedded.data.length, 2);
await assert.rejects(client.completions.create({ model: "nobody", prompt: "x" }), (error) =>
  error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
console.log("openai for Node: passed");

const endpoint = (model) => new InferenceClient(key, { endpointUrl: `${url}/models/${model}` });
const masked = await endpoint("bert").fillMask({ inputs: "One day [MASK] ran." });
assert.ok(masked[0].score >= masked[1].score);
const labels = await endpoint("labels").textClassification({ inputs: "Tom found a red ball" });
assert.equal(labels.length, 2);
const translated = await endpoint("fr-en").translation({ inputs: "Je suis étudiant" });
assert.equal(typeof translated.translation_text, "string");
console.log("@huggingface/inference: passed");
