//! Guards the Helm chart and the example of Docker Compose: they are what they were when somebody
//! last looked at them, fit the schemas of Kubernetes and Compose, name settings that exist, and
//! the chart refuses what cannot work.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid_server::SETTINGS;
use leafid_testbed::{entries, go_build, install_python, run as run_well};

use crate::clients::clients;
use crate::server_process::{Run, finish};

/// The version of Kubernetes whose schemas are used.
const KUBERNETES: &str = "1.31";

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../deploy")
        .join(path)
}

fn install_helm(source: &Path, folder: &Path) {
    let mut go = go_build(source);
    go.arg("-o").arg(folder.join("helm"));
    run_well(go.arg("helm.sh/helm/v3/cmd/helm"));
}

fn helm(arguments: &[&str]) -> Run {
    let mut helm = Command::new(clients().installed("helm", &[], install_helm).join("helm"));
    finish(helm.args(arguments).current_dir(deploy("helm")))
}

fn template(values: &[&str]) -> Run {
    let version = format!("{KUBERNETES}.0");
    let arguments = [
        "template",
        "ids",
        "leafid",
        "--namespace",
        "ids",
        "--kube-version",
        &version,
    ];
    helm(&[&arguments, values].concat())
}

/// The settings that a text sets by variables.
fn settings(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter_map(|word| word.strip_prefix("LEAFID_"));
    names
        .map(|name| name.to_lowercase().replace('_', "-"))
        .collect()
}

fn check_settings(text: &str) {
    let set = settings(text);
    assert!(set.contains("store") || set.contains("insecure"), "{set:?}");
    for key in set {
        assert!(
            SETTINGS.iter().any(|setting| setting.key == key),
            "no setting {key}"
        );
    }
}

/// Guards each way in which the chart is used: `deploy/helm/tests` has values and what comes of
/// them. `cargo xtask codegen` writes it anew, to be read before it is committed.
#[test]
fn the_generated_manifests_are_those_of_the_chart() {
    let schemas = clients().installed("kubernetes", &[], install_python);
    let cases = entries(&deploy("helm/tests"));
    let cases = cases
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".values.yaml"));
    let cases: Vec<&str> = cases.collect();
    assert_eq!(cases, ["deployment", "single", "statefulset"]);
    for case in cases {
        let values = format!("tests/{case}.values.yaml");
        let linted = helm(&["lint", "leafid", "--strict", "--values", &values]);
        assert!(linted.ok().contains("0 chart(s) failed"), "{case}");
        let made = template(&["--values", &values]).ok();
        check_settings(&made);
        let file = deploy(&format!("helm/tests/{case}.yaml"));
        if std::env::var_os("LEAFID_UPDATE").is_some() {
            fs::write(&file, &made).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap();
        assert_eq!(
            made, expected,
            "{case}: run cargo xtask codegen, and read the change"
        );
        let mut validate = Command::new(schemas.join("bin/kubernetes-validate"));
        validate.args(["--kubernetes-version", KUBERNETES, "--strict", "--quiet"]);
        let checked = finish(validate.arg(&file));
        assert_eq!(checked.code, 0, "{checked:?}");
    }
}

/// Guards that the chart refuses to install what would not run, or would issue ids twice.
#[test]
fn the_chart_refuses_what_cannot_work() {
    let open = "insecure=true";
    for (values, error) in [
        (&["replicas=1"][..], "who may call?"),
        (&[open, "replicas=2"], "several replicas need a store"),
        (
            &[open, "replicas=1", "kind=Deployment"],
            "would issue ids again after each restart",
        ),
        (
            &[open, "replicas=1", "kind=DaemonSet"],
            "it has to be StatefulSet or Deployment",
        ),
        (&["replicas=1", "tls.clientCa=ca.crt"], "which is not set"),
    ] {
        let values: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
        let refused = template(&values);
        assert!(
            refused.code != 0 && refused.errors.contains(error),
            "{refused:?}"
        );
    }
}

/// Guards that Compose can read the example, and that its settings exist.
#[test]
fn the_example_of_compose_is_valid() {
    let file = deploy("compose/docker-compose.yml");
    let mut compose = Command::new("docker-compose");
    let read = finish(compose.arg("--file").arg(&file).args(["config", "--quiet"]));
    assert_eq!(read.code, 0, "{read:?}");
    check_settings(&fs::read_to_string(&file).unwrap());
}
