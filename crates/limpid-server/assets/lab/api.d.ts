// Stands in until the generated file is there.
export interface Lab { version: string; threads: number; simd: string; models: Model[]; runs: Run[]; demo: Demo;
  limits: { max_tokens: number; max_body: number; max_numbers: number } }
export interface Model { id: string; name: string; kind: "decoder"|"encoder"|"encoder-decoder"|"recurrent"|"unknown";
  task: string; source: string; folder: string; state: "ready"|"damaged"|"absent"|"training"; problem?: string | null;
  parameters: number; layers: number; heads: number; width: number; vocab_size: number; context: number;
  has_tokenizer: boolean; is_story: boolean; languages?: [string, string] | null; example: string; attention: boolean; hash: string | null }
export interface Param { name: string; shape: number[]; count: number; trained: boolean; dtype: string; file?: string | null }
export interface ModelDetail { model: Model; model_type: string; params: Param[]; facts: { name: string; value: string }[];
  special_tokens: { id: number; text: string }[]; warnings: string[]; missing: string[] }
export interface Cost { tokens: number; modules: { name: string; parameters: number; flops: number; bytes: number }[];
  flops: number; parameter_bytes: number; activation_bytes: number; cache_bytes: number }
export interface Token { id: number; text: string; piece: string; special: boolean; unknown: boolean; start?: number | null; end?: number | null }
export interface Attention { index: number; step: number; name: string; stack: string; layer: number; kind: "self"|"cross";
  heads: number; kv_heads: number; head_dim: number; queries: "source"|"target"; keys: "source"|"target"; t: number; s: number; causal: boolean; window: number | null }
export interface TensorInfo { step: number; output: number; name: string; scope: string; operation: string; role: string; stack: string;
  layer: number | null; rows: number; columns: number; of: "source"|"target"|"other" }
export interface Stream { stack: string; layer: number | null; step: number; output: number; of: "source"|"target"|"other"; norms: number[]; cosines: number[] }
export interface Scored { id: number; text: string; probability: number; rank: number }
export interface Prediction { row: number | null; of: "target"|"source"; chosen: Scored | null; top: Scored[]; entropy: number }
export interface Pass { id: string; model: string; kind: string; hash: string; command: string; milliseconds: number; source: Token[];
  target: Token[] | null; output: Token[] | null; text: string; attentions: Attention[]; tensors: TensorInfo[]; stream: Stream[];
  logits: { step: number; output: number } | null; predictions: Prediction[]; edits: Edit[]; notes: string[] }
export interface HeadRole { attention: number; head: number; role: string; share: number; entropy: number; distance: number }
export type Edit = { kind: "head"; attention: string; layer: number; head: number; how: string; from?: string }
  | { kind: "stream"; stack: string; layer: number; position: number | null; how: string; from?: string }
  | { kind: "ffn"; stack: string; layer: number; how: string; from?: string };
export interface Ablation { before: Pass; after: Pass; rows: { row: number; token: Token; before: number; after: number; delta: number }[];
  delta: number; kl: number[]; text_before: string; text_after: string }
export type Element = { kind: "output"; step: number; output: number; row: number; column: number }
  | { kind: "weight" | "score"; step: number; head: number; query: number; key: number }
  | { kind: "recurrent"; step: number; part: string; key?: number; row: number; column: number }
  | { kind: "param"; name: string; row: number; column: number };
export type Origin = { kind: "element"; element: Element; name: string } | { kind: "param"; element: Element; name: string }
  | { kind: "constant"; symbol: string };
export interface Factor { value: number; origin: Origin }
export interface Term { value: number; factors: Factor[] }
export interface Explained { element: Element; name: string; role: string; operation: string; formula: string; value: number; terms: Term[];
  rest: { count: number; sum: number }; count: number; sum: number; again: number; ulps: number; magnitude: number; token?: Token | null;
  position?: number | null; row_token?: Token | null; column_token?: Token | null; file?: { tensor: string; row: number; column: number; dtype: string; file: string } | null; note?: string | null }
export interface GenStep { step: number; chosen: Token; u: number | null; top: (Scored & { processed: number; filtered: number })[]; omitted: number;
  entropy: number; truth?: { text: string; id: number | null; probability: number }[] | null }
export interface Generation { id: string; model: string; prompt: Token[]; prefix: Token[]; steps: GenStep[]; text: string; ids: number[]; finish: string; command: string }
export interface Beams { prompt: Token[]; steps: { step: number; beams: { tokens: Token[]; log_probability: number; next: { id: number; text: string; log_probability: number }[] }[];
  candidates: { beam: number; id: number; text: string; log_probability: number; sum: number; finishes: boolean; kept: boolean }[];
  running: { tokens: Token[]; score: number }[]; finished: { tokens: Token[]; score: number }[] }[]; results: { text: string; score: number }[] }
export interface Lens { tokens: Token[]; layers: string[]; norm: string; cells: { top: Scored[]; entropy: number; next_rank: number | null }[][] }
export interface FillMask { tokens: Token[]; masks: { index: number; hidden: Token | null; predictions: { id: number; text: string; probability: number; truth: number | null }[]; truth: { text: string; probability: number }[] | null; truth_note?: string | null }[] }
export interface TrainDefaults { layers: number; heads: number; hidden_size: number; context_length: number; steps: number; batch_tokens: number; learning_rate: number; seed: number }
export interface Training { tasks: { task: "gpt"|"translate"|"bert"; title: string; archs: string[]; defaults: TrainDefaults }[];
  corpora: { id: string; title: string; tasks: string[]; lines: number; bytes: number; builtin: boolean }[] }
export interface TrainRequest extends Partial<TrainDefaults> { name: string; task: string; corpus: string; arch?: string; attention?: string; vocab_size?: number; snapshots?: boolean }
export interface Estimate { parameters: number; memory_bytes: number; available_bytes: number | null; tokens_per_step: number; seconds: number | null; fits: boolean;
  problem?: { message: string; hint: string } | null }
export interface Run { id: string; name: string; folder: string; state: string; task: string; step: number; steps: number; loss: number | null;
  model?: string | null; problem?: string | null; snapshots: { step: number; model: string }[]; command: string }
export interface RunDetail { run: Run; config: string; log: string }
export type Metric = Record<string, any>;
export interface Demo { state: "absent"|"training"|"ready"|"failed"; models: { id: string; title: string; state: string; step: number; steps: number; loss: number | null; seconds_left: number | null }[]; problem?: string | null }
export interface ExampleInfo { name: string; title: string; summary: string; options: { name: string; kind: string; help: string; default: string; choices?: string[] | null }[]; see_also: string[] }
export interface ExperimentInfo { name: string; claim: string; minutes: number; state: string; line: string; effort?: string | null; verdict?: string | null }
