//! Who may do what.

use serde_json::{Value, json};

use super::{attribute, functions, resources, template};

/// The statements of a policy document; one that depends on a parameter is the second of an `If`.
fn statements(document: &Value) -> impl Iterator<Item = &Value> {
    let statements = document["Statement"].as_array().unwrap().iter();
    statements.map(|s| s["Fn::If"].get(1).unwrap_or(s))
}

/// The actions that a policy document allows, and whether any of them is for all resources.
fn granted(document: &Value) -> (Vec<String>, bool) {
    let statements = statements(document).filter(|s| s["Effect"] == "Allow");
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

/// Without the setting a purge only deletes, and without the grant it never gets that far.
#[test]
fn an_archive_is_the_setting_and_the_grant_of_the_purge_alone_under_its_prefix_alone() {
    let template = template();
    for (id, function) in functions(&template) {
        let archive = &function["Environment"]["Variables"]["OUTBOX_ARCHIVE"];
        let expected =
            if id == "PurgeFunction" { json!({ "Ref": "ArchiveLocation" }) } else { Value::Null };
        assert_eq!(*archive, expected, "{id}");
    }
    let roles = resources(&template, "AWS::IAM::Role");
    let policy = &roles["PurgeRole"]["Policies"][0]["PolicyDocument"]["Statement"];
    let statements = policy.as_array().unwrap().iter().map(|statement| &statement["Fn::If"]);
    let writing = statements.filter(|s| s[1]["Action"] == "s3:PutObject").collect::<Vec<_>>();
    let [writing] = writing.as_slice() else { panic!("{policy}") };
    assert_eq!(writing[0], "HasArchive");
    let place =
        json!({ "Fn::Join": ["", { "Fn::Split": ["s3://", { "Ref": "ArchiveLocation" }] }] });
    let resource =
        json!({ "Fn::Sub": ["arn:${AWS::Partition}:s3:::${Place}/*", { "Place": place }] });
    assert_eq!(writing[1]["Resource"], resource);
    // An asterisk in the prefix would stand for anything in the grant.
    let pattern = template["Parameters"]["ArchiveLocation"]["AllowedPattern"].as_str().unwrap();
    assert!(pattern.ends_with("(/[A-Za-z0-9!_.=-]+)*)?$"), "{pattern}");
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
    let archiving = ["kms:GenerateDataKey", "s3:PutObject"];
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
        if id == "PurgeFunction" {
            expected.extend(archiving);
        }
        expected.sort_unstable();
        assert_eq!(actions, expected, "{role}");
        assert!(!is_for_all, "{role} is for all resources");
    }
    for role in roles.values() {
        assert_eq!(role["PermissionsBoundary"]["Fn::If"][0], "HasBoundary");
        assert_eq!(role["Path"]["Fn::If"][0], "HasRolePath");
    }
    let (scheduler, is_for_all) = granted(&roles["SchedulerRole"]["Policies"][0]["PolicyDocument"]);
    assert_eq!(
        (scheduler, is_for_all),
        (vec!["lambda:InvokeFunction".to_owned(), "sqs:SendMessage".to_owned()], false)
    );
    let shared = &resources(&template, "AWS::IAM::ManagedPolicy")["FunctionPolicy"];
    let (actions, _) = granted(&shared["PolicyDocument"]);
    let foreign = actions.iter().find(|a| {
        !["ec2:", "xray:Put"].iter().any(|own| a.starts_with(own))
            && !["kms:Decrypt", "sqs:SendMessage"].contains(&a.as_str())
    });
    assert_eq!(foreign, None);
}

/// Lambda attaches a function to its subnets with the function's own role, so that the code had these rights too.
#[test]
fn what_lambda_attaches_functions_with_their_own_code_may_not_use() {
    let template = template();
    let shared = &resources(&template, "AWS::IAM::ManagedPolicy")["FunctionPolicy"];
    let statement = |sid: &str| {
        let mut found = statements(&shared["PolicyDocument"]).filter(|s| s["Sid"] == sid);
        found.next().unwrap_or_else(|| panic!("there is no {sid}"))
    };
    let (allowed, denied) = (statement("AttachToSubnets"), statement("LeaveSubnetsToLambda"));
    assert_eq!(denied["Effect"], "Deny");
    assert_eq!(denied["Action"], allowed["Action"]);
    let sources = &denied["Condition"]["ArnEquals"]["lambda:SourceFunctionArn"];
    let sources: Vec<_> = sources.as_array().unwrap().iter().map(|s| &s["Fn::Sub"][0]).collect();
    for function in functions(&template).values() {
        let name = function["FunctionName"]["Fn::Sub"][0].as_str().unwrap();
        let arn = format!(
            "arn:${{AWS::Partition}}:lambda:${{AWS::Region}}:${{AWS::AccountId}}:function:{name}"
        );
        assert!(sources.contains(&&json!(arn)), "{arn}");
    }
}

#[test]
fn only_the_stacks_own_schedules_start_runs() {
    let template = template();
    let roles = resources(&template, "AWS::IAM::Role");
    let trust = &roles["SchedulerRole"]["AssumeRolePolicyDocument"]["Statement"][0];
    let condition = json!({
        "aws:SourceAccount": { "Ref": "AWS::AccountId" },
        "aws:SourceArn": attribute("ScheduleGroup"),
    });
    assert_eq!(trust["Condition"]["StringEquals"], condition);
    for (id, role) in roles {
        let starts = granted(&role["Policies"][0]["PolicyDocument"]).0;
        let starts = starts.contains(&"lambda:InvokeFunction".to_owned());
        assert_eq!(starts, id == "SchedulerRole", "{id}");
    }
}

#[test]
fn the_failure_queue_is_encrypted_at_rest_and_on_the_way() {
    let template = template();
    let queue = &resources(&template, "AWS::SQS::Queue")["FailureQueue"];
    assert_eq!(queue["SqsManagedSseEnabled"], true);
    let policy = &resources(&template, "AWS::SQS::QueuePolicy")["FailureQueuePolicy"];
    assert_eq!(policy["Queues"], json!([{ "Ref": "FailureQueue" }]));
    let refused = json!({ "Bool": { "aws:SecureTransport": "false" } });
    let statements: Vec<_> = statements(&policy["PolicyDocument"]).collect();
    let [statement] = statements.as_slice() else { panic!("{policy}") };
    assert_eq!((&statement["Effect"], &statement["Condition"]), (&json!("Deny"), &refused));
}
