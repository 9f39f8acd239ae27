"""What a fixture remembers of a model: logits, losses, gradients, ten AdamW losses, and tokens of
greedy and of beam search.

Sequences of a batch have different lengths. They are run one at a time, so nothing here depends on
how padding is masked, and their rows are concatenated ("packed") in the order of the batch."""

import copy

import torch
import torch.nn.functional as F

GREEDY_TOKENS = 8
TRANSLATION_LIMIT = 10
BEAMS = 3
LABEL_SMOOTHING = 0.1
# A greedy choice closer than this could fall the other way in another order of summation.
SMALLEST_MARGIN = 1e-3


def packed(sequences):
    """Ids of all sequences one after the other, and the length of each."""
    flat = [token for sequence in sequences for token in sequence]
    return torch.tensor(flat), torch.tensor([len(sequence) for sequence in sequences])


def unpacked(ids, lengths):
    return [part.tolist() for part in ids.split(lengths.tolist())]


# --- decoder-only: GPT-1 and GPT-2 ----------------------------------------------------------------


def gpt_logits(model, sequences):
    return torch.cat([model(torch.tensor([ids]), use_cache=False).logits[0] for ids in sequences])


def gpt_loss(model, sequences):
    """Mean negative log-likelihood over every position of the batch that has a next token."""
    rows = gpt_logits(model, sequences).split([len(ids) for ids in sequences])
    predictions = torch.cat([row[:-1] for row in rows])
    targets = torch.tensor([token for ids in sequences for token in ids[1:]])
    return F.cross_entropy(predictions, targets)


@torch.no_grad()
def gpt_greedy(model, prompt):
    ids = list(prompt)
    for _ in range(GREEDY_TOKENS):
        ids.append(clear_winner(gpt_logits(model, [ids])[-1]))
    return torch.tensor(ids[len(prompt) :])


def clear_winner(logits):
    best, second = logits.topk(2).values.tolist()
    assert best - second > SMALLEST_MARGIN, f"greedy choice too close to call: {best} and {second}"
    return int(logits.argmax())


@torch.no_grad()
def beam_search(model, ids):
    """The new tokens of `generate` with three beams; the end token is kept where it came."""
    inputs, translates = torch.tensor([ids]), model.config.is_encoder_decoder
    # Without a cache: T5's has as many layers as the encoder.
    options = dict(num_beams=BEAMS, do_sample=False, use_cache=False)
    options["attention_mask"] = torch.ones_like(inputs)
    options["max_new_tokens"] = TRANSLATION_LIMIT if translates else GREEDY_TOKENS
    found = []
    for variant in [model, copy.deepcopy(model).double()]:
        tokens = variant.generate(inputs, **options)[0].tolist()[1 if translates else len(ids) :]
        end = variant.generation_config.eos_token_id
        found.append(tokens[: tokens.index(end) + 1] if end in tokens else tokens)
    assert found[0] == found[1], f"beams too close to call: {found}"
    return found[0]


# --- encoder-decoder: Marian and Pegasus ----------------------------------------------------------


def decoder_input(model, target):
    return [model.config.decoder_start_token_id] + target[:-1]


def seq2seq_run(model, source, decoder_ids):
    return model(
        input_ids=torch.tensor([source]),
        decoder_input_ids=torch.tensor([decoder_ids]),
        use_cache=False,
    )


def seq2seq_outputs(model, sources, targets):
    """Packed logits (target rows) and packed encoder outputs (source rows)."""
    outputs = [seq2seq_run(model, s, decoder_input(model, t)) for s, t in zip(sources, targets)]
    logits = torch.cat([output.logits[0] for output in outputs])
    return logits, torch.cat([output.encoder_last_hidden_state[0] for output in outputs])


def seq2seq_loss(model, sources, targets, smoothing):
    """Mean over every target token of the batch."""
    logits, _ = seq2seq_outputs(model, sources, targets)
    return F.cross_entropy(logits, packed(targets)[0], label_smoothing=smoothing)


@torch.no_grad()
def seq2seq_greedy(model, source):
    """Argmax until the end token, which is kept, or the limit. BART also starts with it."""
    start, end = model.config.decoder_start_token_id, model.config.eos_token_id
    tokens = []
    while len(tokens) < TRANSLATION_LIMIT and tokens[-1:] != [end]:
        logits = seq2seq_run(model, source, [start, *tokens]).logits
        tokens.append(clear_winner(logits[0, -1]))
    return tokens


