//! What is found of the login: what it is for, and which rights it lacks.

use outbox_store::{Lacking, Role};

use super::finding::Finding;

/// What a login is for, by the roles that it is a member of. Whoever is a member of all, as a superuser is, or of none, as
/// the owner is, counts as a relay, which is what most often has to work.
pub(super) fn role_of(member_of: &[String]) -> Role {
    let is_member = |role: &Role| member_of.iter().any(|name| name == role.group());
    let known = [Role::Relay, Role::Admin, Role::Producer];
    known.into_iter().find(is_member).unwrap_or(Role::Relay)
}

/// The rights that it lacks, with the GRANT that gives them.
pub(super) fn judge(login: &str, role: Role, lacking: &[Lacking]) -> Finding {
    let (group, work) = (role.group(), role.as_str());
    if lacking.is_empty() {
        return Finding::ok("role", format!("{login} has the rights that the {work} needs"));
    }
    let rights: Vec<_> = lacking.iter().map(|lacking| lacking.right.as_str()).collect();
    let mend = if lacking.iter().any(|lacking| lacking.is_member) {
        let grants = rights.iter().map(|right| format!("GRANT {right} TO {group}"));
        format!("{group} itself has lost them: `{}`", grants.collect::<Vec<_>>().join("; "))
    } else {
        format!("`GRANT {group} TO {login}`, or run this with the settings of the {work}")
    };
    let rights = rights.join(", ");
    Finding::problem(
        "role",
        format!("{login} can't do the {work}'s work, it lacks {rights}: {mend}"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn a_login_is_for_what_its_roles_are_for() {
        for (member_of, role) in [
            (&["outbox_relay"][..], Role::Relay),
            (&["outbox_admin"], Role::Admin),
            (&["outbox_producer"], Role::Producer),
            (&["outbox_admin", "outbox_producer"], Role::Admin),
            (&["outbox_admin", "outbox_producer", "outbox_relay"], Role::Relay),
            (&[], Role::Relay),
        ] {
            let member_of: Vec<_> = member_of.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(role_of(&member_of), role);
        }
    }

    #[test]
    fn what_is_lacking_is_named_with_the_grant_to_the_login_or_to_the_role_that_lost_it() {
        let lacking = |is_member| {
            let right = |right: &str| Lacking { right: right.to_owned(), is_member };
            [right("SELECT ON outbox.message"), right("EXECUTE ON FUNCTION outbox.record_run")]
        };
        let finding = judge("ada", Role::Relay, &lacking(false));
        assert_eq!(finding.severity, Severity::Problem);
        for named in ["lacks SELECT ON outbox.message, EXECUTE", "`GRANT outbox_relay TO ada`"] {
            assert!(finding.advice.contains(named), "{finding:?}");
        }
        let finding = judge("ada", Role::Purge, &lacking(true));
        let named = "`GRANT SELECT ON outbox.message TO outbox_admin; GRANT EXECUTE";
        assert!(finding.advice.contains(named), "{finding:?}");
        assert_eq!(judge("ada", Role::Relay, &[]).severity, Severity::Ok);
    }
}
