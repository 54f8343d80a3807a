//! The hook for tests and benchmarks: counts requests and injects faults.
//!
//! Faults act between client and edge, on bytes, below HTTP: the sandbox itself stays well. They apply to every
//! connection at once, those already open included; a plan for one sandbox replaces the global plan on connections whose
//! last request was for that sandbox. The administration lives on the control port below `/_sandboxd/` and wants a key like
//! every other route ([`routes`]):
//!
//! | request | does |
//! |---|---|
//! | `GET /_sandboxd/info` | version, isolation, number of sandboxes |
//! | `GET /_sandboxd/requests` | counts: `{"total": n, "control": {route: n}, "sandboxes": {id: {route: n}}}` |
//! | `DELETE /_sandboxd/requests` | sets all counts to zero |
//! | `GET /_sandboxd/connections` | client connections to the edge with their sandbox, bytes and open requests |
//! | `GET`, `PUT`, `DELETE /_sandboxd/faults` | the global plan ([`faults::Faults`]) |
//! | `GET`, `PUT`, `DELETE /_sandboxd/faults/SANDBOX` | the plan of one sandbox |
//! | `POST /_sandboxd/cut`, `/_sandboxd/cut/SANDBOX` | closes connections now; body `{"how": "rst" \| "fin"}` or empty (`rst`) |

pub mod counts;
pub mod faults;
pub mod lane;
pub mod link;
pub mod links;
pub mod routes;
pub mod stream;

pub use counts::Counts;
pub use faults::{Faults, How};
pub use link::Link;
pub use links::Links;
pub use stream::FaultStream;
