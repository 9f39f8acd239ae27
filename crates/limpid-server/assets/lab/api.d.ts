// Generated from crates/limpid-server/src/lab/types by a test: UPDATE_LAB=1 writes it.

/** Which heads to switch off, one after the other. */
export type AblateAllRequest = {
  how: How;
  /** The pass's id. */
  pass: string;
};

/** A pass with and without a change. */
export type Ablation = {
  after: Pass;
  before: Pass;
  /** The sum of the differences. */
  delta: number;
  /** Σ p ln(p/q) of the distributions without and with the change, for each row of the logits. */
  kl: number[];
  /** Each output token. */
  rows: AblationRow[];
  /** What is generated with it. */
  text_after: string;
  /** What is generated without the change. */
  text_before: string;
};

/** What an output token loses. */
export type AblationRow = {
  /** ln p with it. */
  after: number;
  /** ln p without the change. */
  before: number;
  /** The difference. */
  delta: number;
  /** The row of the logits. */
  row: number;
  token: Token;
};

/** An attention of a pass. */
export type Attention = {
  /** Whether queries see no later keys. */
  causal: boolean;
  /** Width of a head; 0 of additive attention. */
  head_dim: number;
  /** Heads of queries. */
  heads: number;
  /** By which requests name it. */
  index: number;
  keys: Of;
  /** `self` or `cross`. */
  kind: string;
  /** Heads of keys and values. */
  kv_heads: number;
  /** Counted from 0. */
  layer: number;
  /** `self_attention`, `encoder.self_attention`, `decoder.cross_attention`. */
  name: string;
  queries: Of;
  /** Keys. */
  s: number;
  /** `layers`, `encoder` or `decoder`. */
  stack: string;
  /** The step of its elements. */
  step: number;
  /** Queries. */
  t: number;
  /** How far they see; null without a bound. */
  window?: number | null;
};

/** A beam before a step. */
export type Beam = {
  /** The sum of their log-probabilities. */
  log_probability: number;
  /** The most likely next tokens. */
  next: BeamNext[];
  /** Its new tokens. */
  tokens: Token[];
};

/** A beam followed by one more token. */
export type BeamCandidate = {
  /** Which of the beams. */
  beam: number;
  /** Whether it ends the text. */
  finishes: boolean;
  /** The token. */
  id: number;
  /** Whether it goes on. */
  kept: boolean;
  /** ln p of the token. */
  log_probability: number;
  /** Of all tokens. */
  sum: number;
  /** As it reads. */
  text: string;
};

/** A possible next token of a beam. */
export type BeamNext = {
  /** Its id. */
  id: number;
  /** ln p. */
  log_probability: number;
  /** As it reads. */
  text: string;
};

/** A step of a beam search. */
export type BeamStep = {
  /** Before it. */
  beams: Beam[];
  /** The best continuations. */
  candidates: BeamCandidate[];
  /** Finished ones. */
  finished: ScoredTokens[];
  /** After it. */
  running: ScoredTokens[];
  /** Counted from 0. */
  step: number;
};

/** A beam search. */
export type Beams = {
  /** What was continued; of a translator the source. */
  prompt: Token[];
  /** The best texts. */
  results: ScoredText[];
  /** Its steps. */
  steps: BeamStep[];
};

/** A text to search with beams. */
export type BeamsRequest = {
  /** Exponent of the length that scores are divided by. */
  length_penalty?: number | null;
  /** 32 without. */
  max_new_tokens?: number | null;
  /** The model's id. */
  model: string;
  /** The prompt, or the source. */
  text: string;
  /** Beams. */
  width: number;
};

/** A token that could be next. */
export type Candidate = {
  /** What it is selected with. */
  filtered: number;
  /** Its id. */
  id: number;
  /** The model's probability. */
  probability: number;
  /** After the penalties. */
  processed: number;
  /** As it reads. */
  text: string;
};

/** A corpus to train on. */
export type Corpus = {
  /** Whether the program makes it. */
  builtin: boolean;
  /** Its bytes. */
  bytes: number;
  /** By which requests name it. */
  id: string;
  /** Its lines, or examples. */
  lines: number;
  /** The tasks it suits. */
  tasks: string[];
  /** For people. */
  title: string;
};

