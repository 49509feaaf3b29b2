//! Who may do what.

use serde_json::Value;

use super::{attribute, functions, resources, template};

/// The actions of a policy document, and whether any of its statements is for all resources.
fn granted(document: &Value) -> (Vec<String>, bool) {
    let statements = document["Statement"].as_array().unwrap().iter();
    // A statement that depends on a parameter is the second of an `If`.
    let statements = statements.map(|s| s["Fn::If"].get(1).unwrap_or(s));
    let (mut actions, mut is_for_all) = (Vec::new(), false);
    for statement in statements {
        match &statement["Action"] {
            Value::String(action) => actions.push(action.clone()),
            list => actions
                .extend(list.as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned())),
        }
        is_for_all |= statement["Resource"] == "*";
    }
    actions.sort();
    (actions, is_for_all)
}

#[test]
fn each_function_has_a_role_of_its_own_that_grants_what_it_needs_on_named_resources() {
    let template = template();
    let roles = resources(&template, "AWS::IAM::Role");
    let own = [
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "rds-db:connect",
        "secretsmanager:GetSecretValue",
    ];
    let sending = ["kms:Decrypt", "kms:GenerateDataKey", "sns:Publish", "sqs:SendMessage"];
    for (id, function) in functions(&template) {
        let role = format!("{}Role", id.strip_suffix("Function").unwrap());
        assert_eq!(function["Role"], attribute(&role), "{id}");
        let policies = roles[&role]["Policies"].as_array().unwrap();
        let [policy] = policies.as_slice() else {
            panic!("{role} has {} policies", policies.len())
        };
        let (actions, is_for_all) = granted(&policy["PolicyDocument"]);
        let mut expected = own.to_vec();
        if id == "RelayFunction" {
            expected.extend(sending);
        }
        expected.sort_unstable();
        assert_eq!(actions, expected, "{role}");
        assert!(!is_for_all, "{role} is for all resources");
    }
    for role in roles.values() {
        assert_eq!(role["PermissionsBoundary"]["Fn::If"][0], "HasBoundary");
    }
    let (scheduler, is_for_all) = granted(&roles["SchedulerRole"]["Policies"][0]["PolicyDocument"]);
    assert_eq!(
        (scheduler, is_for_all),
        (vec!["lambda:InvokeFunction".to_owned(), "sqs:SendMessage".to_owned()], false)
    );
    let shared = &resources(&template, "AWS::IAM::ManagedPolicy")["FunctionPolicy"];
    let (actions, _) = granted(&shared["PolicyDocument"]);
    let foreign = actions.iter().find(|a| {
        !a.starts_with("ec2:") && !["kms:Decrypt", "sqs:SendMessage"].contains(&a.as_str())
    });
    assert_eq!(foreign, None);
}
