//! All commands, and which of them need a look each turn.
//!
//! Most of a thousand running commands are quiet: nothing about them is due and nothing has happened. Whatever is changed goes through
//! [`Commands::get_mut`], so what is not stirred is as quiet as when it was last looked at, and a turn costs as much as happens in it.

use std::collections::{HashMap, HashSet};

use protocol::CommandId;

use super::Command;

/// All commands that are not forgotten.
#[derive(Default)]
pub struct Commands {
    all: HashMap<CommandId, Command>,
    stirred: HashSet<CommandId>,
}

impl Commands {
    /// One of them.
    pub fn get(&self, id: &CommandId) -> Option<&Command> {
        self.all.get(id)
    }

    /// One of them, to be changed.
    pub fn get_mut(&mut self, id: &CommandId) -> Option<&mut Command> {
        let command = self.all.get_mut(id);
        if command.is_some() {
            self.stirred.insert(*id);
        }
        command
    }

    /// Whether there is one of this number.
    pub fn contains_key(&self, id: &CommandId) -> bool {
        self.all.contains_key(id)
    }

    /// Adds one.
    pub fn insert(&mut self, id: CommandId, command: Command) {
        self.all.insert(id, command);
        self.stirred.insert(id);
    }

    /// Takes one out.
    pub fn remove(&mut self, id: &CommandId) -> Option<Command> {
        self.stirred.remove(id);
        self.all.remove(id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (CommandId, &Command)> {
        self.all.iter().map(|(&id, command)| (id, command))
    }

    /// Those that are not known to be quiet.
    pub fn stirred(&self) -> impl Iterator<Item = (CommandId, &Command)> {
        self.stirred.iter().filter_map(|&id| Some((id, self.all.get(&id)?)))
    }

    /// Forgets which were stirred, but for those that are not quiet: those are looked at in the next turn as well.
    pub fn settle(&mut self) {
        let all = &self.all;
        self.stirred.retain(|id| all.get(id).is_some_and(|command| !command.is_quiet()));
    }

    /// All of them, for a change that leaves the quiet ones quiet.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Command> {
        self.all.values_mut()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Gives memory back that a crowd needed.
    pub fn shrink_to_fit(&mut self) {
        self.all.shrink_to_fit();
        self.stirred.shrink_to_fit();
    }
}
