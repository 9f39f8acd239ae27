//! Every route answers what the library computes alone.

use super::support::{Folder, Running, SENTENCES};
use limpid::encode::{Aggregation, AnswerOptions};
use limpid::generate::GenerationOptions;
use limpid::hub::{self, AdapterConfig};
use limpid::model::config::EncoderHead;
use limpid::{
    Classifier, Embedder, FillMask, Generator, QuestionAnswerer, Reranker, Scorer, TokenClassifier,
    Translator,
};
use limpid_server::{ModelSource, Models};
use serde_json::{Value, json};
use std::path::PathBuf;

#[test]
fn completions_are_those_of_the_library_streamed_or_not() {
    let folder = Folder::new("completions");
    let gpt = folder.gpt();
    let server = Running::start(std::slice::from_ref(&gpt), |_| ());
    let generator = Generator::load(&gpt).unwrap();
    let greedy = generator.prompt("the cat").max_new_tokens(12).generate().unwrap();
    let ask = json!({"model": "gpt", "prompt": "the cat", "max_tokens": 12});
    let answer = server.post("/v1/completions", &ask).json();
    assert_eq!(answer["choices"][0]["text"], greedy);
    assert_eq!(answer["object"], "text_completion");
    assert_eq!(answer["usage"]["prompt_tokens"], 2);

    let options = GenerationOptions {
        temperature: Some(0.9),
        top_p: Some(0.95),
        seed: Some(3),
        num_return_sequences: Some(3),
        max_new_tokens: Some(9),
        stop_strings: Some(vec!["mat".into()]),
        ..GenerationOptions::default()
    };
    let prompts = ["the cat", "a dog"];
    let want = generator.generate_batch(&prompts, &options).unwrap();
    let want: Vec<&str> = want.iter().flatten().map(|text| text.text.as_str()).collect();
    let mut ask = json!({
        "prompt": prompts, "max_tokens": 9, "temperature": 0.9, "top_p": 0.95, "seed": 3, "n": 3,
        "stop": "mat", "presence_penalty": null, "logit_bias": {},
    });
    let answer = server.post("/v1/completions", &ask).json();
    let texts: Vec<&str> =
        answer["choices"].as_array().unwrap().iter().map(|c| c["text"].as_str().unwrap()).collect();
    assert_eq!(texts, want);

    ask["stream"] = true.into();
    ask["stream_options"] = json!({"include_usage": true});
    let answer = server.post("/v1/completions", &ask);
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
    let mut streamed = vec![String::new(); 6];
    let events = answer.events();
    for event in &events {
        for choice in event["choices"].as_array().unwrap() {
            let index = choice["index"].as_u64().unwrap() as usize;
            streamed[index].push_str(choice["text"].as_str().unwrap());
        }
    }
    assert_eq!(streamed, want);
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 4);

    let beams = generator.prompt("the").num_beams(3).max_new_tokens(5).generate().unwrap();
    let ask = json!({"prompt": "the", "num_beams": 3, "max_tokens": 5, "echo": true});
    let answer = server.post("/v1/completions", &ask).json();
    assert_eq!(answer["choices"][0]["text"], format!("the{beams}"));
    server.join();
}

#[test]
fn a_prompt_longer_than_a_chunk_gives_the_text_it_gives_in_one_piece() {
    let folder = Folder::new("chunks");
    let gpt = folder.gpt();
    let server = Running::start(std::slice::from_ref(&gpt), |_| ());
    let generator = Generator::load(&gpt).unwrap();
    for words in [127, 128, 129, 130, 257, 300] {
        let text: Vec<&str> =
            SENTENCES.iter().flat_map(|s| s.split(' ')).cycle().take(words).collect();
        let text = text.join(" ");
        let want = generator.prompt(text.as_str()).max_new_tokens(8).generate().unwrap();
        let ask = json!({"prompt": text, "max_tokens": 8});
        let answer = server.post("/v1/completions", &ask).json();
        assert_eq!(answer["choices"][0]["text"], want, "{words} words");
    }
}