/** What a forward pass costs. */
export type Cost = {
  /** Bytes of all outputs. */
  activation_bytes: number;
  /** Bytes of keys and values that generation keeps. */
  cache_bytes: number;
  /** All together. */
  flops: number;
  /** By part. */
  modules: CostModule[];
  /** Bytes of parameters in f32. */
  parameter_bytes: number;
  /** Tokens of the sequence; of an encoder-decoder, of each of both. */
  tokens: number;
};

/** What a part of a model costs. */
export type CostModule = {
  /** Bytes of its outputs. */
  bytes: number;
  /** Multiplications and additions of a forward pass. */
  flops: number;
  /** The part. */
  name: string;
  /** Its parameters. */
  parameters: number;
};

/** The demo's models. */
export type Demo = {
  /** All of them. */
  models: DemoModel[];
  /** What went wrong. */
  problem?: string | null;
  state: DemoState;
};

/** A model of the demo. */
export type DemoModel = {
  /** The id that the model has or will have. */
  id: string;
  /** The last training loss. */
  loss?: number | null;
  /** Until it is trained. */
  seconds_left?: number | null;
  state: DemoState;
  /** Steps done. */
  step: number;
  /** Steps in all. */
  steps: number;
  /** For people. */
  title: string;
};

/** Models of the demo to train. */
export type DemoRequest = {
  /** Their ids. */
  models: string[];
};

/** What became of the demo. */
export type DemoState = "absent" | "training" | "ready" | "failed";

/** A change to a pass. */
export type Edit = {
  /** The attention by its name: `decoder.cross_attention`. */
  attention: string;
  /** The pass that is patched from. */
  from?: string | null;
  /** Counted from 0. */
  head: number;
  how: How;
  kind: "head";
  /** Counted from 0. */
  layer: number;
} | {
  /** The pass that is patched from. */
  from?: string | null;
  how: How;
  kind: "ffn";
  /** Counted from 0. */
  layer: number;
  /** `layers`, `encoder` or `decoder`. */
  stack: string;
} | {
  /** The pass that is patched from. */
  from?: string | null;
  how: How;
  kind: "stream";
  /** Counted from 0; null after the embeddings. */
  layer?: number | null;
  /** At this row; null at all. */
  position?: number | null;
  /** `layers`, `encoder` or `decoder`. */
  stack: string;
};

/** A number of a pass, or of a parameter. */
export type Element = {
  /** Its column. */
  column: number;
  kind: "output";
  /** Which of its outputs. */
  output: number;
  /** Its row. */
  row: number;
  /** The step that made it. */
  step: number;
} | {
  /** Counted from 0. */
  head: number;
  /** Row of the keys. */
  key: number;
  kind: "weight";
  /** Row of the queries. */
  query: number;
  /** The step of the attention. */
  step: number;
} | {
  /** Counted from 0. */
  head: number;
  /** Row of the keys. */
  key: number;
  kind: "score";
  /** Row of the queries. */
  query: number;
  /** The step of the attention. */
  step: number;
} | {
  /** Its column. */
  column: number;
  /** Of an energy: row of the keys. */
  key?: number | null;
  kind: "recurrent";
  /** `gate0` and so on in PyTorch's order, `candidate`, `cell`, `query` or `energy`. */
  part: string;
  /** Its row. */
  row: number;
  /** The step of the layer. */
  step: number;
} | {
  /** Its column. */
  column: number;
  kind: "param";
  /** Its name. */
  name: string;
  /** Its row; 0 of a vector. */
  row: number;
};

/** What a run would need. */
export type Estimate = {
  /** What this machine has free. */
  available_bytes?: number | null;
  /** Whether it fits into memory. */
  fits: boolean;
  /** Of weights, gradients, moments and a batch. */
  memory_bytes: number;
  /** Trained parameters. */
  parameters: number;
  problem?: EstimateProblem | null;
  /** Of the whole run on this machine. */
  seconds?: number | null;
  /** Of a step. */
  tokens_per_step: number;
};

/** Why a run would not work. */
export type EstimateProblem = {
  /** What to do. */
  hint?: string | null;
  /** What is wrong. */
  message: string;
};

/** A number to explain. */
export type ExplainRequest = {
  element: Element;
  /** Terms that are listed; 12 without. */
  largest?: number | null;
  /** The pass's id. */
  pass: string;
};

