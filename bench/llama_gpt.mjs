// Times llama.cpp on a GGUF when told to (protocol.py has the protocol): a token of one or several
// streams after a prompt of 16, or a prompt alone. It calls the library beneath node-llama-cpp's
// queues, and takes random tokens instead of sampling, which costs llama.cpp nothing.
//
// node llama_gpt.mjs MODEL.gguf --streams 1 --threads 2 [--prompt 512]
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , path, ...flags] = process.argv;
const flag = (name, usual) => {
    const at = flags.indexOf(`--${name}`);
    return at < 0 ? usual : Number(flags[at + 1]);
};
const [streams, threads, alone] = [flag("streams", 1), flag("threads", 2), flag("prompt", 0)];
const memory = (key) => {
    const line = readFileSync("/proc/self/status", "utf8").split("\n").find((l) => l.startsWith(key));
    return line ? Number(line.split(/\s+/)[1]) / 1024 : null;
};
const ownMb = memory("VmRSS");
const require = createRequire(`${process.env.BENCH_NODE}/`);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(require.resolve("node-llama-cpp")));
const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
llama.maxThreads = threads;
const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
const context = await model.createContext({
    contextSize: 1024, sequences: streams, batchSize: 512, threads, flashAttention: true,
});
const { _ctx: native } = context;
native.setThreads(threads);

const random = () => Math.floor(Math.random() * 50257);
const last = (n) => Uint32Array.from([n - 1]);
async function evaluate(sequences, at, length) {
    native.initBatch(sequences * length);
    for (let sequence = 0; sequence < sequences; sequence++)
        native.addToBatch(sequence, at, Uint32Array.from({ length }, random), last(length));
    await native.decodeBatch();
}
const clear = () => { for (let s = 0; s < streams; s++) native.disposeSequence(s); };

const PROMPT = 16, TOKENS = 64;
let position = PROMPT + TOKENS;
async function step() {
    if (alone > 0) {
        clear();
        const before = performance.now();
        await evaluate(1, 0, alone);
        return performance.now() - before;
    }
    if (position >= PROMPT + TOKENS) {
        clear();
        await evaluate(streams, 0, PROMPT);
        position = PROMPT;
    }
    const before = performance.now();
    await evaluate(streams, position++, 1);
    return performance.now() - before;
}

const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");
for (let i = 0; i < 5; i++) await step();
const packageFile = `${process.env.BENCH_NODE}/node_modules/node-llama-cpp/package.json`;
const { version } = JSON.parse(readFileSync(packageFile));
answer({
    ready: true, parameters: 124439808, threads: native.getThreads(),
    version: `node-llama-cpp ${version}`, own_mb: ownMb,
});
for await (const line of createInterface({ input: process.stdin })) {
    const [word, seconds] = line.split(" ");
    if (word !== "run") break;
    const times = [], end = performance.now() + 1e3 * Number(seconds);
    do times.push(await step()); while (performance.now() < end);
    answer({ step_ms: times });
}
process.exit(0);
