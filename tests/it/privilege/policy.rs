//! What a role of the deploy template may do, judged as IAM judges it, and more strictly: what is not understood here
//! fails the test.

use std::collections::BTreeMap;

use outbox_tests::Call;
use serde_json::{Map, Value};

use crate::template::cloudformation;

/// Keys of a request that conditions ask for, such as `kms:ViaService`.
pub(super) type Context<'a> = &'a [(&'a str, &'a str)];

/// The template with its parameters decided.
pub(super) struct Stack {
    template: Value,
    parameters: BTreeMap<String, Value>,
}

/// The statements of all policies of a role.
pub(super) struct Role(Vec<Map<String, Value>>);

impl Stack {
    /// Those parameters, and of the others the defaults.
    pub(super) fn with(given: &Value) -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/template.yaml");
        let template = cloudformation::read(&std::fs::read_to_string(path).unwrap());
        let declared = template["Parameters"].as_object().unwrap();
        let given = given.as_object().unwrap();
        for name in given.keys() {
            assert!(declared.contains_key(name), "the template has no parameter {name}");
        }
        let value = |(name, parameter): (&String, &Value)| {
            let value = given.get(name).unwrap_or(&parameter["Default"]).clone();
            let is_list = parameter["Type"].as_str().unwrap().contains("List");
            let value = match value {
                Value::String(text) if is_list => text.split(',').map(Value::from).collect(),
                value => value,
            };
            (name.clone(), value)
        };
        let parameters = declared.iter().map(value).collect();
        Self { template, parameters }
    }

    /// The role that a function runs under.
    pub(super) fn role_of(&self, function: &str) -> Role {
        let role = &self.template["Resources"][function]["Properties"]["Role"]["Fn::GetAtt"];
        let role = role.as_str().unwrap().strip_suffix(".Arn").unwrap();
        let role = &self.template["Resources"][role]["Properties"];
        let own = role["Policies"].as_array().unwrap().iter();
        let mut documents: Vec<&Value> = own.map(|policy| &policy["PolicyDocument"]).collect();
        for policy in role["ManagedPolicyArns"].as_array().into_iter().flatten() {
            let id = policy["Ref"].as_str().expect("a policy of the template itself");
            documents.push(&self.template["Resources"][id]["Properties"]["PolicyDocument"]);
        }
        let statements = documents.into_iter().flat_map(|document| {
            let Some(Value::Array(statements)) = self.resolve(&document["Statement"]) else {
                panic!("{document}")
            };
            statements
        });
        Role(statements.map(|statement| statement.as_object().unwrap().clone()).collect())
    }

    /// A value without functions; `None` for no value.
    fn resolve(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(items) => Some(items.iter().filter_map(|it| self.resolve(it)).collect()),
            Value::Object(members) => match members.iter().next() {
                Some((name, argument)) if name == "Ref" || name.starts_with("Fn::") => {
                    assert_eq!(members.len(), 1, "{value}");
                    self.call(name, argument)
                }
                _ => {
                    let resolved = |(name, value): (&String, &Value)| {
                        Some((name.clone(), self.resolve(value)?))
                    };
                    Some(Value::Object(members.iter().filter_map(resolved).collect()))
                }
            },
            value => Some(value.clone()),
        }
    }

    fn call(&self, name: &str, argument: &Value) -> Option<Value> {
        match name {
            "Ref" => self.referred(argument.as_str().unwrap()),
            "Fn::If" => {
                let is_met = self.is_met(argument[0].as_str().unwrap());
                self.resolve(&argument[if is_met { 1 } else { 2 }])
            }
            "Fn::GetAtt" => Some(self.attribute(argument.as_str().unwrap()).into()),
            "Fn::Sub" => Some(self.substituted(argument).into()),
            "Fn::Join" => {
                let parts = self.resolve(&argument[1])?;
                let parts: Vec<_> =
                    parts.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
                Some(parts.join(argument[0].as_str().unwrap()).into())
            }
            "Fn::Split" => {
                let text = self.text(&argument[1]);
                Some(text.split(argument[0].as_str().unwrap()).map(Value::from).collect())
            }
            "Fn::Select" => {
                let items = self.resolve(&argument[1])?;
                items.get(argument[0].as_u64().and_then(|n| usize::try_from(n).ok())?).cloned()
            }
            other => panic!("{other} is not known here"),
        }
    }

    fn text(&self, value: &Value) -> String {
        match self.resolve(value) {
            Some(Value::String(text)) => text,
            Some(Value::Number(number)) => number.to_string(),
            other => panic!("{value} is {other:?}"),
        }
    }

    fn referred(&self, name: &str) -> Option<Value> {
        Some(match name {
            "AWS::NoValue" => return None,
            "AWS::Partition" => "aws".into(),
            "AWS::Region" => "us-east-1".into(),
            "AWS::AccountId" => "000000000000".into(),
            "AWS::StackName" => "outbox".into(),
            "AWS::URLSuffix" => "amazonaws.com".into(),
            name => self.parameters.get(name).unwrap_or_else(|| panic!("{name}?")).clone(),
        })
    }

    /// The ARN of a resource of the template.
    fn attribute(&self, path: &str) -> String {
        let id = path.strip_suffix(".Arn").unwrap_or_else(|| panic!("{path} is no ARN"));
        let resource = &self.template["Resources"][id];
        let name = |property: &str| self.text(&resource["Properties"][property]);
        let of = |service: &str, rest: String| {
            format!("arn:aws:{service}:us-east-1:000000000000:{rest}")
        };
        match resource["Type"].as_str().unwrap() {
            "AWS::Logs::LogGroup" => of("logs", format!("log-group:{}:*", name("LogGroupName"))),
            "AWS::SQS::Queue" => of("sqs", name("QueueName")),
            "AWS::Serverless::Function" => {
                of("lambda", format!("function:{}", name("FunctionName")))
            }
            other => panic!("what is the ARN of an {other}?"),
        }
    }

    /// `"...${Name}..."`, or that and a map of further names.
    fn substituted(&self, argument: &Value) -> String {
        let (text, more) = match argument {
            Value::Array(both) => (both[0].as_str().unwrap(), &both[1]),
            text => (text.as_str().unwrap(), &Value::Null),
        };
        let mut pieces = text.split("${");
        let mut whole = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').unwrap();
            whole += &match more.get(name) {
                Some(value) => self.text(value),
                None if name.ends_with(".Arn") => self.attribute(name),
                None => self.text(&serde_json::json!({ "Ref": name })),
            };
            whole += rest;
        }
        whole
    }

    fn is_met(&self, condition: &str) -> bool {
        let definition = &self.template["Conditions"][condition];
        assert!(!definition.is_null(), "the template has no condition {condition}");
        self.holds(definition)
    }

    fn holds(&self, definition: &Value) -> bool {
        let (name, argument) = definition.as_object().unwrap().iter().next().unwrap();
        match name.as_str() {
            "Condition" => self.is_met(argument.as_str().unwrap()),
            "Fn::Equals" => self.resolve(&argument[0]) == self.resolve(&argument[1]),
            "Fn::Not" => !self.holds(&argument[0]),
            "Fn::And" => argument.as_array().unwrap().iter().all(|it| self.holds(it)),
            "Fn::Or" => argument.as_array().unwrap().iter().any(|it| self.holds(it)),
            other => panic!("{other} is not known here"),
        }
    }
}

