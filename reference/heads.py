"""Fixtures of heads: sequence classification of every problem type, token classification, question
answering, and sequence classification on decoders."""

import torch
import transformers as hf

from models import (
    DECODER_IDS,
    ENCODER_IDS,
    ENCODER_TYPES,
    MPNET_IDS,
    TRAINING,
    Fixture,
    bert_config,
    bert_labels,
    distilbert_config,
    gpt1_config,
    gpt2_config,
    modernbert_config,
    mpnet_config,
    neox_config,
    opt_config,
    roberta_config,
    rotary_config,
    wide_heads,
)
from quantities import adamw_run, gradients, packed, type_inputs, without_padding_idx

# Labels of tokens; -100 where there is none.
TAGS = [[-100, 2, 0, -100, 1, 4, -100], [3], [-100, 1, 1, 0, -100, 2, -100, 3, 4, 4, -100]]
# First and last token of each answer; the last sequence has none: the end lies behind it.
STARTS, ENDS = [2, 0, 6], [4, 0, 30]
# Texts of a decoder: one ends with padding (token 5), one is nothing but padding.
PAD = 5
CLASSIFIED_IDS = [*DECODER_IDS, [7, PAD, 11, PAD, PAD], [PAD, PAD]]


def values(sequences, labels, problem):
    """Targets of each sequence: real numbers, or which labels apply."""
    cell = lambda i, j: float((i * 5 + j * 3) % 4) / 2 - 0.5
    applies = lambda i, j: float((i * 5 + j * 3) % 2)
    of = cell if problem == "regression" else applies
    return torch.tensor([[of(i, j) for j in range(labels)] for i in range(sequences)])


def five_tags():
    labels = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    return dict(
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)}
    )


def score(count):
    labels = [f"score {i}" for i in range(count)]
    return dict(
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)}
    )


# Where the usual seed gives a token two logits so small that PyTorch's own f32 and f64 differ.
SEEDS = {"modernbert-answers": 310}
REGRESSION = dict(problem_type="regression")
MULTI_LABEL = dict(problem_type="multi_label_classification")


def encoder_fixtures():
    families = {
        "bert": ("Bert", bert_config, None),
        "roberta": ("Roberta", roberta_config, None),
        "xlm-roberta": ("XLMRoberta", lambda **c: roberta_config(hf.XLMRobertaConfig, **c), None),
        "camembert": ("Camembert", lambda **c: roberta_config(hf.CamembertConfig, **c), None),
        "distilbert": ("DistilBert", lambda **c: distilbert_config(qa_dropout=0.0, **c), None),
        "electra": (
            "Electra",
            lambda **c: bert_config(hf.ElectraConfig, embedding_size=10, **c),
            None,
        ),
        "mpnet": ("MPNet", mpnet_config, MPNET_IDS),
        "modernbert": ("ModernBert", modernbert_config, None),
    }
    # Every kind of sequence classification, each in two families or more.
    sequence = {
        "bert-regression": score(1),
        "bert-values": {**score(3), **REGRESSION},
        "bert-labels": {**bert_labels(), **MULTI_LABEL},
        "roberta-regression": {**score(1), **REGRESSION},
        "distilbert-labels": {**bert_labels(), **MULTI_LABEL},
        "electra-regression": {**score(1), **REGRESSION},
        "mpnet-labels": {**score(1), **MULTI_LABEL},
        "modernbert-labels": {**bert_labels(), **MULTI_LABEL, "classifier_pooling": "mean"},
        "modernbert-mean": {**bert_labels(), "classifier_pooling": "mean"},
    }
    seed = 100
    for family, (prefix, config, ids) in families.items():
        heads = [
            (f"{family}-tags", "TokenClassification", five_tags()),
            (f"{family}-answers", "QuestionAnswering", {}),
        ]
        heads += [
            (name, "SequenceClassification", changes)
            for name, changes in sequence.items()
            if name.rsplit("-", 1)[0] == family
        ]
        for name, kind, changes in heads:
            seed += 1
            model_class = getattr(hf, f"{prefix}For{kind}")
            chosen = SEEDS.get(name, seed)
            yield Fixture(name, model_class, config(**changes), chosen, TRAINING, ids)