/** How a number was computed. */
export type Explained = {
  /** The number again, from the sum. */
  again: number;
  column_token?: Token | null;
  /** How many terms there are. */
  count: number;
  element: Element;
  file?: FilePlace | null;
  /** In the letters of the operation. */
  formula: string;
  /** The tensor it belongs to. */
  name: string;
  /** The operation; `parameter` at the bottom. */
  operation: string;
  rest: Rest;
  row_token?: Token | null;
  /** All terms added again, in f64. */
  sum: number;
  /** The largest terms. */
  terms: Term[];
  token?: Token | null;
  /** The difference in units in the last place. */
  ulps: number;
  /** The number, as the model computed it. */
  value: number;
};

/** A fact about a model in words. */
export type Fact = {
  /** What. */
  name: string;
  /** How. */
  value: string;
};

/** A factor of a term. */
export type Factor = {
  origin: Origin;
  /** Its value. */
  value: number;
};

/** Where a parameter lies in a file. */
export type FilePlace = {
  /** Column there. */
  column: number;
  /** The type of its numbers there. */
  dtype: string;
  /** The file. */
  file: string;
  /** Row and column there. */
  row: number;
  /** The tensor in it. */
  tensor: string;
};

/** A text with its masks filled. */
export type FillMask = {
  /** Each mask. */
  masks: Mask[];
  /** The tokens that were read. */
  tokens: Token[];
};

/** A text with masks. */
export type FillMaskRequest = {
  /** Tokens to mask, by their index. */
  mask?: number[];
  /** The model's id. */
  model: string;
  /** The text. */
  text: string;
  /** Predictions per mask; 10 without. */
  top?: number | null;
};

/** Where a frame's page is, for a minute. */
export type Frame = {
  /** A path of this server. */
  url: string;
};

/** A page to show in a frame. */
export type FrameRequest = {
  /** The id of a run: its report. */
  run: string;
};

/** How a token was selected. */
export type GenStep = {
  chosen: Token;
  /** Of the model's distribution, in nats. */
  entropy: number;
  /** How many tokens are not listed. */
  omitted: number;
  /** Counted from 0. */
  step: number;
  /** The likely ones. */
  top: Candidate[];
  /** What may follow, exactly, in a built-in story. */
  truth?: TrueWord[] | null;
  /** The random number in [0, 1); none in greedy search. */
  u?: number | null;
};

/** A text to continue, or to translate. */
export type GenerateRequest = {
  /** 32 without. */
  max_new_tokens?: number | null;
  /** The model's id. */
  model: string;
  /** Tokens that were generated before, or that somebody forced. */
  prefix_ids?: number[];
  /** Penalty on tokens that occurred before. */
  repetition_penalty?: number | null;
  /** Of the samples. */
  seed?: number | null;
  /** 0 is greedy search. */
  temperature?: number | null;
  /** The prompt, or the source. */
  text: string;
  /** Sample from so many most likely tokens. */
  top_k?: number | null;
  /** Sample from the smallest set with this probability. */
  top_p?: number | null;
};

/** A generated text. */
export type Generation = {
  /** What to type for the same text. */
  command: string;
  /** `stop` or `length`. */
  finish: string;
  /** By which requests name it. */
  id: string;
  /** All new tokens, the given ones included. */
  ids: number[];
  /** The model's id. */
  model: string;
  /** Tokens that were given. */
  prefix: Token[];
  /** What it continued; of a translator the source. */
  prompt: Token[];
  /** Each new token. */
  steps: GenStep[];
  /** All new text, that of the given tokens included. */
  text: string;
};

/** What one head does: a line of the stream. */
export type HeadEffect = {
  /** The attention by its name. */
  attention: string;
  /** Of Σ ln p. */
  delta: number;
  /** Counted from 0. */
  head: number;
  largest?: LargestEffect | null;
  /** Counted from 0. */
  layer: number;
};

/** What a head mostly attends to. */
export type HeadRole = {
  /** The index of the attention. */
  attention: number;
  /** Between a query and what it attends to, the mean. */
  distance: number;
  /** In nats, the mean over the queries. */
  entropy: number;
  /** The head. */
  head: number;
  /** `previous`, `next`, `same`, `first`, `last`, `diffuse`, `content` or, of cross-attention, `monotonic`. */
  role: string;
  /** The weight on what the role names, the mean over the queries. */
  share: number;
};

/** What all heads mostly attend to. */
export type HeadRoles = {
  /** Every head of every attention. */
  heads: HeadRole[];
};

/** What a place is set to. */
export type How = "zero" | "mean" | "patch";