impl Role {
    /// Whether it may do that: some statement allows it, and none denies it.
    pub(super) fn allows(&self, call: &Call, context: Context<'_>) -> bool {
        let meant = |effect: &str| {
            self.0.iter().any(|it| it["Effect"] == effect && is_meant(it, call, context))
        };
        meant("Allow") && !meant("Deny")
    }
}

fn is_meant(statement: &Map<String, Value>, call: &Call, context: Context<'_>) -> bool {
    for name in statement.keys() {
        let is_known =
            ["Sid", "Effect", "Action", "Resource", "Condition"].contains(&name.as_str());
        assert!(is_known, "{name} is not known here");
    }
    texts(&statement["Action"]).iter().any(|action| {
        assert!(!action.contains(['*', '?']), "{action} is more than one action");
        *action == call.action
    }) && texts(&statement["Resource"]).iter().any(|it| is_like(it, &call.resource))
        && statement.get("Condition").is_none_or(|condition| is_fulfilled(condition, context))
}

/// Every operator, and of each every key; a key that the request does not have fulfils none.
fn is_fulfilled(condition: &Value, context: Context<'_>) -> bool {
    let operators = condition.as_object().unwrap().iter();
    let keys = operators.flat_map(|(operator, keys)| {
        keys.as_object().unwrap().iter().map(move |(key, wanted)| (operator, key, wanted))
    });
    keys.into_iter().all(|(operator, key, wanted)| {
        let given = context.iter().find(|(name, _)| name == key);
        given.is_some_and(|(_, given)| match operator.as_str() {
            "StringEquals" | "ArnEquals" => texts(wanted).iter().any(|it| it == given),
            "StringLike" | "ArnLike" => texts(wanted).iter().any(|it| is_like(it, given)),
            other => panic!("{other} is not known here"),
        })
    })
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        text => vec![text.as_str().unwrap().to_owned()],
    }
}

/// An asterisk stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    loop {
        if is_like(rest, text) {
            return true;
        }
        let mut characters = text.chars();
        if characters.next().is_none() {
            return false;
        }
        text = characters.as_str();
    }
}

#[test]
fn an_asterisk_stands_for_anything_and_nothing_else_does() {
    for (pattern, text, is_match) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "a", true),
        ("a*c", "abbc", true),
        ("a*c", "abbd", false),
        ("*", "", true),
        ("sqs.*.amazonaws.com", "sqs.us-east-1.amazonaws.com", true),
        ("arn:b/p/*", "arn:b/p", false),
    ] {
        assert_eq!(is_like(pattern, text), is_match, "{pattern} {text}");
    }
}