@torch.no_grad()
def check_padded_batch(model, sources, targets):
    """One padded batch must give what the sequences gave one at a time."""
    pad = model.config.pad_token_id
    rectangle = lambda rows: torch.tensor(
        [r + [pad] * (max(map(len, rows)) - len(r)) for r in rows]
    )
    source, inputs = rectangle(sources), rectangle([decoder_input(model, t) for t in targets])
    mask = torch.tensor([[int(i < len(s)) for i in range(source.shape[1])] for s in sources])
    together = model(
        input_ids=source, attention_mask=mask, decoder_input_ids=inputs, use_cache=False
    ).logits
    together = torch.cat([rows[: len(t)] for rows, t in zip(together, targets)])
    alone, _ = seq2seq_outputs(model, sources, targets)
    assert (together - alone).abs().max() < 1e-5 * alone.abs().max(), "padding changes the logits"


# --- encoder: BERT --------------------------------------------------------------------------------


def bert_run(model, ids, types, **options):
    inputs = type_inputs(model, torch.tensor([types]))
    return model(input_ids=torch.tensor([ids]), **inputs, **options)


def type_inputs(model, types):
    """Token types, if the model sees them."""
    return {"token_type_ids": types} if hasattr(model.config, "type_vocab_size") else {}


def bert_outputs(model, sequences, types, of):
    """A packed output of the sequences, run one at a time; `of` picks it."""
    return torch.cat([of(bert_run(model, ids, kinds))[0] for ids, kinds in zip(sequences, types)])


def bert_hidden_states(model, sequences, types):
    """Packed states after the embeddings and after each layer: (layers + 1, n, c)."""
    states = [
        torch.cat(bert_run(model, ids, kinds, output_hidden_states=True).hidden_states)
        for ids, kinds in zip(sequences, types)
    ]
    return torch.cat(states, dim=1)


def bert_word_loss(model, sequences, types, masked, of):
    """Mean over every masked position of the batch, with all positions through the decoder as
    usual."""
    return F.cross_entropy(bert_outputs(model, sequences, types, of), packed(masked)[0])


def bert_class_loss(model, sequences, types, classes, of):
    """Mean over the sequences."""
    logits = torch.cat([of(bert_run(model, ids, kinds)) for ids, kinds in zip(sequences, types)])
    return F.cross_entropy(logits, torch.tensor(classes))


@torch.no_grad()
def check_padded_encoder(model, sequences, types, of):
    """One padded batch must give what the sequences gave one at a time."""
    pad = lambda rows: torch.tensor([r + [0] * (max(map(len, rows)) - len(r)) for r in rows])
    mask = pad([[1] * len(ids) for ids in sequences])
    inputs = type_inputs(model, pad(types))
    together = of(model(input_ids=pad(sequences), attention_mask=mask, **inputs))
    if together.dim() == 3:
        together = torch.cat([rows[: len(ids)] for rows, ids in zip(together, sequences)])
        alone = bert_outputs(model, sequences, types, of)
    else:
        alone = torch.cat([of(bert_run(model, ids, kinds)) for ids, kinds in zip(sequences, types)])
    assert (together - alone).abs().max() < 1e-5 * alone.abs().max(), "padding changes the result"


# --- training -------------------------------------------------------------------------------------


def gradients(model, loss_of):
    """The gradient of every trainable parameter; a tied one appears once, with the sum, under the
    name that files have."""
    model.zero_grad()
    loss_of(model).backward()
    name_of = lambda name: getattr(model, "all_tied_weights_keys", {}).get(name, name)
    trained = ((name, p) for name, p in model.named_parameters() if p.requires_grad)
    found = {name_of(name): p.grad.clone() for name, p in trained}
    model.zero_grad()
    return found


def adamw_run(model, loss_of, steps=10):
    """Loss and gradient norm before each of ten AdamW steps, always on the same batch."""
    model = copy.deepcopy(model)
    trainable = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trainable if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in trainable if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.98), eps=1e-8)
    losses, norms = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        # Scales by min(1, 1 / (norm + 1e-6)); the norm it returns is the one before.
        norms.append(torch.nn.utils.clip_grad_norm_(trainable, 1.0).item())
        losses.append(loss.item())
        optimizer.step()
    return torch.tensor(losses), torch.tensor(norms)


def without_padding_idx(model):
    """A copy whose embeddings also send gradient to the padding row (see README)."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return model
