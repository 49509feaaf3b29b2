//! Region, endpoints and credentials, from the standard AWS variables and profiles.

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::{AppName, BehaviorVersion, SdkConfig};

/// What the AWS SDKs need to know. Touches no network; credentials are fetched at the first request.
///
/// The region comes from the environment or the profile alone: the SDK would go on to ask the metadata
/// service of a virtual machine, and where there is none that takes seconds.
pub async fn aws_config() -> SdkConfig {
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new());
    aws_config::defaults(BehaviorVersion::latest())
        .region(region)
        .app_name(AppName::new("outbox-relay").expect("letters and a hyphen are allowed"))
        .load()
        .await
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn configuration_is_at_hand_at_once_and_names_the_relay_to_aws() {
        let started = Instant::now();
        let config = aws_config().await;
        assert!(started.elapsed() < Duration::from_secs(1), "no network is to be asked");
        assert_eq!(config.app_name().map(ToString::to_string).as_deref(), Some("outbox-relay"));
    }
}