def decoder_fixtures():
    labels = bert_labels()
    pad = dict(pad_token_id=PAD)
    configs = {
        "gpt2": ("GPT2", gpt2_config(**labels, **pad)),
        "gpt1": ("OpenAIGPT", gpt1_config()),
        "llama": ("Llama", rotary_config(hf.LlamaConfig, **labels, **pad)),
        "mistral": (
            "Mistral",
            rotary_config(hf.MistralConfig, sliding_window=3, **score(1), **REGRESSION, **pad),
        ),
        "qwen2": ("Qwen2", rotary_config(hf.Qwen2Config, **labels, **MULTI_LABEL, **pad)),
        "qwen3": ("Qwen3", wide_heads(hf.Qwen3Config, **labels)),
        "gemma": ("Gemma", wide_heads(hf.GemmaConfig, **labels, **pad)),
        "neox": ("GPTNeoX", neox_config(**labels, **pad)),
        "phi": (
            "Phi",
            rotary_config(
                hf.PhiConfig, num_attention_heads=2, num_key_value_heads=1, **labels, **pad
            ),
        ),
        "opt": ("OPT", opt_config(**labels, **pad)),
    }
    for i, (name, (prefix, config)) in enumerate(configs.items()):
        model_class = getattr(hf, f"{prefix}ForSequenceClassification")
        yield Fixture(f"{name}-classifier", model_class, config, 200 + i, TRAINING)


FIXTURES = [*encoder_fixtures(), *decoder_fixtures()]
NAMES = {fixture.name for fixture in FIXTURES}


def outputs(model, sequences, types, targets):
    """What the model makes of each sequence alone, its own loss included."""
    for i, (ids, kinds) in enumerate(zip(sequences, types)):
        yield model(
            input_ids=torch.tensor([ids]),
            **type_inputs(model, torch.tensor([kinds])),
            **targets(i),
        )


def expected(fixture, model):
    kind = type(model).__name__.split("For")[1]
    is_decoder = fixture.name in {f.name for f in decoder_fixtures()}
    ids = fixture.sources or (CLASSIFIED_IDS if is_decoder else ENCODER_IDS)
    types = [[0] * len(row) for row in ids] if is_decoder else ENCODER_TYPES
    found = {}
    found["ids"], found["lengths"] = packed(ids)
    if not is_decoder:
        found["types"], _ = packed(types)
    weights = [1 / len(ids)] * len(ids)
    if kind == "TokenClassification":
        found["tags"], _ = packed(TAGS)
        targets = lambda i: dict(labels=torch.tensor([TAGS[i]]))
        of = lambda o: o.logits[0]
        counts = [sum(tag >= 0 for tag in row) for row in TAGS]
        weights = [count / sum(counts) for count in counts]
    elif kind == "QuestionAnswering":
        found["starts"], found["ends"] = torch.tensor(STARTS), torch.tensor(ENDS)
        one = lambda position: torch.tensor([position])
        targets = lambda i: dict(start_positions=one(STARTS[i]), end_positions=one(ENDS[i]))
        of = lambda o: torch.stack([o.start_logits[0], o.end_logits[0]], dim=-1)
    else:
        problem, count = model.config.problem_type, model.config.num_labels
        if problem in ("regression", "multi_label_classification") or count == 1:
            goal = values(len(ids), count, problem or "regression")
            found["values"] = goal
        else:
            goal = torch.tensor([(i * 2 + i // 2) % count for i in range(len(ids))])
            found["classes"] = goal
        targets = lambda i: dict(labels=goal[i : i + 1])
        of = lambda o: o.logits
    parts = lambda m: list(outputs(m, ids, types, targets))
    found["logits"] = torch.cat([of(output) for output in parts(model)])
    part = lambda i, o: answer_loss(o, i) if kind == "QuestionAnswering" else o.loss
    loss_of = lambda m: sum(weights[i] * part(i, o) for i, o in enumerate(parts(m)))
    found["loss"] = loss_of(model)
    # Padding is part of the texts of decoders: its row of the embedding learns like any other.
    model = without_padding_idx(model) if is_decoder else model
    found |= {f"grad.{name}": g for name, g in gradients(model, loss_of).items()}
    found["adamw_losses"], found["adamw_grad_norms"] = adamw_run(model, loss_of)
    return found


def answer_loss(output, i):
    """The model's own loss, or half of the start's where the end lies behind the sequence: there
    `transformers` divides nothing by nothing."""
    if not torch.isnan(output.loss):
        return output.loss
    start = torch.tensor([STARTS[i]])
    return torch.nn.functional.cross_entropy(output.start_logits, start) / 2
