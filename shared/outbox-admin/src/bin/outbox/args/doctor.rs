//! What `outbox doctor` takes.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use outbox_admin::Role;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Doctor {
    /// What the login is for; if left out, what the roles are for that it is a member of
    #[arg(long = "as", value_name = "ROLE", value_parser = role())]
    pub(crate) role: Option<Role>,
}

fn role() -> impl TypedValueParser<Value = Role> {
    let roles = [Role::Relay, Role::Purge, Role::Admin, Role::Producer];
    PossibleValuesParser::new(roles.map(Role::as_str)).map(move |name| {
        let known = roles.into_iter().find(|role| role.as_str() == name);
        known.expect("only these names are possible")
    })
}
