//! Galera nodes: how one is started, and a cluster of two.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::MariaDb;
use crate::child::{find_program, free_port};

/// Where the library of Galera may be.
const GALERA: [&str; 2] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
];

/// Starts a second node with a copy of the first one's files: it is given the position of the copy,
/// and gets the rest from the first one itself.
const TRANSFER: &str = "#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2 ;;
        --address) address=$2 ;;
        --gtid) gtid=${2%% *} ;;
    esac
    shift
done
share=$(dirname \"$0\")/position
if [ \"$role\" = donor ]; then
    echo \"$gtid\" >\"$share.new\" && mv \"$share.new\" \"$share\"
    echo \"done $gtid\"
else
    echo \"ready $address\"
    tries=600
    while [ ! -s \"$share\" ] && [ $tries -gt 0 ]; do
        sleep 0.05
        tries=$((tries - 1))
    done
    cat \"$share\"
fi
";

/// The arguments of a node that other nodes find at this port.
pub(super) fn arguments(group: u16, cluster: &str) -> Vec<String> {
    let provider = find_program(&GALERA.map(PathBuf::from), "galera-4");
    let [transfer, incremental] = [free_port(), free_port()];
    vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", provider.display()),
        format!("--wsrep-cluster-address={cluster}"),
        format!("--wsrep-node-address=127.0.0.1:{group}"),
        format!("--wsrep-sst-receive-address=127.0.0.1:{transfer}"),
        "--wsrep-sst-method=share".to_owned(),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};\
            ist.recv_addr=127.0.0.1:{incremental};gcache.size=8M;pc.wait_prim_timeout=PT1S"
        ),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ]
}

impl MariaDb {
    /// Starts a Galera cluster of two nodes.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_galera_pair() -> [Self; 2] {
        let group = free_port();
        let [mut first, mut second] = [Self::new(), Self::new()];
        super::install(&first.process);
        first.find_transfer_in(&first.process.folder.clone());
        first.set_arguments(&texts(&arguments(group, "gcomm://")));
        first.start_again();
        first.create_user();
        first.stop();
        let copy = first.backup();
        first.start_again();

        second.put_back(&copy);
        // It is of the first one's history, and would be continued.
        let _ = fs::remove_file(second.process.folder.join("data/galera.cache"));
        second.find_transfer_in(&first.process.folder);
        let cluster = format!("gcomm://127.0.0.1:{group}");
        second.set_arguments(&texts(&arguments(free_port(), &cluster)));
        second.start_again();
        first.await_galera("ON");
        second.await_galera("ON");
        [first, second]
    }

    /// Lets the node find the program that transfers the state, which is in that folder.
    fn find_transfer_in(&mut self, folder: &Path) {
        let program = folder.join("wsrep_sst_share");
        let written = fs::write(&program, TRANSFER)
            .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o755)));
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", program.display()));
        let mut path = OsString::from(folder);
        if let Some(usual) = std::env::var_os("PATH") {
            path.push(":");
            path.push(usual);
        }
        self.process.set_environment(vec![("PATH", path)]);
    }
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}
