//! A server that does not start.

use limpid_server::ServeError as E;

/// What to type about it.
pub fn hint(error: &E) -> Option<String> {
    match error {
        E::Library(error) => super::hint(error),
        E::NoModels => Some("name a model folder, or use --demo".into()),
        E::SameName { .. } => Some("give one of them another name: NAME=FOLDER".into()),
        E::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => Some(
            "another program listens there; choose another --port (0 for any), or --unix".into(),
        ),
        E::Bind { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Some("choose a --port above 1023".into())
        }
        E::Host { .. } => Some("--host takes a name or address of this machine".into()),
        E::Unprotected { .. } => Some(
            "protect it with --api-key-file, or pass --no-auth if a proxy does; without --host it \
             listens on this machine only"
                .into(),
        ),
        E::Element { .. } => Some(
            "name a tensor with row and column, such as --number 'logits[0, 5]', or a head with \
             query and key: 'layers.0.self_attention.weights[1][2, 0]'; without --number the \
             tensors are listed"
                .into(),
        ),
        E::Keys { .. } => Some("--api-key-file takes a file with one key per line".into()),
        _ => None,
    }
}
