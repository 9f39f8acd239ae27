// Answers that are not of the lab's own types: worked examples, experiments, lines of metrics.

/** A worked example, and what can be replaced in it. */
export type ExampleInfo = {
  name: string;
  title: string;
  summary: string;
  options: {
    name: string;
    kind: string;
    help: string;
    default: string;
    choices?: string[];
  }[];
  see_also: string[];
};

/** An experiment, and what became of it. */
export type ExperimentInfo = {
  name: string;
  claim: string;
  minutes: number;
  state: string;
  line: string;
  effort: string | null;
  verdict: string | null;
};

/** A line of `metrics.jsonl`. */
export type Metric = Record<string, any>;
