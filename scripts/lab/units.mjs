// What can be checked without a page: arithmetic, addresses, texts.
import assert from "node:assert/strict";
import { test } from "node:test";

const lab = "../../crates/limpid-server/assets/lab";
const { distribution } = await import(`${lab}/state/sampling.js`);
const { decode, encode, nothing } = await import(`${lab}/state/selection.js`);
const { clamp, reveal, tilesOf, topLevel, whole, zoom } = await import(`${lab}/show/heat-frame.js`);
const { full, percent, short } = await import(`${lab}/format.js`);
const { Cache } = await import(`${lab}/state/cache.js`);

/** The worked example of decoding: five words. */
const LOGITS = Float32Array.from([0.5, 0.2, 0.15, 0.1, 0.05].map(Math.log));
const filtered = (settings) => [...distribution(LOGITS, {
  temperature: 1, topK: 0, topP: 1, ...settings,
}, 5).filtered].map((value) => value.toFixed(6).replace(/^0\./, "."));

test("temperature, top-k and top-p give the probabilities of the worked example", () => {
  const expected = [
    [{ temperature: 0.1 }, ".999889 .000105 .000006 .000000 .000000"],
    [{ temperature: 0.5 }, ".769231 .123077 .069231 .030769 .007692"],
    [{ temperature: 2 }, ".339718 .214856 .186071 .151926 .107428"],
    [{ temperature: 100 }, ".202422 .200575 .199999 .199190 .197814"],
    [{ temperature: 0 }, "1.000000 .000000 .000000 .000000 .000000"],
    [{ topK: 2 }, ".714286 .285714 .000000 .000000 .000000"],
    [{ topP: 0.69 }, ".714286 .285714 .000000 .000000 .000000"],
    [{ topP: 0.71 }, ".588235 .235294 .176471 .000000 .000000"],
  ];
  for (const [settings, values] of expected) {
    assert.equal(filtered(settings).join(" "), values, JSON.stringify(settings));
  }
});

test("equal logits are ordered by their ids", () => {
  const { order } = distribution(Float32Array.from([1, 2, 2, 0]), {
    temperature: 1, topK: 0, topP: 1,
  }, 4);
  assert.deepEqual([...order], [1, 2, 0, 3]);
});

test("an address gives back the selection that it was made of", () => {
  const state = {
    ...nothing, view: "attention", model: "fr-en", text: "Où est-il ? a&b=c#d 👩‍👧 \u202e", layer: 3,
    head: 0, token: 7, key: 2, side: "target", why: "w_1_2_3_4~p_0_1_a.b_c", more: "seed=4&x=%20",
  };
  assert.deepEqual(decode(encode(state)), state);
  assert.deepEqual(decode(encode(nothing)), nothing);
});

test("an address with nonsense gives a selection that can be shown", () => {
  const found = decode("#/attention/../..?l=one&h=-7&i=NaN&j=2.5&s=99999999999999999999");
  assert.deepEqual(found, nothing);
});

test("tiles cover what is in sight, and no cell is smaller than a pixel", () => {
  const [rows, columns, width, height] = [2048, 2048, 600, 500];
  let frame = whole(rows, columns, width, height);
  assert.equal(topLevel(rows, columns), 3);
  for (let k = 0; k < 12; k += 1) {
    const tiles = tilesOf(frame, rows, columns, width, height, 2);
    assert.ok(tiles.length <= 36, `${tiles.length} tiles`);
    for (const { level } of tiles) assert.ok(2 ** level * frame.scale * 2 > 0.999);
    const right = Math.min(columns, frame.x + width / frame.scale);
    const covered = Math.max(...tiles.map((one) => (one.column + 256) * 2 ** one.level));
    assert.ok(covered >= right - 1e-6);
    frame = clamp(zoom(frame, 1.7, 300, 200), rows, columns, width, height);
  }
  const moved = reveal(frame, 2047, 0, width, height);
  assert.ok(moved.y + height / moved.scale >= 2048 - 1e-6 && moved.x === 0);
});

test("numbers are written with what matters", () => {
  assert.equal(short(0.55123), "0.551");
  assert.equal(short(-1234.5), "−1235");
  assert.equal(short(2), "2");
  assert.equal(short(1.5e-7), "1.50e−7");
  assert.equal(full(Math.fround(0.1)), "0.1");
  assert.equal(full(Math.fround(1 / 3)), "0.33333334");
  assert.deepEqual([1, 0.99999, 0.5, 0.031, 0.00001, 0].map(percent),
    ["100%", "> 99.9%", "50%", "3.1%", "< 0.1%", "0%"]);
});

test("a cache forgets what was used least recently", () => {
  const cache = new Cache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  assert.deepEqual(["a", "b", "c"].map((key) => cache.get(key)), [1, undefined, 3]);
});
