//! The settings about who may call this server.

use crate::config::format_keys::FormatKeys;
use crate::config::setting::{Field, Setting};

pub(super) const ALLOWED_HOSTS: Setting = Setting {
    key: "allowed-hosts",
    doc: "Host names under which HTTP may be called, besides localhost and the loopback \
          addresses. A web page whose name an attacker points at this machine (DNS \
          rebinding) calls the server by that name, and is refused. Empty: if `http` listens \
          on loopback only, no other name, so that a proxy on this machine that passes on \
          the Host header of its client needs that name here; otherwise any name. Leaf's own \
          paths are served under any name, but create no tag under one that is not listed.",
    field: Field::Text {
        value: "NAMES",
        allowed: "host names without a port, separated by spaces",
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
                return Err("not a list of host names".to_owned());
            }
            config.allowed_hosts = names;
            Ok(())
        },
    },
};

pub(super) const INSECURE: Setting = Setting {
    key: "insecure",
    doc: "Serve other machines without authentication. If a front end listens on an address \
          that other machines can reach, and neither `access-file` has tokens nor \
          `tls-client-ca` requires certificates, the server does not start without this: \
          anyone who reaches it can take ids, and change and delete tags. Set it only in a \
          network where you trust everyone.",
    field: Field::Switch(|config| &mut config.insecure),
};

pub(super) const ACCESS_FILE: Setting = Setting {
    key: "access-file",
    doc: "A TOML file of tokens and quotas (docs/access.md). With tokens in it, requests \
          without one are refused; without this file anyone who reaches the server may take \
          ids and change tags. Read at start and again at each SIGHUP, without dropping a \
          connection; if the file has a mistake then, nothing changes.",
    field: Field::File(|config| &mut config.access_file),
};

pub(super) const FORMAT_KEYS: Setting = Setting {
    key: "format-keys",
    doc: "A file of the secret keys with which {opaque} in the formats of tags makes numbers \
          unguessable (docs/formats.md): a line ID = KEY for each, the current one first, as \
          `leafid format-key` prints them. All servers have the same keys. To rotate, add the new \
          key below the others on all servers, and then move it to the top. Read at start and \
          again at each SIGHUP; if the file has a mistake then, nothing changes.",
    field: Field::File(|config| &mut config.format_keys),
};

pub(super) const FORMAT_KEY_LINES: Setting = Setting {
    key: "format-key-lines",
    doc: "The keys themselves in place of the file `format-keys`, for secrets that come in the \
          environment: its lines, or one line with `;` between the keys. There is no flag for it, \
          because other users of the machine can see command lines. Read once, at start: to rotate, \
          restart the servers one after the other, as for the file. Do not set `format-keys` as \
          well.",
    field: Field::Secret {
        allowed: "ID = KEY, as leafid format-key prints it; more keys after a line break or ;",
        set: |config, text| {
            FormatKeys::parse(text)?;
            config.format_key_lines = Some(text.to_owned());
            Ok(())
        },
    },
};

pub(super) const CREATE_TAGS_PER_MINUTE: Setting = Setting {
    key: "create-tags-per-minute",
    doc: "How many tags per minute are created on first use (`create-tags`); after a quiet \
          minute, all at once. More are refused until the rate allows it (429 \
          `too_many_new_tags`), so that clients that invent names cannot fill the store; \
          tags created by `leafid tag create` or the API are not counted. Raise it for \
          programs that create many tags when they start.",
    field: Field::Count(1..=1_000_000, |config| {
        Some(&mut config.create_tags_per_minute)
    }),
};
