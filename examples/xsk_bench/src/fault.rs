use serde_json::{Map, Value};
use crate::options::{Fault, Options};
use crate::world::World;
use crate::{Result, Xsk};
pub fn plain<X: Xsk>(_: Fault, _: &World, _: &Options) -> Result<(Map<String, Value>, bool)> { todo!() }
pub fn limited<X: Xsk>(_: Fault, _: &World, _: &Options) -> Result<(Map<String, Value>, bool)> { todo!() }