/** Everything the page shows first. */
export type Lab = {
  demo: Demo;
  limits: LabLimits;
  /** Models by id. */
  models: Model[];
  /** Runs by id. */
  runs: Run[];
  /** The instruction set. */
  simd: string;
  /** Threads that compute. */
  threads: number;
  /** Of the program. */
  version: string;
};

/** Bounds of requests. */
export type LabLimits = {
  /** Bytes of a body. */
  max_body: number;
  /** Numbers of one answer. */
  max_numbers: number;
  /** Tokens of a sequence. */
  max_tokens: number;
};

/** The largest effect of a head on one row. */
export type LargestEffect = {
  /** Of ln p. */
  delta: number;
  /** The row of the logits. */
  row: number;
};

/** The logit lens. */
export type Lens = {
  /** By layer and row. */
  cells: LensCell[][];
  /** `embedding`, `0`, `1`, … */
  layers: string[];
  /** How the stream becomes logits. */
  norm: string;
  /** The tokens of the rows. */
  tokens: Token[];
};

/** What a layer would predict at a row. */
export type LensCell = {
  /** In nats. */
  entropy: number;
  /** How many are more likely than what follows in the text. */
  next_rank?: number | null;
  /** The most likely. */
  top: Ranked[];
};

/** What layers would predict. */
export type LensRequest = {
  /** The pass's id. */
  pass: string;
  /** Predictions per cell; 3 without. */
  top?: number | null;
};

/** A mask. */
export type Mask = {
  hidden?: Token | null;
  /** The index of its token. */
  index: number;
  /** The most likely. */
  predictions: MaskPrediction[];
  /** All words that may stand there, exactly. */
  truth?: TrueWord[] | null;
  /** Why the truth is not known. */
  truth_note?: string | null;
};

/** A token at a mask. */
export type MaskPrediction = {
  /** Its id. */
  id: number;
  /** The model's probability. */
  probability: number;
  /** As it reads. */
  text: string;
  /** The exact one, where it is known. */
  truth?: number | null;
};

/** New lines of `metrics.jsonl`. */
export type Metrics = {
  /** The byte where these lines begin: who has not read up to it asks for what is missing. */
  from: number;
  /** The lines as they are. */
  lines: Record<string, unknown>[];
  /** The byte to go on from. */
  next: number;
  /** The id of the run. */
  run: string;
};

/** A model. */
export type Model = {
  /** Whether there is attention to look at. */
  attention: boolean;
  /** Tokens of a sequence. */
  context: number;
  /** A text to start with. */
  example: string;
  /** Its folder, for people and commands. */
  folder: string;
  /** Without one, texts are token ids with spaces between them. */
  has_tokenizer: boolean;
  /** A hash of its configuration and weights; known once it was used. */
  hash?: string | null;
  /** Attention heads of a layer. */
  heads: number;
  /** By which requests name it. */
  id: string;
  /** Whether its vocabulary is that of the built-in stories, whose probabilities are known. */
  is_story: boolean;
  kind: ModelKind;
  /** Source and target, where the name tells. */
  languages?: [string, string] | null;
  /** Layers, of each stack the same or the larger number. */
  layers: number;
  /** For people. */
  name: string;
  /** Trained parameters. */
  parameters: number;
  /** Why not. */
  problem?: string | null;
  source: ModelSource;
  state: ModelState;
  /** What it does, in the words of Hugging Face's pipelines; `unknown` if it cannot be told. */
  task: string;
  /** Tokens of the (source) vocabulary. */
  vocab_size: number;
  /** Width of the residual stream, or of the states. */
  width: number;
};

/** What a model is made of. */
export type ModelDetail = {
  /** Its configuration in words. */
  facts: Fact[];
  /** What its folder lacks. */
  missing: string[];
  model: Model;
  /** Of its `config.json`. */
  model_type: string;
  /** All parameters. */
  params: Param[];
  /** Special tokens. */
  special_tokens: SpecialToken[];
  /** What in its folder is ignored. */
  warnings: string[];
};

/** The stack of a model. */
export type ModelKind = "decoder" | "encoder" | "encoder-decoder" | "recurrent" | "unknown";

/** Where a model comes from. */
export type ModelSource = "demo" | "run" | "folder" | "snapshot";

/** Whether a model can be used. */
export type ModelState = "ready" | "damaged" | "absent" | "training";

/** Which sequence rows belong to. */
export type Of = "source" | "target" | "other";

