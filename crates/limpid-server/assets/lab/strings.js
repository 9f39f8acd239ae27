// Every word that the page says; formulas, notes and errors of the engine come with its answers.
// @ts-nocheck Parameters are what a sentence has gaps for; its existence is checked where it is
// used.

const plural = (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;

export const strings = {
  waiting: "One moment: the model is computing.",
  shell: {
    title: (view) => `${view} – Limpid lab`,
    skip: "Skip to the view", navigation: "Views", model: "Model", noModel: "choose a model",
    sentence: "The sentence that all views look at",
    facts: (parameters, layers, heads) =>
      `${parameters} parameters, ${plural(layers, "layer", "layers")}${heads > 0 ? `, `
        + `${plural(heads, "head", "heads")}` : ""}`,
    undo: "Undo (Ctrl+Z)", redo: "Redo (Ctrl+Shift+Z)",
    theme: (name) =>
      ({ auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" })[name] ?? name,
    themeTitle: "Switch between the system's theme, light and dark",
    gone: "The lab's process does not answer. Restart it, and this page goes on.",
  },
  groups: { inside: "Look inside", ask: "Ask", make: "Learn and train" },
  views: {
    tour: { title: "Tour", question: "One sentence from letters to translation, in ten stations." },
    sentence: { title: "Sentence", question: "What happens to my words?" },
    attention: { title: "Attention", question: "Who looks at whom?" },
    why: { title: "Why this number", question: "Where does it come from, down to a weight?" },
    generation: { title: "Generation", question: "Why this word, and not another?" },
    ablation: { title: "Ablation", question: "Does this head matter?" },
    lens: { title: "Logit lens", question: "In which layer does it know?" },
    beams: { title: "Beams", question: "What was dropped, and when?" },
    masked: { title: "Masked word", question: "Which words fit here?" },
    training: { title: "Training", question: "Is it learning?" },
    three: { title: "Three architectures", question: "What did attention change?" },
    examples: { title: "Worked examples", question: "Can I do it by hand?" },
    architecture: { title: "Architecture", question: "What is it made of?" },
    experiments: { title: "Experiments", question: "Is the claim true?" },
  },
  kinds: {
    decoder: "language model", encoder: "encoder", "encoder-decoder": "encoder-decoder",
    recurrent: "recurrent encoder-decoder", unknown: "unknown kind",
  },
  states: { ready: "ready", damaged: "damaged", absent: "not there", training: "being trained" },
  errors: {
    status: (status) => `The lab answered with status ${status}.`,
    unreachable: {
      message: "The lab does not answer.",
      hint: "Start limpid lab again, and open the address that it prints.",
    },
    noToken: "Open the address that limpid lab printed: it carries the token of the process.",
    half: "Keep the first half of the text", again: "Try again",
    nothing: "There is nothing to show.",
  },
  unusable: {
    none: "There is no model yet. The demo models are being trained, or can be.",
    unknown: "This lab does not have the model of this address.", ready: (name) => name,
    damaged: (name) => `${name} cannot be opened.`, absent: (name) => `${name} is not there yet.`,
    training: (name) => `${name} is being trained: there is no checkpoint to look into yet.`,
    check: "To see what is wrong with the folder, run",
    command: (folder) => `limpid info ${folder}`,
    watch: "Watch it learn", others: "These can be opened:",
  },
  unfit: {
    attention: "This model has no attention to show.",
    generation: "This model does not generate text: it reads a whole sentence at once.",
    ablation: "This model has no attention heads to switch off.",
    lens: "An encoder has no next word to predict, so there is no logit lens of it.",
    beams: "This model does not generate text, so there is no beam search.",
    masked: "This model was not trained to fill in masked words. A BERT is.",
    train: "None of your models can. Train one under",
  },
  demo: {
    label: "Demo models",
    training: (step, steps, left, loss) =>
      `step ${step} of ${steps}${loss ? `, loss ${loss}` : ""}${left ? `, ${left} left` : ""}`,
    states: { absent: "not trained yet", waiting: "waiting", ready: "ready", failed: "failed" },
    train: (n) => `Train ${plural(n, "model", "models")} now`,
  },
  heat: {
    role: "heat map",
    help: "Arrow keys move the cursor, with Shift ten cells at a time. Plus and minus zoom, "
      + "zero shows everything, Enter opens the number.",
    none: "Point at a cell, or walk with the arrow keys.",
    zoomIn: "Zoom in", zoomOut: "Zoom out", all: "Whole map",
  },
  table: {
    show: "As a table",
    part: (top, rows, left, columns) =>
      `(rows ${Math.floor(top)} to ${Math.floor(top) + rows - 1}, columns ${Math.floor(left)} `
        + `to ${Math.floor(left) + columns - 1}; move the cursor for others)`,
  },
  tokens: {
    title: (index, id, piece) => `position ${index}, id ${id}, in the vocabulary: ${piece}`,
    earlier: "← earlier", later: (n) => `${n} more →`,
  },
  truth: {
    label: "exact probability",
    help: "The outlined bars are the truth: exact probabilities of the grammar that wrote "
      + "these stories.",
  },
  command: { same: "The same in a terminal:", copy: "Copy", copied: "Copied" },
  save: {
    button: "Save", title: "Save this view as one HTML file that works offline",
    done: (name) => `Saved as ${name}: it opens without the lab.`,
    failed: "There is nothing to save.", operands: "Operands",
    facts: {
      model: "Model", folder: "Folder", hash: "Hash of configuration and weights", text: "Text",
      seed: "Seed", command: "Command", limpid: "Limpid version", address: "Address in the lab",
    },
  },
  sentence: {
    read: (language) => (language ? `Text (${language})` : "Text"),
    ids: "Token ids, with spaces between (this model has no tokenizer)",
    target: (language) => `What the decoder is given${language ? ` (${language})` : ""}`,
    own: "its own translation",
    chosen: "the tokens chosen under Generation",
    source: "Tokens that are read", output: "Tokens that are predicted",
    heads: "All heads", headsHelp: "Rows look at columns. Open one with a click.",
    looked: (from, to, weight) => `${from} looks most at ${to}, ${weight} (mean over the heads).`,
    lookedIn: (from, to, weight, layer) =>
      `${from} looks most at ${to}, ${weight} (layer ${layer}, mean over the heads).`,
    lines: (layer, faint) =>
      `Where each word of the translation looks: cross-attention of layer ${layer}, mean over `
        + `the heads; weights below ${faint} are not drawn.`,
    noCross: "This model has no cross-attention: its decoder gets the source as one vector.",
    tooMany: "Too many tokens to draw lines. Select a word to see where it looks.",
    next: (word) => `Predicted where “${word}” stands`,
    after: (word) => `After “${word}” it expects`,
    whole: "What it says of the whole text",
    here: (word) => `In place of “${word}” it expects`,
    rank: (word, rank, p) =>
      `What follows in the text, “${word}”, is number ${rank} of its list (${p}).`,
  },
  path: {
    title: (word) => `The way of “${word}” through the model`,
    titleRead: (read, next) => `The way from “${read}” to “${next}” through the decoder`,
    help: (width) => `Its row of numbers (${width} wide) after each stage. Every cell opens.`,
    embedding: "Embedding", position: "Position", sum: "Into the first layer",
    after: (layer) => `After layer ${layer}`, before: "← columns", next: "columns →",
    norm: (norm) => `length ${norm}`, cosine: (cosine) => `cosine with the row above ${cosine}`,
  },
  attention: {
    place: (stack, kind) => kind === "cross" ? "cross-attention"
        : stack === "layers" ? "self-attention" : `${stack} self-attention`,
    places: {
      encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention", self: "Self-attention",
    },
    which: "Which attention", layerHead: "Layer", head: "Head", mean: "mean of all",
    layer: (layer) => `Layer ${layer}`,
    headLabel: (place, layer, head, role, short) =>
      `${place}, layer ${layer}, head ${head}${role ? `, ${short}: ${role}` : ""}`,
    mapLabel: (place, layer, head) =>
      `Attention weights, ${place}, layer ${layer}, ${head < 0 ? "mean over the heads" : `head `
        + `${head}`}: rows look at columns`,
    looks: (from, to, weight) => `${from} looks at ${to}, ${weight}.`,
    does: (role, share, entropy) =>
      `This head ${role} (${share} of its weight here; mean entropy ${entropy} nats).`,
    row: (word) => `Where “${word}” looks`,
    meanHelp: "This is the mean of all heads. Choose one head to open its numbers.",
    others: (n, share) => `${plural(n, "other token has", "other tokens have")} ${share} together.`,
  },
  roles: {
    previous: "looks at the token before", next: "looks at the token after",
    same: "looks at the token itself", first: "looks at the first token",
    last: "looks at the last token", diffuse: "looks everywhere at once",
    content: "looks by content, at different places", monotonic: "follows the source in order",
  },
  rolesShort: {
    previous: "previous", next: "next", same: "itself", first: "first", last: "last",
    monotonic: "in order", diffuse: "", content: "",
  },
  why: {
    title: "Why this number", large: "Large", close: "Close", path: "Opened numbers",
    open: (value) => `${value}: open it`,
    openLabel: (what, value) => `${what ? `${what}: ` : ""}${value}. Why?`,
    cell: (index, value) => `Column ${index}: ${value}. Why?`,
    none: "No number is open. Click any number.", choose: "Open any number of this forward "
      + "pass, and go on down to a weight in the file or a token id.",
    begin: "Where to begin", best: "The most likely word", random: "Any number at all", go: "Open",
    tensor: "Tensor", row: "Row", column: "Column", file: "File", place: "Place",
    noLogits: "This model has no output layer over a vocabulary.",
    probability: (word) => `Probability of a word after “${word}”`,
    weight: (place, layer, head, from, to) =>
      `Attention weight: ${from} → ${to} (${place}, layer ${layer}, head ${head})`,
    score: (place, layer, head, from, to) =>
      `Attention score: ${from} · ${to} (${place}, layer ${layer}, head ${head})`,
    param: (name, row, column) => `${name}[${row}, ${column}]`,
    recurrent: (part, row, column) => `${part} of row ${row}, unit ${column}`,
    element: (name, word, row, column) =>
      `${name}${word ? ` of “${word}”` : `, row ${row}`}, column ${column}`,
    unnamed: "A number of this pass", digits: "All digits of the single-precision number",
    leaf: "This is the bottom: a number of the model's file, learnt in training.",
    token: (id) => `It is looked up by token id ${id}:`,
    terms: "Terms of the sum, largest first", weightShort: "weight", input: "input",
    rest: (n) => `the sum of ${plural(n, "smaller term", "smaller terms")}`,
    sum: (n) => `${plural(n, "term", "terms")} added again in double precision`,
    again: "The number from that sum", stored: "The number in the model", difference: "Difference",
    ulps: (ulps) => `${ulps.toFixed(ulps < 10 ? 2 : 0)} ULP (units in the last place)`,
    logit: "logit", logitIs: "Its logit is z =", largest: "The largest of all", tokenHead: "Token",
    others: (n) => `${plural(n, "other token", "other tokens")}`,
    normalizer: "What all are divided by:",
  },
  generation: {
    temperature: "Temperature", "top-k": "Top-k", "top-p": "Top-p", seed: "Seed", length: "At "
      + "most", off: "off",
    greedy: "0, the most likely", another: "Another seed", release: "Let it choose again",
    continued: "The text and how it goes on", translated: "The translation", steps: "Generated "
      + "tokens",
    back: "← Step back", forward: "Step forward →", stepOf: (at, all) => `Step ${at} of ${all}.`,
    stopped: "It ended by itself.", cut: "It was cut off at the length limit.",
    choice: (step) => `Step ${step}: which token?`,
    argmax: "Temperature 0 takes the most likely token. Click another to force it.",
    sampled: (u, word) =>
      `The random number was ${u}: going down the list, “${word}” is the first at which the `
        + `sum of probabilities exceeds it. Click another to force it.`,
    forced: (word) => `“${word}” was chosen by you. Click another to force that one.`,
    force: (word) => `Continue with ${word}`,
    kept: (kept, all, entropy) =>
      `${plural(kept, "token", "tokens")} of ${all.toLocaleString("en-US")} can be sampled; `
        + `entropy ${entropy} nats.`,
    why: (word) => `Why “${word}”? Open its probability`,
    before: (p) => `The model itself gave it ${p}.`,
  },
  ablation: {
    how: "A head that is off gives", help: "Switch heads off and see what the model says "
      + "without them.",
    hows: { zero: "zero", mean: "its mean", patch: "another sentence's" },
    howHelp: {
      zero: "Its output is replaced by zeros", mean: "Its output is replaced by its mean over "
        + "the positions",
      patch: "Its output is taken from another sentence",
    },
    all: "Try all heads", stop: "Stop", allOn: "Switch all on", from: "The other sentence",
    needFrom: "Type the other sentence first.",
    effects: (n, all) =>
      `${n} of ${all} heads tried. Each shows how much the log-probability of the text changes `
        + `without it.`,
    effect: (delta) => `without it Δ log p = ${delta}`,
    head: (place, layer, head, delta) =>
      `${place}, layer ${layer}, head ${head}${delta ? `, Δ log p ${delta}` : ""}`,
    none: "All heads are on. Switch one off.", before: "With all heads",
    after: (n) => `Without ${plural(n, "head", "heads")}`,
    same: "The text is the same.", different: "The text is another.",
    total: (delta) => `The log-probability of the first text changes by ${delta} nats.`,
    tokens: "Token by token", delta: "Δ log p", p: "p", pOff: "p without",
    kl: (kl) => `Sum of the KL divergences of all positions: ${kl} nats.`,
  },
  lens: {
    embedding: "Embedding", layer: (layer) => `Layer ${layer}`, reads: "reads",
    norm: (norm) => `Each layer's stream through the output layer (${norm}).`,
    earlier: "← earlier", later: "later →",
    legend: "Darker on paper, brighter on a dark page: more probable. Underlined: it is what "
      + "follows.",
    says: (layer, word, best, p) => `${layer}, after ${word}: ${best}, ${p}`,
    at: (layer, word) => `${layer}, after “${word}”`,
    entropy: (entropy) => `Entropy ${entropy} nats.`,
    rank: (rank) => `What follows in the text is number ${rank} of its list.`,
  },
  beams: {
    width: "Beams", penalty: "Length penalty", tree: "The search, step by step", start: "start",
    legend: "Columns are steps; each candidate has the sum of its log-probabilities. Faint "
      + "ones were dropped. The best path is marked.",
    node: (step, word, sum, kept) =>
      `${word} ${sum}, step ${step}, ${kept ? "kept" : "dropped"}`,
    detail: (p, log, sum) =>
      `This token: probability ${p}, log-probability ${log}. The sum so far: ${sum}.`,
    kept: "It was among the best and went on.", finished: "It ended here.",
    dropped: (step) => `It was dropped in step ${step}: others had larger sums.`,
  },
  masked: {
    help: "Click a word: it is masked, and the model fills it in.", none: "No word is masked yet.",
    at: (index, word) => `Position ${index}, in place of “${word}”`,
    best: (word) => `Most likely: ${word}`,
  },
  training: {
    start: "Train a model", begin: "Start training", close: "Close", none: "No runs yet",
    runs: "Runs", show: "Show", name: "Name", state: "State", step: "Step", loss: "Loss",
    states: { running: "running", stopped: "stopped", finished: "finished", failed: "failed",
      elsewhere: "runs in another process" },
    compare: (name) => `Show ${name} in the chart`,
    stop: "Stop", resume: "Resume", look: "Look inside", actions: "Actions",
    curve: "Loss (nats per token)",
    trained: "training", heldOut: "held-out", waiting: "The first figures are on their way.",
    nothing: "It has not written any figures yet.",
    last: (now, first) => `Now ${now}; it began at ${first}.`,
    at: (step, steps) => `step ${step} of ${steps}`, rate: (rate) => `${rate} tokens per second`,
    reference: (text) => `reference: ${text}`, samples: "Samples",
    config: "Settings (config.toml)", log: "Last lines of the log",
    report: "Report of the run",
    task: "What", corpus: "From", arch: "Architecture", presets: "Sizes", defaults: "Defaults",
    preset: { small: "Small", medium: "Medium", large: "Large" }, parameters: "Parameters",
    memory: "Memory", time: "Time", lines: (n) => `${n} lines`,
    available: (bytes) => `of ${bytes} available`,
    aboutTime: (time) => `about ${time} on this machine`,
    sizes: {
      layers: "Layers", heads: "Heads", hidden_size: "Width", context_length: "Context",
      steps: "Steps", batch_tokens: "Tokens per step", learning_rate: "Learning rate", seed: "Seed",
    },
  },
  snapshots: {
    title: "Watch attention being born", help: "One sentence through the snapshots of this "
      + "run. Drag, or play.",
    sentence: "Sentence", play: "Play", pause: "Pause", step: "Step",
    at: (step) => `after step ${step}`, noAttention: "No attention in this one.",
  },
  three: {
    missing: "Not all three are trained yet. They take some minutes.",
    sentence: "Sentence", length: "Length", trained: "Trained", whole: "to the end",
    words: (n) => `${n} words`,
    example: "Je suis étudiant.",
    titles: ["Recurrent, one vector", "Recurrent with attention", "Transformer"],
    about: ["The encoder reads word after word into one state; the decoder sees only that.",
      "The decoder looks back at every state of the encoder, word by word.",
      "No recurrence: attention alone, all positions at once."],
    absent: "Not trained yet.", open: "Look inside", states: "Length of the state after each word",
    statesHelp: "Length of the state after each word. The last is all that the decoder gets.",
    sure: (p) => `Mean probability of its own words: ${p}.`,
  },
  examples: {
    see: "See also:", quiz: "Cover the numbers and compute them yourself", reveal: "Show all "
      + "numbers",
    cover: "Show this number", claimed: "Often claimed:", correct: "Correct:",
  },
  architecture: {
    parts: "Parts", partsHelp: "Open a block to see its weights, with their names in the file.",
    kind: "Kind", vocabulary: "Vocabulary", context: "Context", hash: "Hash", part: "Part",
    missing: (names) => `Missing in the file: ${names}`,
    cost: "Cost of one forward pass", length: "Tokens", flops: "Operations (FLOP)",
    weights: "Weights", activations: "Activations", cache: "Key-value cache",
  },
  experiments: {
    quick: "Run the quick form", running: "running…", more: "Show the evidence", less: "Hide "
      + "the evidence",
    minutes: (n) =>
      `the full form takes about ${plural(Math.max(1, Math.round(n)), "minute", "minutes")}`,
    verdicts: { confirmed: "confirmed", refuted: "refuted", inconclusive: "inconclusive",
      observation: "observed" },
  },
  tour: {
    label: "Stations of the tour", sentence: "The sentence of the tour", try: "Try:", back: "← "
      + "Back", next: "Next station →",
    needs: "The tour follows a sentence through a French-English Transformer, which is not "
      + "trained yet.",
    piece: "piece", vectors: ["Query", "Key", "Value"], words: "The most likely words",
    first: (shown, all) => (shown < all ? `the first ${shown} of ${all}` : `${all} wide`),
    scores: (word) => `How well each key answers the query of “${word}” (head 0)`,
    taken: (word, p) =>
      `“${word}” is taken, with ${p}. Then it is read by the decoder, and the next word begins.`,
    stations: [
      { title: "Letters",
        text: "A model reads numbers. A tokenizer cuts the text into pieces of a fixed "
          + "vocabulary, and each piece becomes its place in that list.",
        try: "change a letter in the sentence: an unknown piece shows what the vocabulary lacks." },
      { title: "Embedding",
        text: "Each id selects one row of a learnt table: a vector with the token's meaning. "
          + "One-hot vectors would make all words equally far from each other; learnt vectors "
          + "need not.",
        try: "click a cell and follow it down to the weight in the file." },
      { title: "Position",
        text: "All words enter at once, so order has to be added: sines and cosines of the "
          + "position, slow ones and fast ones, summed onto the embedding.",
        try: "repeat a word in the sentence: same embedding, another sum." },
      { title: "Query, key, value",
        text: "Three learnt matrices make three vectors of each word: what it looks for, what "
          + "it offers to be found by, and what it passes on.",
        try: "select another word: the matrices stay, the vectors change." },
      { title: "Scores",
        text: "The query of a word is multiplied with every key. Dividing by the root of their "
          + "width keeps the scores from growing with it, or the softmax would pick one winner "
          + "and learn nothing.",
        try: "open a score and see which products decide it." },
      { title: "Softmax and sum",
        text: "The scores become weights that sum to 1, and the values are added in that "
          + "proportion. The result is the word in its context.",
        try: "open a weight: it is e to its score, over the sum of all." },
      { title: "Many heads",
        text: "The same happens in several heads at once, each in its own part of the width, "
          + "each free to look for something else. An output matrix mixes them.",
        try: "open the thumbnail that looks least like the others." },
      { title: "A layer",
        text: "The result is added to what came in and normalized to mean 0 and variance 1; "
          + "then a feed-forward network works on each word alone, and is added and normalized "
          + "too. Layers repeat this.",
        try: "watch which cells keep their colour: the residual path carries them through." },
      { title: "Decoder",
        text: "The decoder writes one word after another. A mask hides the words to come; then "
          + "cross-attention asks the encoder's words with the decoder's query.",
        try: "select a translated word: the source word behind it lights up." },
      { title: "Words",
        text: "The last vector is multiplied with every row of the vocabulary; softmax makes "
          + "probabilities of it. The most likely word is taken and read in turn, until the end "
          + "token.",
        try: "open a probability, and go all the way down to a weight." },
    ],
  },
};