#[test]
fn log_probabilities_and_traces_add_up() {
    let folder = Folder::new("logprobs");
    let server = Running::start(&[folder.gpt()], |_| ());
    let ask = json!({"prompt": "the cat", "max_tokens": 4, "logprobs": 3, "inspect": {"trace": 4}});
    let answer = server.post("/v1/completions", &ask).json();
    let logprobs = &answer["choices"][0]["logprobs"];
    let tokens = logprobs["tokens"].as_array().unwrap().len();
    assert!(tokens > 0);
    for i in 0..tokens {
        let chosen = logprobs["token_logprobs"][i].as_f64().unwrap();
        let top = logprobs["top_logprobs"][i].as_object().unwrap();
        // Greedy search: the chosen token is the most likely.
        let best = top.values().map(|p| p.as_f64().unwrap()).fold(f64::MIN, f64::max);
        assert!((chosen - best).abs() < 1e-6 && chosen < 0.0, "{logprobs}");
        assert_eq!(top.len(), 3);
        let step = &answer["inspect"][0]["trace"][0][i];
        let p = step["candidates"][0]["probability"].as_f64().unwrap();
        assert!((p.ln() - chosen).abs() < 1e-4, "{step}");
    }
}

#[test]
fn a_chat_is_the_completion_of_its_rendered_template() {
    let folder = Folder::new("chat");
    let gpt = folder.gpt();
    let server = Running::start(std::slice::from_ref(&gpt), |_| ());
    let generator = Generator::load(&gpt).unwrap();
    let mut chat = generator.chat().unwrap().system("so good");
    let options = GenerationOptions { max_new_tokens: Some(6), ..GenerationOptions::default() };
    chat = chat.options(options);
    let want = chat.send("the cat").unwrap();
    let messages = json!([{"role": "system", "content": "so good"},
        {"role": "user", "content": [{"type": "text", "text": "the cat"}]}]);
    let mut ask = json!({"model": "gpt", "messages": messages, "max_completion_tokens": 6});
    let answer = server.post("/v1/chat/completions", &ask).json();
    assert_eq!(answer["choices"][0]["message"]["content"], want);
    ask["stream"] = true.into();
    let events = server.post("/v1/chat/completions", &ask).events();
    let said: String = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, want);
    assert!(events.last().unwrap()["choices"][0]["finish_reason"].is_string());
}

#[test]
fn embeddings_are_those_of_the_library_in_every_dialect() {
    let folder = Folder::new("embeddings");
    let encoder = folder.encoder("masked", EncoderHead::MaskedLm);
    let server = Running::start(std::slice::from_ref(&encoder), |_| ());
    let texts = [SENTENCES[0], SENTENCES[1], "so bad"];
    let want = Embedder::load(&encoder).unwrap().embed(&texts).unwrap();
    let close = |got: &Value, want: &[f32]| {
        let got: Vec<f32> =
            got.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
        assert_eq!(got, want);
    };
    let answer = server.post("/v1/embeddings", &json!({"input": texts, "model": "masked"})).json();
    let tei = server.post("/embed", &json!({"inputs": texts})).json();
    let hf = server.post("/models/masked/pipeline/feature-extraction", &json!({"inputs": texts}));
    for (i, want) in want.iter().enumerate() {
        close(&answer["data"][i]["embedding"], want);
        close(&tei[i], want);
        close(&hf.json()[i], want);
    }
    let ask = json!({"input": texts[2], "encoding_format": "base64"});
    let answer = server.post("/v1/embeddings", &ask).json();
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(answer["data"][0]["embedding"].as_str().unwrap())
        .unwrap();
    let floats: Vec<f32> =
        bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(floats, want[2]);

    let answer = server.post("/v1/embeddings", &json!({"input": texts[0], "dimensions": 3})).json();
    let short: Vec<f64> = answer["data"][0]["embedding"]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect();
    let norm = want[0][..3].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    for (got, want) in short.iter().zip(&want[0]) {
        assert!((got - f64::from(*want) / norm).abs() < 1e-6);
    }

    let states = server.post("/embed_all", &json!({"inputs": "the cat"})).json();
    assert_eq!(states[0].as_array().unwrap().len(), 4, "[CLS] the cat [SEP]");
    let similar = server.post(
        "/similarity",
        &json!({"inputs": {"source_sentence": texts[0], "sentences": [texts[0], texts[1]]}}),
    );
    let similar = similar.json();
    assert!((similar[0].as_f64().unwrap() - 1.0).abs() < 1e-5);
    let cosine = limpid::encode::cosine(&want[0], &want[1]);
    assert!((similar[1].as_f64().unwrap() - cosine).abs() < 1e-6);
    let ranks = server.post("/rerank", &json!({"query": texts[1], "texts": texts})).json();
    assert_eq!(ranks[0]["index"], 1, "by cosine similarity where there is no cross-encoder");
}