/** Where a factor comes from. */
export type Origin = {
  element: Element;
  kind: "element";
  /** The tensor it belongs to. */
  name: string;
} | {
  element: Element;
  kind: "param";
  /** Its name, with row and column. */
  name: string;
} | {
  kind: "constant";
  /** Its letter. */
  symbol: string;
};

/** A parameter. */
export type Param = {
  /** Its numbers. */
  count: number;
  /** How it is stored. */
  dtype: string;
  /** Its name in the model. */
  name: string;
  /** Its shape. */
  shape: number[];
  /** Whether it is trained. */
  trained: boolean;
};

/** A forward pass. */
export type Pass = {
  /** All attentions. */
  attentions: Attention[];
  /** What to type for the same numbers. */
  command: string;
  /** What was changed. */
  edits: Edit[];
  /** A hash of the model. */
  hash: string;
  /** By which requests name it: the same for the same request. */
  id: string;
  kind: ModelKind;
  logits?: TensorRef | null;
  /** How long it took. */
  milliseconds: number;
  /** The model's id. */
  model: string;
  /** What the numbers do not tell. */
  notes: string[];
  /** What each row of the target should predict. */
  output?: Token[] | null;
  /** What they predict. */
  predictions: Prediction[];
  /** The tokens that were read; of an encoder-decoder those of the source. */
  source: Token[];
  /** The residual stream. */
  stream: Stream[];
  /** What the decoder of an encoder-decoder read, the start token first. */
  target?: Token[] | null;
  /** All tensors. */
  tensors: TensorInfo[];
  /** Of a translator the translation, else the text. */
  text: string;
};

/** A forward pass to run. */
export type PassRequest = {
  /** Changes to the pass. */
  edits?: Edit[];
  /** The model's id. */
  model: string;
  /** The second text of an encoder's pair. */
  second?: string | null;
  /** What the decoder is to predict, as text. */
  target?: string | null;
  /** The same as token ids, without the end token; of a decoder, tokens after the text. */
  target_ids?: number[] | null;
  /** What it reads. */
  text: string;
};

/** What is predicted at a row. */
export type Prediction = {
  chosen?: Ranked | null;
  /** In nats. */
  entropy: number;
  of: Of;
  /** The row of the sequence; null for a head that reads all of it. */
  row?: number | null;
  /** The most likely. */
  top: Ranked[];
};

/** A token or a label with its probability. */
export type Ranked = {
  /** Its id, or the index of the label. */
  id: number;
  /** Its probability. */
  probability: number;
  /** How many are more likely. */
  rank: number;
  /** As it reads. */
  text: string;
};

/** Terms that are not listed. */
export type Rest = {
  /** How many. */
  count: number;
  /** Their sum. */
  sum: number;
};

/** A training run. */
export type Run = {
  /** What to type to resume it. */
  command: string;
  /** Its folder, for people and commands. */
  folder: string;
  /** By which requests name it. */
  id: string;
  /** The last training loss. */
  loss?: number | null;
  /** The id of its model, once there is one. */
  model?: string | null;
  /** For people. */
  name: string;
  /** What went wrong. */
  problem?: string | null;
  /** Weights at earlier steps. */
  snapshots: Snapshot[];
  state: RunState;
  /** Steps done. */
  step: number;
  /** Steps in all; 0 if it is not known yet. */
  steps: number;
  /** What it learns: `gpt`, `translate`, `bert`, … */
  task: string;
};

/** A run with its settings. */
export type RunDetail = {
  /** `config.toml`. */
  config: string;
  /** The last lines that it printed, if it was started here. */
  log: string;
  run: Run;
};

/** What a run is doing. */
export type RunState = "running" | "stopped" | "finished" | "failed" | "elsewhere";

/** All runs. */
export type Runs = {
  /** In the order they were found. */
  runs: Run[];
};

/** A text and its score. */
export type ScoredText = {
  /** Its score. */
  score: number;
  /** The text. */
  text: string;
};

/** Tokens and their score. */
export type ScoredTokens = {
  /** Their score. */
  score: number;
  /** The tokens. */
  tokens: Token[];
};

/** Which side of a translator a text belongs to. */
export type Side = "source" | "target";

/** Weights of a run at a step. */
export type Snapshot = {
  /** The id of the model. */
  model: string;
  /** The step. */
  step: number;
};

/** A special token. */
export type SpecialToken = {
  /** Its id. */
  id: number;
  /** Its text. */
  text: string;
};

