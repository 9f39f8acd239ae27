// What llama.cpp makes of a GGUF file: reads requests from standard input, one JSON object per
// line, and answers each with one line.
//   {"model": path, "ids": [...], "steps": n}   -> {"ids": [...]}      greedy continuation
//   {"model": path, "ids": [...], "logits": 1}  -> {"logits": [...]}   of the next token
//   {"model": path, "text": "..."}              -> {"tokens": [...]}   without special tokens
//   {"model": path, "embed": "..."}             -> {"embedding": [...]}
import readline from "node:readline";
import {getLlama} from "node-llama-cpp";

const options = {build: "never", gpu: false, logLevel: "error", skipDownload: true, maxThreads: 1};
const llama = await getLlama(options);
const models = new Map();

async function open(path) {
    if (!models.has(path)) models.set(path, await llama.loadModel({modelPath: path, useMmap: false}));
    return models.get(path);
}

async function answer(request) {
    const model = await open(request.model);
    if (request.embed !== undefined) {
        const context = await model.createEmbeddingContext({threads: 1});
        const {vector} = await context.getEmbeddingFor(request.embed);
        await context.dispose();
        return {embedding: vector};
    }
    if (request.text !== undefined) return {tokens: model.tokenize(request.text)};
    // The cache is of f16 otherwise, and rounds keys and values.
    const cache = {experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32"};
    const settings = {contextSize: 128, threads: 1, flashAttention: false, ...cache};
    const context = await model.createContext(settings);
    const sequence = context.getSequence();
    if (request.logits) {
        const last = [request.ids.at(-1), {generateNext: {logits: true}}];
        const found = await sequence.controlledEvaluate([...request.ids.slice(0, -1), last]);
        await context.dispose();
        const logits = [];
        for (const [id, logit] of found.at(-1).next.logits) logits[id] = logit;
        return {logits};
    }
    const ids = [];
    const sampling = {temperature: 0, yieldEogToken: true};
    for await (const id of sequence.evaluate(request.ids, sampling)) {
        ids.push(id);
        if (ids.length >= request.steps) break;
    }
    await context.dispose();
    return {ids};
}

for await (const line of readline.createInterface({input: process.stdin})) {
    let found;
    try {
        found = await answer(JSON.parse(line));
    } catch (error) {
        found = {error: String(error)};
    }
    console.log(JSON.stringify(found));
}
process.exit(0);
