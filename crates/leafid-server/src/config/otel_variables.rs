//! The environment variables of OpenTelemetry that have a setting here. Tools that set them for all
//! programs of a machine shall not keep a server from starting: a value that does not fit is left
//! out.

use super::layers::Layers;
use super::origin::Origin;
use super::setting::Setting;

/// Reads them as settings, below the variables of our own, which are read later.
pub(super) fn read(variables: &[(String, String)], layers: &mut Layers) {
    if !cfg!(feature = "otel") {
        return;
    }
    let value = |name: &str| {
        let mut variables = variables.iter();
        let found = variables.find(|(other, value)| other == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    if let Some((name, endpoint)) = endpoint(value) {
        assign("otlp-endpoint", name, endpoint, layers);
    }
    if let Some(service) = value("OTEL_SERVICE_NAME") {
        assign("otlp-service", "OTEL_SERVICE_NAME", service, layers);
    }
    if let Some(sampler) = value("OTEL_TRACES_SAMPLER")
        && let Some(sample) = sample(sampler, value("OTEL_TRACES_SAMPLER_ARG"))
    {
        assign("otlp-sample", "OTEL_TRACES_SAMPLER", sample, layers);
    }
}

/// The endpoint and its variable, unless another one turns traces off or names another protocol.
fn endpoint<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<(&'static str, &'a str)> {
    let is = |name, wanted: &str| value(name).is_some_and(|text| text.eq_ignore_ascii_case(wanted));
    let is_off = is("OTEL_SDK_DISABLED", "true")
        || is("OTEL_TRACES_EXPORTER", "none")
        || is("OTEL_TRACES_SAMPLER", "always_off");
    let first = |names: [&'static str; 2]| {
        let mut names = names.into_iter();
        names.find_map(|name| Some((name, value(name)?)))
    };
    let protocol = first([
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ]);
    if is_off || protocol.is_some_and(|(_, name)| name != "grpc") {
        return None;
    }
    first([
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ])
}

/// The part of requests without a parent that a sampler traces; those with one are traced as it
/// says.
fn sample<'a>(sampler: &str, argument: Option<&'a str>) -> Option<&'a str> {
    match sampler {
        "always_on" | "parentbased_always_on" => Some("1"),
        "always_off" | "parentbased_always_off" => Some("0"),
        "traceidratio" | "parentbased_traceidratio" => Some(argument.unwrap_or("1")),
        _ => None,
    }
}

/// A value that does not fit is left out.
fn assign(key: &str, name: &str, text: &str, layers: &mut Layers) {
    let mut unused = super::values::Config::default();
    if let Some(setting) = Setting::find(key)
        && !layers.assigned.contains_key(key)
        && setting.apply(&mut unused, &[text.to_owned()]).is_ok()
    {
        layers.assign(
            setting,
            vec![text.to_owned()],
            Origin::Environment(name.to_owned()),
        );
    }
}

#[cfg(all(test, feature = "otel"))]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: &[&str; 3]) {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).into(), (*value).into()));
        let mut layers = Layers::default();
        read(&variables.collect::<Vec<_>>(), &mut layers);
        let found = ["otlp-endpoint", "otlp-sample", "otlp-service"].map(|key| {
            let assigned = layers.assigned.get(key);
            assigned.map_or("", |assigned| assigned.texts[0].as_str())
        });
        assert_eq!(found, *expected);
        assert!(layers.mistakes.is_empty(), "{:?}", layers.mistakes);
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");

    #[test]
    fn the_variables_of_opentelemetry_are_read() {
        check(&[], &["", "", ""]);
        check(&[ENDPOINT], &["http://collector:4317", "", ""]);
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317");
        check(&[ENDPOINT, traces], &["http://traces:4317", "", ""]);
        let name = ("OTEL_SERVICE_NAME", "ids");
        check(&[ENDPOINT, name], &["http://collector:4317", "", "ids"]);
        let sampler = |name| ("OTEL_TRACES_SAMPLER", name);
        let argument = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
        for (variables, sample) in [
            (vec![sampler("parentbased_always_on")], "1"),
            (vec![sampler("parentbased_traceidratio"), argument], "0.25"),
            (vec![sampler("traceidratio")], "1"),
            (vec![sampler("xray"), argument], ""),
            (
                vec![sampler("traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "all")],
                "",
            ),
        ] {
            let variables = [vec![ENDPOINT], variables].concat();
            check(&variables, &["http://collector:4317", sample, ""]);
        }
    }

    #[test]
    fn the_variables_of_opentelemetry_can_turn_traces_off() {
        for variable in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_TRACES_SAMPLER", "always_off"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ] {
            let sample = if variable.1 == "always_off" { "0" } else { "" };
            check(&[ENDPOINT, variable], &["", sample, ""]);
        }
        check(
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")],
            &["", "", ""],
        );
    }
}