#[test]
fn masks_and_labels_are_those_of_the_library() {
    let folder = Folder::new("heads");
    let folders = folder.all();
    let server = Running::start(&folders, |_| ());
    let want = FillMask::load(&folders[2]).unwrap().fill(&["the [MASK] sat"], 3).unwrap();
    let ask = json!({"inputs": "the [MASK] sat", "parameters": {"top_k": 3}});
    let got = server.post("/models/masked", &ask).json();
    for (got, want) in got.as_array().unwrap().iter().zip(&want[0][0]) {
        assert_eq!(got["token"], want.id);
        assert_eq!(got["sequence"], want.text);
        assert_eq!(got["score"].as_f64().unwrap() as f32, want.probability);
    }
    let classifier = Classifier::load(&folders[3]).unwrap();
    let want = classifier.classify(&["so good"]).unwrap();
    let got = server.post("/models/classifier", &json!({"inputs": "so good"})).json();
    assert_eq!(got[0][0]["label"], want[0][0].label, "nested");
    assert_eq!(got[0][0]["score"].as_f64().unwrap() as f32, want[0][0].score);
    let got = server.post("/predict", &json!({"inputs": [["so good"], ["so bad"]]})).json();
    assert_eq!(got[0][0]["label"], want[0][0].label);
    let got = server.post("/predict", &json!({"inputs": "so good"})).json();
    assert_eq!(got[0]["label"], want[0][0].label, "flat for one text");
}

#[test]
fn entities_answers_and_relevance_are_those_of_the_library() {
    let folder = Folder::new("tags");
    let folders = folder.all();
    let server = Running::start(&folders, |_| ());
    let (text, other) = (SENTENCES[0], SENTENCES[1]);
    let tagger = TokenClassifier::load(&folders[5]).unwrap();
    for (name, aggregation) in [("none", Aggregation::None), ("simple", Aggregation::Simple)] {
        let want = tagger.tag(&[text, other], aggregation).unwrap();
        let ask = json!({"inputs": [text, other], "parameters": {"aggregation_strategy": name}});
        let got = server.post("/models/tagger", &ask).json();
        for (got, want) in got.as_array().unwrap().iter().zip(&want) {
            let got = got.as_array().unwrap();
            assert_eq!(got.len(), want.len());
            for (got, want) in got.iter().zip(want) {
                let label = if name == "none" { "entity" } else { "entity_group" };
                assert_eq!((&got[label], &got["word"]), (&json!(want.label), &json!(want.word)));
                assert_eq!((&got["start"], &got["end"]), (&json!(want.start), &json!(want.end)));
                assert_eq!(got["score"].as_f64().unwrap() as f32, want.score);
            }
        }
    }
    let answerer = QuestionAnswerer::load(&folders[6]).unwrap();
    let options = AnswerOptions { top_k: 2, ..AnswerOptions::default() };
    let want = answerer.answer("who sat ?", text, options).unwrap();
    let inputs = json!({"question": "who sat ?", "context": text});
    let ask = json!({"inputs": inputs, "parameters": {"top_k": 2}});
    let got = server.post("/models/answerer/pipeline/question-answering", &ask).json();
    assert_eq!(got[0]["answer"], want[0].answer);
    assert_eq!(got[1]["score"].as_f64().unwrap() as f32, want[1].score);
    let got = server.post("/pipeline/question-answering", &json!({"inputs": inputs})).json();
    assert_eq!(got["start"], want[0].start, "one answer has no list around it");

    let reranker = Reranker::load(&folders[4]).unwrap();
    let want = reranker.rank("so good", &[text, other, "so bad"]).unwrap();
    let ask = json!({"query": "so good", "texts": [text, other, "so bad"], "return_text": true});
    let got = server.post("/rerank", &ask).json();
    for (got, want) in got.as_array().unwrap().iter().zip(&want) {
        assert_eq!(got["index"], want.index);
        assert_eq!(got["score"].as_f64().unwrap() as f32, want.score);
        assert_eq!(got["text"], [text, other, "so bad"][want.index]);
    }
    let raw = json!({"query": "so good", "texts": [text], "raw_scores": true});
    let logit = server.post("/rerank", &raw).json()[0]["score"].as_f64().unwrap();
    let score = f64::from(reranker.score(&[("so good", text)]).unwrap()[0]);
    assert!((1.0 / (1.0 + (-logit).exp()) - score).abs() < 1e-6, "{logit} {score}");
}

