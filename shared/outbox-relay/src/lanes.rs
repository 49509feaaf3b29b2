//! The messages of one claim, a lane for each destination, handed out in turns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use outbox::{
    Defect, Destination, Destinations, Entry, Mark, Message, OnDead, Outcome, Packer, Rejected,
};

use crate::traffic::Start;

pub(crate) struct Lanes {
    all: Vec<Lane>,
    /// The lane whose turn it is.
    turn: usize,
    /// Groups of which something was not accepted, by destination.
    stopped: HashSet<(String, String)>,
}

struct Lane {
    destination: Arc<Destination>,
    packer: Packer,
}

/// One request to be made.
pub(crate) struct Request {
    lane: usize,
    pub(crate) destination: Arc<Destination>,
    pub(crate) entries: Vec<Entry>,
}

impl Lanes {
    /// Sorts claimed messages, in order of their ids, into lanes. Those that can't be sent are marked instead: dead
    /// for a defect of their own, released if they stand behind such a one in their group.
    pub(crate) fn new(
        messages: Vec<Message>,
        destinations: &Destinations,
        max_attempts: u32,
    ) -> (Self, Vec<(i64, Mark)>) {
        let mut marks = Vec::new();
        let mut entries: HashMap<String, Vec<Entry>> = HashMap::new();
        let mut stopped: HashSet<(String, String)> = HashSet::new();
        for message in messages {
            let group = message.message_group.clone().map(|g| (message.destination.clone(), g));
            if group.as_ref().is_some_and(|group| stopped.contains(group)) {
                marks.push((message.id, Mark::Released));
                continue;
            }
            match prepare(message, destinations, max_attempts) {
                Ok(entry) => {
                    entries.entry(entry.message.destination.clone()).or_default().push(entry);
                }
                Err(rejected) => {
                    let Rejected { message, defect } = *rejected;
                    let on_dead = destinations.get(&message.destination).map(|it| it.on_dead);
                    let mark = Mark::of_defect(&defect, on_dead.unwrap_or(OnDead::Continue));
                    log_dead(&message, &mark);
                    marks.push((message.id, mark));
                    stopped.extend(group);
                }
            }
        }
        let lanes = entries.into_iter().filter_map(|(name, entries)| {
            let destination = Arc::clone(destinations.get(&name)?);
            let packer = Packer::new(destination.max_bytes, first_tries_first(entries));
            Some(Lane { destination, packer })
        });
        (Self { all: lanes.collect(), turn: 0, stopped }, marks)
    }

    /// The next request of the lane whose turn it is, for a destination that may be sent one. If there is none, whether one
    /// may be sent later.
    pub(crate) fn next_request(&mut self, start: impl Fn(&str) -> Start) -> Result<Request, Start> {
        let mut when = Start::Not;
        for _ in 0..self.all.len() {
            let lane = self.turn % self.all.len();
            self.turn = lane + 1;
            let Lane { destination, packer } = &mut self.all[lane];
            if !packer.is_ready() {
                continue;
            }
            match start(&destination.name) {
                Start::Now => {
                    let entries = packer.next_request().expect("one is ready");
                    return Ok(Request { lane, destination: Arc::clone(destination), entries });
                }
                Start::Later => when = Start::Later,
                Start::Not => {}
            }
        }
        Err(when)
    }

    /// Whether something can still be handed out for a destination that is not held up.
    pub(crate) fn has_work(&self, is_held_up: impl Fn(&str) -> bool) -> bool {
        let has_work = |lane: &Lane| lane.packer.n_waiting() > 0;
        self.all.iter().any(|lane| has_work(lane) && !is_held_up(&lane.destination.name))
    }

    /// Takes in what became of a request: a group whose message was accepted goes on, any other stops.
    pub(crate) fn take_in(&mut self, request: &Request, outcomes: &[Outcome]) {
        let packer = &mut self.all[request.lane].packer;
        for (entry, outcome) in request.entries.iter().zip(outcomes) {
            match (&entry.message.message_group, outcome) {
                (Some(group), Outcome::Accepted { .. }) => packer.accepted(group),
                (Some(group), Outcome::Failed(_)) => {
                    packer.stopped(group);
                    self.stopped.insert((entry.message.destination.clone(), group.clone()));
                }
                (None, _) => {}
            }
        }
    }

    /// Whether something of the group was not accepted.
    pub(crate) fn has_stopped(&self, group: &(String, String)) -> bool {
        self.stopped.contains(group)
    }

    /// The ids of all messages that were never handed out.
    pub(crate) fn take_unsent(&mut self) -> impl Iterator<Item = i64> {
        let lanes = std::mem::take(&mut self.all);
        lanes.into_iter().flat_map(|lane| lane.packer.into_unsent()).map(|e| e.message.id)
    }
}

/// Puts behind what has failed before: once a destination has accepted something in a run, a message that fails there is
/// at fault itself. Poison that always went first would never be found out. A group goes by its first message, as a whole.
fn first_tries_first(entries: Vec<Entry>) -> impl Iterator<Item = Entry> {
    let mut groups: HashMap<String, bool> = HashMap::new();
    let has_failed = |entry: &Entry| match &entry.message.message_group {
        None => entry.message.has_failed,
        Some(group) => *groups.entry(group.clone()).or_insert(entry.message.has_failed),
    };
    let (again, first): (Vec<_>, Vec<_>) = entries.into_iter().partition(has_failed);
    first.into_iter().chain(again)
}

fn prepare(
    message: Message,
    destinations: &Destinations,
    max_attempts: u32,
) -> Result<Entry, Box<Rejected>> {
    let reject = |message, defect| Err(Box::new(Rejected { message, defect }));
    // Attempts rise at the claim, so a message that ended its relay each time arrives here over the cap. One that was
    // never sent alone may have shared its claims with the one that did.
    if message.was_alone && i64::from(message.attempts) > i64::from(max_attempts) {
        let attempts = message.attempts;
        return reject(message, Defect::NoOutcome { attempts, max_attempts });
    }
    let Some(destination) = destinations.get(&message.destination) else {
        let defect = Defect::NoRoute(message.destination.clone());
        return reject(message, defect);
    };
    Entry::prepare(message, destination)
}

/// One line for each dead message: someone must look at it.
pub(crate) fn log_dead(message: &Message, mark: &Mark) {
    if let Mark::Dead { reason, code, .. } = mark {
        tracing::warn!(
            outbox.message.id = message.id,
            messaging.message.id = %message.message_id,
            messaging.destination.name = message.destination,
            outbox.attempts = message.attempts,
            outbox.dead_reason = reason.as_str(),
            error.r#type = code,
            "message is dead"
        );
    }
}
