"""The recurrent encoder-decoder in PyTorch: what `limpid-rnn` folders hold (docs/formats.md),
written with `nn.RNN`, `nn.GRU`, `nn.LSTM`.

Its `state_dict` has the names and shapes of a folder's model.safetensors.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LAYERS = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
CELLS = {"tanh": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}


class Rnn(nn.Module):
    """config is the dictionary of a config.json."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        e, h, layers = config["embedding_size"], config["hidden_size"], config["num_layers"]
        self.cell, self.attends = config["cell"], config["attention"]
        ways = 2 if config["bidirectional"] else 1
        m = ways * h
        context = 0 if self.attends == "none" else m
        layer = LAYERS[self.cell]
        dropout = config["dropout"] if layers > 1 else 0.0
        looked_up = m if self.attends == "additive" else 0
        self.encoder, self.decoder = nn.Module(), nn.Module()
        if config["share_encoder_decoder_embeddings"]:
            self.shared = nn.Embedding(config["vocab_size"], e)
        else:
            self.encoder.embed_tokens = nn.Embedding(config["vocab_size"], e)
            self.decoder.embed_tokens = nn.Embedding(config["decoder_vocab_size"], e)
        self.encoder.rnn = layer(
            e, h, layers, batch_first=True, bidirectional=ways == 2, dropout=dropout
        )
        self.decoder.rnn = layer(e + looked_up, h, layers, batch_first=True, dropout=dropout)
        if ways == 2:
            self.bridge = nn.Module()
            parts = ["hidden", "memory"] if self.cell == "lstm" else ["hidden"]
            for part in parts:
                setattr(self.bridge, part, nn.ModuleList(nn.Linear(m, h) for _ in range(layers)))
        if self.attends == "additive":
            k = config["attention_size"]
            self.attention = nn.Module()
            self.attention.query = nn.Linear(h, k, bias=False)
            self.attention.key = nn.Linear(m, k, bias=False)
            self.attention.score = nn.Linear(k, 1, bias=False)
        if self.attends == "dot" and m != h:
            self.attention = nn.Module()
            self.attention.key = nn.Linear(m, h, bias=False)
        self.readout = nn.Linear(h + context + e, e)
        self.lm_head = nn.Linear(e, config["decoder_vocab_size"])
        if config["tie_word_embeddings"]:
            self.lm_head.weight = self.target_table().weight
        self.dropout = nn.Dropout(config["dropout"])

    def source_table(self):
        return self.shared if hasattr(self, "shared") else self.encoder.embed_tokens

    def target_table(self):
        return self.shared if hasattr(self, "shared") else self.decoder.embed_tokens

    def encode(self, source, lengths):
        """source (b, s), padded; lengths (b). The states of all tokens (b, s, m), which are no
        padding, and the decoder's first state."""
        x = self.dropout(self.source_table()(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder.rnn(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        visible = torch.arange(states.shape[1])[None] < lengths[:, None]
        return states, visible, self.first_state(last)

    def first_state(self, last):
        if not hasattr(self, "bridge"):
            return last
        # (layers · 2, b, h) -> (layers, b, 2h)
        sides = lambda x: x.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)
        through = lambda linears, x: torch.stack(
            [linear(x) for linear, x in zip(linears, sides(x))]
        )
        if self.cell == "lstm":
            return torch.tanh(through(self.bridge.hidden, last[0])), through(
                self.bridge.memory, last[1]
            )
        return torch.tanh(through(self.bridge.hidden, last))

    def decode(self, inputs, states, visible, first):
        """Logits (b, t, v) after each token of inputs (b, t); the last state; the attention (b, t,
        s), if there is one."""
        words = self.dropout(self.target_table()(inputs))
        if self.attends == "additive":
            said, contexts, last, weights = self.look_before_each_step(
                words, states, visible, first
            )
            parts = [said, contexts, words]
        else:
            said, last = self.decoder.rnn(words, first)
            parts, weights = [said, words], None
            if self.attends == "dot":
                keys = self.attention.key(states) if hasattr(self, "attention") else states
                scores = (said @ keys.transpose(1, 2)).masked_fill(~visible[:, None], -torch.inf)
                weights = scores.softmax(-1)
                parts = [said, weights @ states, words]
        hidden = self.dropout(torch.tanh(self.readout(torch.cat(parts, -1))))
        return self.lm_head(hidden), last, weights

    def look_before_each_step(self, words, states, visible, first):
        """Bahdanau's decoder: the query is the first layer's state before the step; layers above
        run on what it says."""
        rnn, keys = self.decoder.rnn, self.attention.key(states)
        memory = self.cell == "lstm"
        layers = [
            [
                getattr(rnn, f"{name}_l{l}")
                for name in ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
            ]
            for l in range(rnn.num_layers)
        ]
        state = [(first[0][l], first[1][l]) if memory else first[l] for l in range(rnn.num_layers)]
        cell, said, contexts, attention = CELLS[self.cell], [], [], []
        for i in range(words.shape[1]):
            query = self.attention.query(state[0][0] if memory else state[0])
            scores = self.attention.score(torch.tanh(query[:, None] + keys))[..., 0]
            weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
            context = (weights[:, None] @ states)[:, 0]
            x = torch.cat([words[:, i], context], -1)
            for l, layer in enumerate(layers):
                x = self.dropout(x) if l > 0 else x
                state[l] = cell(x, state[l], *layer)
                x = state[l][0] if memory else state[l]
            said.append(x)
            contexts.append(context)
            attention.append(weights)
        stack = lambda part: torch.stack([s[part] for s in state])
        last = (stack(0), stack(1)) if memory else torch.stack(state)
        return torch.stack(said, 1), torch.stack(contexts, 1), last, torch.stack(attention, 1)

    def forward(self, source, lengths, inputs):
        states, visible, first = self.encode(source, lengths)
        return self.decode(inputs, states, visible, first)[0]