/** A run that was started. */
export type Started = {
  /** The id of the run. */
  run: string;
};

/** The residual stream at a place. */
export type Stream = {
  /** The cosine of each row with the row one layer before; 1 after the embeddings. */
  cosines: number[];
  /** The layer it comes out of; null after the embeddings. */
  layer?: number | null;
  /** The length of each row. */
  norms: number[];
  of: Of;
  /** Which of its outputs. */
  output: number;
  /** `layers`, `encoder` or `decoder`. */
  stack: string;
  /** The step that made it. */
  step: number;
};

/** A tensor of a pass. */
export type TensorInfo = {
  /** Columns. */
  columns: number;
  /** Counted from 0. */
  layer?: number | null;
  /** The parameter that made it, or its scope and operation. */
  name: string;
  of: Of;
  /** The operation. */
  operation: string;
  /** Which of its outputs. */
  output: number;
  /** What it is. */
  role: string;
  /** Rows. */
  rows: number;
  /** `layers`, `encoder` or `decoder`. */
  stack?: string | null;
  /** The step that made it. */
  step: number;
};

/** A tensor by its place. */
export type TensorRef = {
  /** Which of its outputs. */
  output: number;
  /** The step that made it. */
  step: number;
};

/** A term of a sum. */
export type Term = {
  /** What is multiplied. */
  factors: Factor[];
  /** Its place among the terms, in their order. */
  index: number;
  /** Its value. */
  value: number;
};

/** A token of a text. */
export type Token = {
  /** Where it ends. */
  end?: number | null;
  /** Its id. */
  id: number;
  /** As the vocabulary spells it. */
  piece: string;
  /** Whether it is a special token. */
  special: boolean;
  /** Where it begins in the text, in UTF-16 code units. */
  start?: number | null;
  /** As it reads. */
  text: string;
  /** Whether it stands for something out of vocabulary. */
  unknown: boolean;
};

/** A text to tokenize. */
export type TokenizeRequest = {
  /** The second of a pair. */
  second?: string | null;
  side?: Side;
  /** The text. */
  text: string;
};

/** A tokenized text. */
export type Tokenized = {
  /** Its characters. */
  characters: number;
  /** Its tokens, special ones included. */
  tokens: Token[];
  too_long?: TooLong | null;
};

/** Tokens. */
export type Tokens = {
  /** In their order. */
  tokens: Token[];
};

/** Token ids to be read. */
export type TokensRequest = {
  /** The ids. */
  ids: number[];
};

/** More tokens than the model reads. */
export type TooLong = {
  /** Tokens the model reads. */
  max: number;
  /** Tokens of the text. */
  tokens: number;
};

/** A run to start. */
export type TrainRequest = {
  arch?: string | null;
  attention?: string | null;
  batch_tokens?: number | null;
  context_length?: number | null;
  /** The id of a corpus. */
  corpus: string;
  heads?: number | null;
  hidden_size?: number | null;
  layers?: number | null;
  learning_rate?: number | null;
  /** The name of its folder. */
  name: string;
  seed?: number | null;
  /** Keep weights at steps 1, 2, 4, 8, … */
  snapshots?: boolean;
  steps?: number | null;
  task: string;
  vocab_size?: number | null;
};

/** What can be trained. */
export type Training = {
  /** Corpora. */
  corpora: Corpus[];
  /** Tasks. */
  tasks: TrainingTask[];
};

/** Sizes of a run. */
export type TrainingSizes = {
  batch_tokens: number;
  context_length: number;
  heads: number;
  hidden_size: number;
  layers: number;
  learning_rate: number;
  seed: number;
  steps: number;
  vocab_size: number;
};

/** A task to train for. */
export type TrainingTask = {
  /** Architectures to choose from. */
  archs: string[];
  defaults: TrainingSizes;
  /** `gpt`, `translate` or `bert`. */
  task: string;
  /** For people. */
  title: string;
};

/** A word and its exact probability. */
export type TrueWord = {
  /** Its token, if the vocabulary has one. */
  id?: number | null;
  /** By the grammar that generates the texts. */
  probability: number;
  /** The word. */
  text: string;
};

/** What may follow. */
export type Truth = {
  /** Whether the text begins a built-in story. */
  is_story: boolean;
  /** The most likely first. */
  next: TrueWord[];
};

/** A text whose next word is asked for. */
export type TruthRequest = {
  /** The beginning of a built-in story. */
  text: string;
};
