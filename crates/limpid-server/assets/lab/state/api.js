// Requests to the process that serves this page. Nothing else is ever asked.
import { Cache } from "./cache.js";
import { currentToken } from "./token.js";
import { strings } from "../strings.js";

/** What went wrong, in words for people, with what to do. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, message?: string, hint?: string | null, field?: string | null }} body
   */
  constructor(status, body) {
    super(body.message || strings.errors.status(status));
    this.status = status;
    this.code = body.code ?? "";
    this.hint = body.hint ?? "";
    this.field = body.field ?? "";
  }
}

/**
 * What the server keeps for a while under an id that is a function of the request: passes and
 * generations. If it has forgotten one, the request is made again.
 * @type {Cache<{ path: string, body: unknown }>}
 */
const kept = new Cache(100);

/**
 * Asks for something that the server keeps under its `id`.
 * @template {{ id: string }} T
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function made(path, body, signal) {
  const found = /** @type {T} */ (await post(path, body, signal));
  kept.set(found.id, { path, body });
  return found;
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<Response>}
 */
async function ask(path, options = {}) {
  try {
    return await askOnce(path, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "pass_expired") throw error;
    const text = `${path} ${JSON.stringify(options.body ?? null)}`;
    const named = [...kept.entries].filter(([id]) => text.includes(id)).map(([, one]) => one);
    if (named.length === 0) throw error;
    for (const one of named) await askOnce(one.path, { method: "POST", body: one.body });
    return askOnce(path, options);
  }
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal | undefined }} options
 * @returns {Promise<Response>}
 */
async function askOnce(path, { method = "GET", body, signal }) {
  /** @type {Record<string, string>} */
  const headers = { "x-limpid-token": currentToken() };
  if (body !== undefined) headers["content-type"] = "application/json";
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      signal: signal ?? null,
      body: body === undefined ? null : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, { code: "unreachable", ...strings.errors.unreachable });
  }
  if (response.ok) return response;
  let found = {};
  try {
    found = (await response.json()).error ?? {};
  } catch {
    // Not an answer of ours: the status says what there is to say.
  }
  const error = new ApiError(response.status, found);
  if (error.code === "no_token") error.hint ||= strings.errors.noToken;
  throw error;
}

/**
 * @template T
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export const get = async (path, signal) => (await ask(path, { signal })).json();

/**
 * @template T
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export const post = async (path, body, signal) =>
  (await ask(path, { method: "POST", body, signal })).json();

/**
 * A place in an address.
 * @param {TemplateStringsArray} parts
 * @param {...(string | number)} values
 */
export const url = (parts, ...values) =>
  parts.reduce((all, part, i) => all + encodeURIComponent(values[i - 1] ?? "") + part);

/**
 * Single-precision numbers.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Float32Array>}
 */
export async function floats(path, signal) {
  const bytes = await (await ask(path, { signal })).arrayBuffer();
  return new Float32Array(bytes);
}

/**
 * Bytes, with the shape in the header.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ rows: number, columns: number, bytes: Uint8Array }>}
 */
export async function bytes(path, signal) {
  const response = await ask(path, { signal });
  const [rows = 0, columns = 0] = (response.headers.get("x-shape") ?? "").split(",").map(Number);
  return { rows, columns, bytes: new Uint8Array(await response.arrayBuffer()) };
}

/** @param {string} path @param {AbortSignal} [signal] */
export const text = async (path, signal) => (await ask(path, { signal })).text();

/**
 * A stream of bytes, piece by piece.
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal | undefined }} options
 */
export async function* pieces(path, options = {}) {
  const reader = (await ask(path, options)).body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * A stream of lines.
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal | undefined }} options
 */
export async function* lines(path, options = {}) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of pieces(path, options)) {
    const found = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = found.pop() ?? "";
    yield* found;
  }
  if (rest) yield rest;
}
