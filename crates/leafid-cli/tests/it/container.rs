//! Guards the container image: one static binary that runs as another user than root, with nothing
//! of a system around it, not even time zones.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use leafid_testbed::free_port;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::server_process::{Run, finish, until};

const IMAGE: &str = "localhost/leafid-test";

/// Images and containers in a folder of their own.
struct Buildah {
    folder: TempDir,
}

impl Buildah {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        let (images, running) = (place("images"), place("running"));
        let storage =
            format!("[storage]\ndriver = \"vfs\"\ngraphroot = {images:?}\nrunroot = {running:?}\n");
        fs::write(folder.path().join("storage.conf"), storage).unwrap();
        Self { folder }
    }

    fn prepared(&self, mut command: Command) -> Command {
        let storage = self.folder.path().join("storage.conf");
        command
            .env("CONTAINERS_STORAGE_CONF", storage)
            .env("BUILDAH_ISOLATION", "chroot");
        command.stdin(Stdio::null());
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.prepared(Command::new("buildah"));
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        finish(&mut self.command(arguments))
    }

    /// Builds the image as the script does, with a binary that compiles faster.
    fn build(&self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/container/build.sh");
        let mut build = self.prepared(Command::new(script));
        finish(build.arg(IMAGE).env("PROFILE", "dev")).ok();
    }
}

impl Drop for Buildah {
    fn drop(&mut self) {
        // It holds the folder's mounts.
        let _ = self.command(&["rm", "--all"]).output();
    }
}

/// A server in a container, with all of its processes.
struct Running(Child);

impl Running {
    fn signal(&self, name: &str) {
        let group = format!("-{}", self.0.id());
        let sent = Command::new("kill")
            .args(["-s", name, "--", &group])
            .status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal("KILL");
            let _ = self.0.wait();
        }
    }
}

/// Guards the settings of the image, that a server in it refuses strangers unless told otherwise,
/// answers its health check, and knows the time zones of the world.
#[test]
fn the_image_serves_ids() {
    let buildah = Buildah::new();
    buildah.build();
    let image = buildah.run(&["inspect", "--type", "image", IMAGE]).json();
    let config = &image["Docker"]["config"];
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["Entrypoint"], json!(["/usr/bin/leafid"]));
    assert_eq!(config["Cmd"], json!(["serve"]));
    assert_eq!(config["Volumes"], json!({"/data": {}}));
    assert_eq!(
        config["Healthcheck"]["Test"],
        json!(["CMD", "/usr/bin/leafid", "health"])
    );
    let container = buildah.run(&["from", IMAGE]).ok();
    let container = container.trim();

    let http = format!("LEAFID_HTTP=0.0.0.0:{}", free_port());
    let free = ["LEAFID_RESP=off", "LEAFID_GRPC=off"];
    let leafid = |settings: &[&str], words: &[&str]| {
        let mut arguments = vec!["run"];
        arguments.extend(
            [&free[..], settings]
                .concat()
                .iter()
                .flat_map(|set| ["--env", set]),
        );
        arguments.extend([container, "--", "/usr/bin/leafid"]);
        arguments.extend(words);
        buildah.command(&arguments)
    };
    let refused = finish(&mut leafid(&[&http], &["serve"]));
    assert!(
        refused.code != 0 && refused.errors.contains("access-file"),
        "{refused:?}"
    );

    let settings = [&http[..], "LEAFID_INSECURE=true"];
    let mut serve = leafid(&settings, &["serve"]);
    let log = buildah.folder.path().join("log");
    serve
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap());
    serve.process_group(0);
    let mut server = Running(serve.spawn().unwrap());
    let health = until("a healthy server", || {
        let health = finish(&mut leafid(&[&http], &["health"]));
        (health.code == 0).then_some(health)
    });
    assert_eq!(health.out, "ready\n");

    let port = http.rsplit(':').next().unwrap();
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let tag = json!({"tag": "invoice", "format": "{zone Asia/Shanghai}{date %Y%m%d}{number width=6 restart=day}"});
    let made = ureq::post(url("/v1/tags")).send_json(&tag);
    assert_eq!(made.unwrap().status(), 201);
    let ids = ureq::get(url("/v1/tags/invoice/ids")).call().unwrap();
    let ids: Value = ids.into_body().read_json().unwrap();
    assert!(ids["ids"][0].as_str().unwrap().ends_with("000001"), "{ids}");

    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("sqlite:/data/leafid.db"), "{log}");
    server.signal("TERM");
    server.0.wait().unwrap();
}
