//! Answers that open up: what is inside is what the library finds, on every route.

use super::support::{Folder, Running, SENTENCES};
use serde_json::{Value, json};

/// Checks that every row of every map sums to 1; gives names, layers and heads.
fn maps(attentions: &Value) -> Vec<(String, u64, Option<u64>)> {
    let tokens = attentions["tokens"].as_array().unwrap().len();
    let maps = attentions["maps"].as_array().unwrap();
    for map in maps {
        let rows = map["weights"].as_array().unwrap();
        let name = map["name"].as_str().unwrap();
        assert!(name.starts_with("encoder") || rows.len() == tokens, "{map}");
        for row in rows {
            let sum: f64 = row.as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        }
    }
    let head = |map: &Value| map["head"].as_u64();
    let name = |map: &Value| map["name"].as_str().unwrap().to_string();
    maps.iter().map(|map| (name(map), map["layer"].as_u64().unwrap(), head(map))).collect()
}

#[test]
fn encoder_routes_show_attention_and_timing() {
    let folder = Folder::new("inside-encoder");
    let server = Running::start(&folder.all(), |_| ());
    let inspect = json!({"attention": {"layers": [1], "heads": [0, 1]}, "timing": true});
    let text = SENTENCES[0];
    let question = json!({"question": "who sat ?", "context": text});
    for (path, body, texts) in [
        ("/v1/embeddings", json!({"input": [text, "so"]}), 2),
        ("/embed", json!({"inputs": [text, "so"]}), 2),
        ("/embed_all", json!({"inputs": text}), 1),
        ("/predict", json!({"inputs": text}), 1),
        ("/rerank", json!({"query": "so", "texts": [text, "a dog"]}), 2),
        ("/similarity", json!({"inputs": {"source_sentence": text, "sentences": ["so"]}}), 2),
        ("/models/masked", json!({"inputs": "the [MASK] sat"}), 1),
        ("/models/classifier", json!({"inputs": text}), 1),
        ("/models/tagger", json!({"inputs": text}), 1),
        ("/models/answerer", json!({"inputs": question}), 1),
        ("/models/masked/pipeline/feature-extraction", json!({"inputs": text}), 1),
    ] {
        let plain = server.post(path, &body).json();
        let mut body = body.clone();
        body["inspect"] = inspect.clone();
        let answer = server.post(path, &body).json();
        if path.starts_with("/v1") {
            assert_eq!(answer["data"], plain["data"]);
        } else {
            assert_eq!(answer["output"], plain, "{path}");
        }
        let inside = answer["inspect"].as_array().unwrap();
        assert_eq!(inside.len(), texts, "{path} {answer}");
        for inside in inside {
            let attention = |head| ("self_attention".to_string(), 1, Some(head));
            assert_eq!(maps(&inside["attentions"]), [attention(0), attention(1)], "{path}");
            assert!(inside["timing"]["compute_ms"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn generating_routes_show_layers_lens_trace_and_timing() {
    let folder = Folder::new("inside-generation");
    let server = Running::start(&folder.all(), |_| ());
    let inspect = json!({"attention": true, "logit_lens": 2, "trace": 3, "timing": true});
    let ask = json!({"prompt": "the cat", "max_tokens": 3, "inspect": inspect});
    let answer = server.post("/v1/completions", &ask).json();
    let inside = &answer["inspect"][0];
    let of = |layer| ("self_attention".to_string(), layer, None);
    assert_eq!(maps(&inside["attentions"]), [of(0), of(1)]);
    let lens = &inside["logit_lens"];
    let tokens = lens["tokens"].as_array().unwrap().len();
    assert_eq!(lens["layers"].as_array().unwrap().len(), 3, "embeddings and two layers");
    // After the last layer stands what greedy search selected next.
    let steps = inside["trace"][0].as_array().unwrap();
    let first = tokens - steps.len();
    for (i, step) in steps.iter().enumerate() {
        let best = &lens["layers"][2][first - 1 + i][0];
        let chosen = step["candidates"][0]["probability"].as_f64().unwrap();
        assert!((best["probability"].as_f64().unwrap() - chosen).abs() < 1e-4, "{best} {step}");
    }
    let messages = json!([{"role": "user", "content": "the cat"}]);
    let ask = json!({"messages": messages, "max_tokens": 2, "inspect": inspect});
    let answer = server.post("/v1/chat/completions", &ask).json();
    assert_eq!(maps(&answer["inspect"]["attentions"]).len(), 2);
    let ask = json!({"inputs": "the cat", "inspect": inspect, "parameters": {"max_new_tokens": 2}});
    let answer = server.post("/models/gpt", &ask).json();
    assert!(answer["output"][0]["generated_text"].as_str().unwrap().starts_with("the cat"));
    assert_eq!(maps(&answer["inspect"][0]["attentions"]).len(), 2);

    let inspect = json!({"attention": {"layers": [0], "heads": [1]}, "trace": 1});
    let ask = json!({"q": "il dort .", "source": "fr", "target": "en", "inspect": inspect});
    let answer = server.post("/translate", &ask).json();
    let names: Vec<String> =
        maps(&answer["inspect"][0]["attentions"]).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(
        names,
        ["encoder.self_attention", "decoder.self_attention", "decoder.cross_attention"]
    );
    let ask = json!({"inputs": "il dort .", "inspect": inspect});
    let answer = server.post("/models/fr-en", &ask).json();
    assert!(answer["output"][0]["translation_text"].is_string());
    assert!(answer["inspect"][0]["trace"].is_array());
}

#[test]
fn what_a_model_has_not_is_refused_before_anything_is_computed() {
    let folder = Folder::new("inside-refused");
    let server = Running::start(&folder.all(), |_| ());
    for (path, body, inspect, status) in [
        ("/v1/completions", json!({"prompt": "the"}), json!({"alignment": true}), 400),
        ("/v1/completions", json!({"prompt": "the"}), json!({"attention": {"layers": [2]}}), 400),
        ("/v1/completions", json!({"prompt": "the"}), json!({"logit_lens": 21}), 400),
        ("/v1/completions", json!({"prompt": "the"}), json!({"everything": true}), 400),
        (
            "/v1/completions",
            json!({"prompt": "the", "n": 16, "temperature": 1, "max_tokens": 300}),
            json!({"trace": 1_000}),
            400,
        ),
        ("/v1/embeddings", json!({"input": "the"}), json!({"trace": 1}), 400),
        ("/embed", json!({"inputs": "the"}), json!({"logit_lens": 1}), 422),
        ("/embed", json!({"inputs": "the"}), json!({"attention": {"heads": [9]}}), 422),
    ] {
        let mut body = body.clone();
        body["inspect"] = inspect;
        assert_eq!(server.post(path, &body).status, status, "{path} {body}");
    }
}
