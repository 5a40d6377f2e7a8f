//! Guards the Debian package: installed into a small Debian of its own, it brings a command, a
//! service that starts, manual pages and settings; removed, it leaves what would make ids repeat.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use leafid_testbed::{entries, free_port, run as run_well};
use tempfile::{TempDir, tempdir};

use crate::clients::clients;
use crate::server_process::{Run, finish, until};

/// Runs a command in a root folder, with the processes of this machine in `/proc`, for itself alone.
const IN_ROOT: &str = r#"mount -t proc proc "$0/proc" && exec chroot "$0" "$@""#;

/// A Debian in a folder.
struct System {
    folder: TempDir,
}

impl System {
    /// A Debian of the version of this machine, with what every Debian has and `adduser`.
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let release = fs::read_to_string("/etc/os-release").unwrap();
        let name = release
            .lines()
            .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let mut bootstrap = Command::new("mmdebstrap");
        bootstrap.args([
            "--quiet",
            "--variant=essential",
            "--include=adduser",
            "--mode=root",
        ]);
        bootstrap.arg(name.unwrap()).arg(folder.path().join("root"));
        bootstrap.args(sources());
        run_well(&mut bootstrap);
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut chroot = Command::new("unshare");
        chroot.args(["--mount", "sh", "-c", IN_ROOT]);
        chroot.arg(self.path("")).args(words).stdin(Stdio::null());
        chroot
    }

    fn run(&self, words: &[&str]) -> Run {
        finish(&mut self.command(words))
    }
}

/// Where this machine gets its packages.
fn sources() -> Vec<PathBuf> {
    let list = PathBuf::from("/etc/apt/sources.list");
    let mut sources = entries(Path::new("/etc/apt/sources.list.d"));
    sources.retain(|path| {
        path.file_name()
            .is_some_and(|name| name == "debian.sources")
    });
    sources.extend(list.exists().then_some(list));
    sources
}

fn install_cargo_deb(source: &Path, folder: &Path) {
    let version = fs::read_to_string(source.join("version")).unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args([
        "install",
        "--quiet",
        "--locked",
        "cargo-deb",
        "--version",
        version.trim(),
    ]);
    run_well(cargo.arg("--root").arg(folder));
}

/// Builds the package as the script does, with a binary that compiles faster.
fn build(folder: &Path) -> PathBuf {
    let tools = clients()
        .installed("cargo-deb", &[], install_cargo_deb)
        .join("bin");
    let paths = std::env::var("PATH").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/debian/build.sh");
    let mut build = Command::new(script);
    build.arg(folder).env("PROFILE", "dev");
    run_well(build.env("PATH", format!("{}:{paths}", tools.display())));
    let packages = entries(folder);
    assert_eq!(packages.len(), 1, "{packages:?}");
    packages[0].clone()
}

/// The server of the package, as its unit starts it.
struct Service(Child);

impl Service {
    fn start(system: &System, port: u16) -> Self {
        let unit =
            fs::read_to_string(system.path("usr/lib/systemd/system/leafid.service")).unwrap();
        for line in [
            "User=leafid",
            "WorkingDirectory=/etc/leafid",
            "StateDirectory=leafid",
            "ExecStart=leafid serve",
        ] {
            assert!(unit.lines().any(|found| found == line), "{line}: {unit}");
        }
        // systemd makes the folder of the state.
        let made = system.run(&[
            "install",
            "-d",
            "-m",
            "0700",
            "-o",
            "leafid",
            "-g",
            "leafid",
            "/var/lib/leafid",
        ]);
        assert_eq!(made.code, 0, "{made:?}");
        let mut serve = system.command(&[
            "setpriv",
            "--reuid=leafid",
            "--regid=leafid",
            "--clear-groups",
        ]);
        serve.args(["sh", "-c", "cd /etc/leafid && exec leafid serve"]);
        serve
            .env("LEAFID_DATA_DIR", "/var/lib/leafid")
            .env("LEAFID_HTTP", format!("127.0.0.1:{port}"));
        serve.env("LEAFID_RESP", "off").env("LEAFID_GRPC", "off");
        Self(
            serve
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    /// Ends it as systemd does.
    fn stop(mut self) {
        let sent = Command::new("kill").arg(self.0.id().to_string()).status();
        assert!(sent.unwrap().success());
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Guards that the package can be installed, started, removed and installed again, and that its ids
/// go on where they were.
#[test]
fn the_package_is_installed_started_and_removed() {
    let built = tempdir().unwrap();
    let package = build(&built.path().join("package"));
    let system = System::new();
    fs::copy(&package, system.path("tmp/leafid.deb")).unwrap();
    let dpkg = |action: &str, what: &str| {
        let run = system.run(&["dpkg", action, what]);
        assert_eq!(run.code, 0, "{run:?}");
        run
    };
    dpkg("--install", "/tmp/leafid.deb");
    let version = system.run(&["leafid", "--version"]).ok();
    assert!(version.starts_with("leafid "), "{version}");
    let checked = system.run(&[
        "leafid",
        "config",
        "check",
        "--config",
        "/etc/leafid/leafid.toml",
    ]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let owner = system
        .run(&["stat", "-c", "%U:%G %a", "/etc/leafid/leafid.toml"])
        .ok();
    assert_eq!(owner, "root:leafid 640\n");
    for file in [
        "usr/share/man/man1/leafid-serve.1.gz",
        "usr/share/bash-completion/completions/leafid",
    ] {
        assert!(system.path(file).exists(), "{file}");
    }
    let enabled = system.path("etc/systemd/system/multi-user.target.wants/leafid.service");
    assert!(
        enabled.is_symlink(),
        "the service does not start with the machine"
    );

    let port = free_port();
    let take = || -> u64 {
        let service = Service::start(&system, port);
        let server = format!("http://127.0.0.1:{port}");
        let health = ["leafid", "health", "--server", &server];
        until("a healthy service", || {
            (system.run(&health).code == 0).then_some(())
        });
        let id = system
            .run(&["leafid", "next", "order", "--server", &server])
            .ok();
        service.stop();
        id.trim().parse().unwrap()
    };
    let first = take();
    dpkg("--remove", "leafid");
    assert!(
        !system.path("usr/bin/leafid").exists() && system.path("etc/leafid/leafid.toml").exists()
    );
    let purged = dpkg("--purge", "leafid");
    assert!(
        purged.errors.contains("/var/lib/leafid stays"),
        "{purged:?}"
    );
    assert!(!system.path("etc/leafid/leafid.toml").exists());
    dpkg("--install", "/tmp/leafid.deb");
    let next = take();
    assert!(next > first, "{next} after {first}");
}
