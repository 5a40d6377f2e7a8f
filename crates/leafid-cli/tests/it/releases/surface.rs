//! All names and types that programs use of a server, one a line, so that one that is gone or
//! changed is a line that is gone.

use std::collections::BTreeSet;
use std::fs;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use serde_json::Value;
use tempfile::tempdir;

use super::wire;
use crate::server_process::Server;

/// Series that a tag has only while it has a rate.
const PASSING: [&str; 2] = ["leafid_tag_headroom_seconds", "leafid_tag_cover_seconds"];

type Lines = BTreeSet<String>;

pub(super) fn render() -> String {
    let mut lines = Lines::new();
    let settings = leafid_server::SETTINGS.iter();
    lines.extend(settings.map(|setting| format!("setting {}", setting.key)));
    of_openapi(&mut lines);
    of_grpc(&mut lines);
    of_a_running_server(&mut lines);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Metrics with their labels, and the commands of the Redis protocol.
fn of_a_running_server(lines: &mut Lines) {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for path in ["/v1/tags/order/ids", "/api/snowflake/get/order"] {
        let _id = server.get(path);
    }
    let (_, metrics) = server.get("/metrics");
    for line in metrics.lines() {
        if let Some(metric) = line.strip_prefix("# TYPE ") {
            lines.insert(format!("metric {metric}"));
        } else if let Some((name, labels)) = line.split_once('{')
            && !PASSING.contains(&name)
        {
            let (labels, _) = labels.split_once('}').unwrap();
            // The value ends with a quotation mark.
            let labels = labels
                .split("\",")
                .filter_map(|label| label.split_once('='));
            lines.extend(labels.map(|(label, _)| format!("metric {name} label {label}")));
        }
    }
    let commands = wire::resp_answers(&server, &["COMMAND LIST"]).remove(0);
    let names = commands
        .split("\\r\\n")
        .filter(|word| !word.contains(['*', '$']));
    lines.extend(
        names
            .filter(|name| !name.is_empty())
            .map(|name| format!("resp {name}")),
    );
    server.stop();
}

fn of_openapi(lines: &mut Lines) {
    let document: Value = serde_json::from_str(leafid_server::openapi()).unwrap();
    for (path, methods) in object(&document["paths"]) {
        for (method, call) in object(methods) {
            let call_name = format!("http {} {path}", method.to_uppercase());
            of_call(&call_name, call, lines);
        }
    }
    for (name, schema) in object(&document["components"]["schemas"]) {
        of_schema(&format!("json {name}"), schema, lines);
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn of_call(name: &str, call: &Value, lines: &mut Lines) {
    lines.insert(name.to_owned());
    for parameter in call["parameters"].as_array().into_iter().flatten() {
        let (parameter_name, place) = (&parameter["name"], &parameter["in"]);
        let kind = kind(&parameter["schema"]);
        lines.insert(format!(
            "{name} parameter {parameter_name} in {place}: {kind}"
        ));
    }
    for (media, content) in object(&call["requestBody"]["content"]) {
        lines.insert(format!(
            "{name} takes {media}: {}",
            kind(&content["schema"])
        ));
    }
    for (status, answer) in object(&call["responses"]) {
        for (media, content) in object(&answer["content"]) {
            let kind = kind(&content["schema"]);
            lines.insert(format!("{name} answers {status} {media}: {kind}"));
        }
        let description = answer["description"].as_str().unwrap_or_default();
        // Each line begins with a code in backticks.
        let codes = description
            .lines()
            .filter_map(|line| line.strip_prefix('`')?.split_once("`:"));
        lines.extend(codes.map(|(code, _)| format!("{name} answers {status} {code}")));
    }
}

/// The fields of a schema, and of those in it.
fn of_schema(name: &str, schema: &Value, lines: &mut Lines) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (field, schema) in object(&schema["properties"]) {
        let is_required = required.iter().any(|name| name == field);
        let always = if is_required { "always" } else { "perhaps" };
        lines.insert(format!("{name}.{field} {always}: {}", kind(schema)));
        of_schema(&format!("{name}.{field}"), schema, lines);
    }
    for value in schema["enum"].as_array().into_iter().flatten() {
        lines.insert(format!("{name} may be {value}"));
    }
    for list in ["oneOf", "allOf", "anyOf"] {
        for schema in schema[list].as_array().into_iter().flatten() {
            of_schema(name, schema, lines);
        }
    }
    if schema["items"].is_object() {
        of_schema(&format!("{name}[]"), &schema["items"], lines);
    }
}

/// The type of a schema in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    let parts = ["oneOf", "allOf", "anyOf"].map(|list| schema[list].as_array());
    if let Some(parts) = parts.into_iter().flatten().next() {
        let kinds: Vec<String> = parts.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    let names = match &schema["type"] {
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        name => name.as_str().unwrap_or("anything").to_owned(),
    };
    match schema["items"].is_object() {
        true => format!("{names} of {}", kind(&schema["items"])),
        false => names,
    }
}

fn of_grpc(lines: &mut Lines) {
    let file = "/../leafid-server/src/frontends/grpc/generated/leafid.v1.bin";
    let bytes = fs::read(format!("{}{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let files = FileDescriptorSet::decode(&*bytes).unwrap().file;
    for file in files.iter().filter(|file| file.package() == "leafid.v1") {
        for service in &file.service {
            for method in &service.method {
                let stream = |is_stream: bool| if is_stream { "stream " } else { "" };
                lines.insert(format!(
                    "grpc {}/{} takes {}{} answers {}{}",
                    service.name(),
                    method.name(),
                    stream(method.client_streaming()),
                    method.input_type(),
                    stream(method.server_streaming()),
                    method.output_type(),
                ));
            }
        }
        for message in &file.message_type {
            of_message("grpc", message, lines);
        }
        for kind in &file.enum_type {
            of_enum("grpc", kind, lines);
        }
    }
}

fn of_enum(scope: &str, kind: &prost_types::EnumDescriptorProto, lines: &mut Lines) {
    let values = kind.value.iter();
    let values = values.map(|value| {
        format!(
            "{scope} {} {} = {}",
            kind.name(),
            value.name(),
            value.number()
        )
    });
    lines.extend(values);
}

fn of_message(scope: &str, message: &DescriptorProto, lines: &mut Lines) {
    let scope = format!("{scope} {}", message.name());
    lines.insert(scope.clone());
    for field in &message.field {
        lines.insert(format!("{scope} {}", of_field(message, field)));
    }
    for message in &message.nested_type {
        of_message(&scope, message, lines);
    }
    for kind in &message.enum_type {
        of_enum(&scope, kind, lines);
    }
}

fn of_field(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let kind = match field.r#type() {
        Type::Message | Type::Enum => field.type_name().to_owned(),
        scalar => scalar.as_str_name().to_owned(),
    };
    let repeated = if field.label() == Label::Repeated {
        "repeated "
    } else {
        ""
    };
    let mut line = format!("{repeated}{kind} {} = {}", field.name(), field.number());
    if field.proto3_optional() {
        line.push_str(" optional");
    } else if let Some(oneof) = field.oneof_index {
        let oneof = &message.oneof_decl[usize::try_from(oneof).unwrap()];
        line.push_str(&format!(" in {}", oneof.name()));
    }
    line
}
