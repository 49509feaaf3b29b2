//! Fair shares: what a claim may take of each destination.

use outbox_store::Quota;

/// Divides a batch among the destinations that have something due, so that no backlog keeps a short queue waiting.
/// The quotas add up to the batch size, or to less if it can't be divided further; a destination that has less than
/// its share leaves the rest to the next claim.
pub(crate) fn share(batch_size: u32, destinations: &[String]) -> Vec<Quota> {
    let n = u32::try_from(destinations.len()).unwrap_or(u32::MAX);
    let (each, left_over) = match n {
        0 => return Vec::new(),
        n => (batch_size / n, batch_size % n),
    };
    let quotas = destinations.iter().zip(0..).map(|(destination, place)| Quota {
        destination: destination.clone(),
        n_messages: each + u32::from(place < left_over),
    });
    quotas.filter(|quota| quota.n_messages > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(batch_size: u32, n: usize) -> Vec<u32> {
        let names: Vec<String> = (0..n).map(|i| format!("d{i}")).collect();
        share(batch_size, &names).iter().map(|quota| quota.n_messages).collect()
    }

    #[test]
    fn shares_are_even_and_add_up_to_the_batch() {
        assert_eq!(shares(500, 1), [500]);
        assert_eq!(shares(500, 3), [167, 167, 166]);
        assert_eq!(shares(500, 0), [0_u32; 0]);
    }

    #[test]
    fn with_more_destinations_than_messages_the_first_ones_get_one_each() {
        assert_eq!(shares(2, 3), [1, 1]);
    }
}
