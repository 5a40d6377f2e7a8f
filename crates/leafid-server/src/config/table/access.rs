//! The settings about who may call this server.

use crate::config::setting::{Field, Setting};

pub(super) const ALLOWED_HOSTS: Setting = Setting {
    key: "allowed-hosts",
    doc: "Names under which HTTP may be called, besides localhost and the addresses of loopback. \
          A web page whose name somebody points at this machine (DNS rebinding) calls the server \
          by that name, and is refused. Empty: where `http` listens on loopback only, no further \
          name, so that a proxy on this machine that passes the name of its caller on needs it \
          here; elsewhere every name. Leaf's own paths are served under every name, but create no \
          tag under one that is not listed.",
    field: Field::Text {
        value: "NAMES",
        allowed: "names of hosts without a port, separated by spaces",
        get: |config| config.allowed_hosts.join(" "),
        set: |config, text| {
            let is_separator = |c: char| c == ',' || c.is_ascii_whitespace();
            let names = text.split(is_separator).filter(|name| !name.is_empty());
            let names: Vec<String> = names.map(str::to_owned).collect();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            let has_port = |name: &str| name.matches(':').count() == 1;
            if names
                .iter()
                .any(|name| !name.chars().all(is_plain) || has_port(name))
            {
                return Err("not a list of names of hosts".to_owned());
            }
            config.allowed_hosts = names;
            Ok(())
        },
    },
};

pub(super) const INSECURE: Setting = Setting {
    key: "insecure",
    doc: "Serve other machines without asking who they are. Where a front end listens on an \
          address that other machines reach, and neither `access-file` has tokens nor \
          `tls-client-ca` asks for certificates, the server does not start without this: whoever \
          reaches it can take ids, and change and delete tags. Set it only where the network lets \
          nobody through whom you do not trust.",
    field: Field::Switch(|config| &mut config.insecure),
};

pub(super) const ACCESS_FILE: Setting = Setting {
    key: "access-file",
    doc: "A TOML file of tokens and quotas (docs/access.md). With tokens in it, callers \
          without one are refused; without this file everybody who reaches the server may \
          take ids and change tags. Read at start and again at each SIGHUP, without dropping \
          a connection; a file with a mistake in it then changes nothing.",
    field: Field::File(|config| &mut config.access_file),
};

pub(super) const CREATE_TAGS_PER_MINUTE: Setting = Setting {
    key: "create-tags-per-minute",
    doc: "How many tags a minute are created on first use (`create-tags`), all of a quiet minute at \
          once. One more is refused for as long as it takes (429 `too_many_new_tags`), so that \
          callers who invent names cannot fill the store; what is created by `leafid tag create` or \
          its like is not counted. More suits programs that make many tags at their start.",
    field: Field::Count(1..=1_000_000, |config| {
        Some(&mut config.create_tags_per_minute)
    }),
};
