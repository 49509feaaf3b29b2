//! Reads a template as `CloudFormation` does: a short tag becomes its long form, `!Ref X` the object `{"Ref": "X"}`.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

/// A template as plain JSON.
pub(crate) fn read(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    let [document] = documents.as_slice() else { panic!("{} documents", documents.len()) };
    value(document)
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Tagged(tag, node) => {
            let name = if matches!(tag.suffix.as_str(), "Ref" | "Condition") {
                tag.suffix.clone()
            } else {
                format!("Fn::{}", tag.suffix)
            };
            Value::Object(Map::from_iter([(name, value(node))]))
        }
        Yaml::Sequence(items) => items.iter().map(value).collect(),
        Yaml::Mapping(members) => {
            let member = |(name, node): (&Yaml<'_>, &Yaml<'_>)| {
                (name.as_str().unwrap().to_owned(), value(node))
            };
            Value::Object(members.iter().map(member).collect())
        }
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(truth)) => Value::from(*truth),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        other => panic!("CloudFormation takes no such node: {other:?}"),
    }
}
