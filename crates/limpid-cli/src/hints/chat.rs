//! Chat templates.

use limpid::error::ChatError as E;

pub(super) fn hint(error: &E) -> Option<String> {
    Some(match error {
        E::NoTemplate { .. } => "`limpid generate MODEL --prompt TEXT` continues a text with it; \
                                 a model made for chat has a template beside its tokenizer"
            .into(),
        E::NoDefault { .. } => {
            "put the one to use into chat_template.jinja beside the model".into()
        }
        E::Refused { .. } => {
            "some models take no --system, and most take messages of user and assistant in turn"
                .into()
        }
        E::Syntax { .. } | E::Failed { .. } | E::Malformed { .. } => {
            "is the file complete? a chat_template.jinja in the folder takes its place".into()
        }
        E::Stopped { .. } | E::TooLong { .. } | E::TagTooLong { .. } => {
            "is the folder from a source you trust? a chat_template.jinja in it takes its place"
                .into()
        }
        E::SeveralReplies { .. } => "leave out --num-return-sequences".into(),
        _ => return None,
    })
}
