//! The steps of the story, each of them acted out on the stage and then checked.

pub(crate) mod dead_letter;
pub(crate) mod inbox;
pub(crate) mod orders;
pub(crate) mod purge;
pub(crate) mod relay;