#[test]
fn an_echo_has_the_log_probabilities_of_the_prompt() {
    let folder = Folder::new("echo");
    let gpt = folder.gpt();
    let server = Running::start(std::slice::from_ref(&gpt), |_| ());
    let want = Scorer::load(&gpt).unwrap().score(&[SENTENCES[0]]).unwrap();
    let ask = json!({"prompt": SENTENCES[0], "max_tokens": 3, "echo": true, "logprobs": 2});
    let answer = server.post("/v1/completions", &ask).json();
    let logprobs = &answer["choices"][0]["logprobs"];
    assert!(logprobs["token_logprobs"][0].is_null() && logprobs["top_logprobs"][0].is_null());
    for (i, want) in want[0].tokens.iter().enumerate() {
        let got = logprobs["token_logprobs"][i + 1].as_f64().unwrap();
        assert!((got - want.log_probability).abs() < 1e-4, "{i} {got}");
        assert_eq!(logprobs["top_logprobs"][i + 1].as_object().unwrap().len(), 2);
    }
    let tokens = logprobs["tokens"].as_array().unwrap();
    assert!(tokens.len() > want[0].tokens.len() + 1, "and those of the text");
    let text: String = tokens.iter().map(|token| token.as_str().unwrap()).collect();
    let last = logprobs["text_offset"].as_array().unwrap().last().unwrap().as_u64().unwrap();
    assert!((last as usize) < text.chars().count());
}

#[test]
fn translations_are_those_of_the_library_and_open_up() {
    let folder = Folder::new("translate");
    let translator = folder.translator();
    let server = Running::start(std::slice::from_ref(&translator), |_| ());
    let library = Translator::load(&translator).unwrap();
    let texts = ["il dort .", "le tapis"];
    let want = library.translate(&texts).unwrap();
    let ask = json!({"q": texts, "source": "fr", "target": "en"});
    let answer = server.post("/translate", &ask).json();
    assert_eq!(answer["translatedText"], json!(want));

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = server.send("POST", "/translate", &form, "q=il+dort+.&source=fr&target=en");
    assert_eq!(answer.json()["translatedText"], want[0]);

    let ask = json!({"q": texts[0], "source": "fr", "target": "en", "alternatives": 2,
        "inspect": {"attention": true, "alignment": true, "timing": true}});
    let answer = server.post("/translate", &ask).json();
    let best = library.request(&texts[..1]).num_beams(3).num_return_sequences(3);
    let best = best.translate_all().unwrap();
    assert_eq!(answer["translatedText"], best[0][0].text);
    assert_eq!(answer["alternatives"], json!([best[0][1].text, best[0][2].text]));
    let attention = library.attention(texts[0], &best[0][0].tokens).unwrap();
    let inspect = &answer["inspect"][0];
    assert_eq!(inspect["attention"]["source"], json!(attention.source));
    assert_eq!(inspect["attention"]["weights"].as_array().unwrap().len(), attention.weights.len());
    assert!(inspect["alignment"].is_array() && inspect["timing"]["compute_ms"].is_number());

    let ask = json!({"q": texts[0], "source": "fr", "target": "en", "stream": true});
    let events = server.post("/translate", &ask).events();
    let text: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, want[0]);
    assert_eq!(events.last().unwrap()["translatedText"], want[0]);

    let languages = server.get("/languages").json();
    assert_eq!(
        languages,
        json!([{"code": "en", "name": "English", "targets": []},
        {"code": "fr", "name": "French", "targets": ["en"]}])
    );
    let got = server.post("/models/fr-en", &json!({"inputs": texts[0]})).json();
    assert_eq!(got, json!([{"translation_text": want[0]}]));
}

