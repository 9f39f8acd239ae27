// What llama.cpp makes of a GGUF file: reads requests from standard input, one JSON object per
// line, and answers each with one line.
//   {"model": path, "ids": [...], "steps": n}   -> {"ids": [...]}      greedy continuation
//   {"model": path, "text": "..."}              -> {"tokens": [...]}   tokenization, special tokens added
//   {"model": path, "embed": "..."}             -> {"embedding": [...]}
import readline from "node:readline";
import {getLlama} from "node-llama-cpp";

const llama = await getLlama({build: "never", gpu: false, logLevel: "error", skipDownload: true});
const models = new Map();

async function open(path) {
    if (!models.has(path)) models.set(path, await llama.loadModel({modelPath: path, useMmap: false}));
    return models.get(path);
}

async function answer(request) {
    const model = await open(request.model);
    if (request.embed !== undefined) {
        const context = await model.createEmbeddingContext();
        const {vector} = await context.getEmbeddingFor(request.embed);
        await context.dispose();
        return {embedding: vector};
    }
    if (request.text !== undefined) return {tokens: model.tokenize(request.text)};
    const context = await model.createContext({contextSize: 128, flashAttention: false});
    const sequence = context.getSequence();
    const ids = [];
    const options = {temperature: 0, yieldEogToken: true};
    for await (const id of sequence.evaluate(request.ids, options)) {
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
