//! `outbox completions` and `outbox man`: the program described by itself, for shells and for people.

use std::fs;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{self, Args};
use crate::exit::{Exit, Failure};
use crate::output::print;

pub(crate) fn completions(args: &args::Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "outbox", &mut script);
    print_text(script)
}

pub(crate) fn pages(args: &args::Man) -> Result<Exit, Failure> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        let rendered = Man::new(Args::command()).render(&mut page);
        rendered.expect("a page writes to memory");
        return print_text(page);
    };
    let written =
        fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Args::command(), dir));
    let cannot =
        |error| Failure::usage(format!("cannot write the pages to {}: {error}", dir.display()));
    written.map_err(cannot)?;
    print(&format!(
        "wrote a page for each verb; to read one: man {}",
        dir.join("outbox.1").display()
    ))?;
    Ok(Exit::Ok)
}

fn print_text(text: Vec<u8>) -> Result<Exit, Failure> {
    print(&String::from_utf8(text).expect("help is UTF-8"))?;
    Ok(Exit::Ok)
}