#[test]
fn tokens_go_there_and_back() {
    let folder = Folder::new("tokens");
    let server = Running::start(&[folder.encoder("masked", EncoderHead::MaskedLm)], |_| ());
    let got = server.post("/tokenize", &json!({"inputs": "the cat"})).json();
    let tokens = got[0].as_array().unwrap();
    assert_eq!(tokens.len(), 4);
    assert_eq!((&tokens[0]["special"], &tokens[1]["text"]), (&json!(true), &json!("the")));
    // The space before a word is part of its token.
    assert_eq!((&tokens[2]["start"], &tokens[2]["stop"]), (&json!(3), &json!(7)));
    let ids: Vec<&Value> = tokens.iter().map(|token| &token["id"]).collect();
    let got = server.post("/decode", &json!({"ids": ids})).json();
    assert_eq!(got, json!(["the cat"]));
}

#[test]
fn operations_tell_models_health_and_metrics() {
    let folder = Folder::new("operations");
    let server = Running::start(&folder.all(), |_| ());
    let list = server.get("/v1/models").json();
    let tasks: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|m| m["task"].as_str().unwrap()).collect();
    assert_eq!(
        tasks,
        [
            "text-generation",
            "translation",
            "fill-mask",
            "text-classification",
            "text-classification",
            "token-classification",
            "question-answering"
        ]
    );
    assert_eq!(server.get("/v1/models/gpt").json()["id"], "gpt");
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.get("/info").json()["model_id"], "masked");
    server.post("/v1/completions", &json!({"prompt": "the", "max_tokens": 3}));
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("limpid_requests_total{route=\"/v1/completions\",outcome=\"2xx\"} 1"));
    assert!(metrics.contains("limpid_kv_bytes 0"), "{metrics}");
    let document = server.get("/openapi.json").json();
    assert!(document["paths"]["/v1/completions"]["post"].is_object());
    let page = server.get("/docs");
    assert!(page.body.contains("story") || page.body.contains("/v1/embeddings"));
    assert!(!page.body.contains("http://") && !page.body.contains("https://"), "no other host");
}

#[test]
fn a_fingerprint_names_the_base_of_an_adapter_and_the_pooling_of_an_embedder() {
    let folder = Folder::new("fingerprints");
    let print = |folder: &PathBuf| {
        let source = ModelSource { name: None, folder: folder.clone() };
        Models::load(&[source]).unwrap().get(0).fingerprint.clone()
    };
    let (base, adapter) = (folder.gpt(), folder.0.join("adapter"));
    let (mut model, _) = hub::load(&base).unwrap();
    let config = AdapterConfig::new(2, 4.0, vec![hub::ALL_LINEAR.into()]);
    config.attach(&mut model, 1, |_| false).unwrap();
    hub::save_adapter(&model, &config, &base, &adapter).unwrap();
    let before = print(&adapter);
    assert_eq!(print(&adapter), before);
    assert_ne!(print(&base), before);
    let (mut other, _) = hub::load(&base).unwrap();
    let id = other.params.iter().next().unwrap().0;
    other.params.get_mut(id)[0] += 1.0;
    hub::save(&other, &base).unwrap();
    assert_ne!(print(&adapter), before, "other weights of the base");

    let encoder = folder.encoder("masked", EncoderHead::MaskedLm);
    let pooling = encoder.join("1_Pooling");
    std::fs::create_dir(&pooling).unwrap();
    let module = |idx: usize, path: &str, kind: &str| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({"idx": idx, "path": path, "type": kind})
    };
    let modules = json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")]);
    std::fs::write(encoder.join("modules.json"), modules.to_string()).unwrap();
    let write = |mean: bool| {
        let config = json!({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": mean,
            "pooling_mode_cls_token": !mean});
        std::fs::write(pooling.join("config.json"), config.to_string()).unwrap();
        print(&encoder)
    };
    assert_ne!(write(true), write(false));
}
