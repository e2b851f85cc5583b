//! Figures and tables of numbers, drawn without anything else: SVG, a page of HTML, a terminal.
//!
//! The crate's one idea: whoever has measured something says what it is (a series, an axis, a
//! unit), and gets text back that stands alone: no script, no font, no file beside it, readable in
//! a light page and in a dark one.
//!
//! ```
//! use portolan_plot::{Axis, Figure, Line, Page, Part, Series, Table};
//!
//! let mut figure = Figure::new("time per connect", Axis::new("connections"), Axis::new("time"));
//! figure.y = Axis::new("time per call").unit("µs").logarithmic();
//! figure.series.push(Series::new("kernel", Line::Joined, [(0.0, 12.0), (20_000.0, 1_500.0)]));
//! assert!(figure.svg().starts_with("<svg"));
//!
//! let mut table = Table::new("in total", &["", "seconds"]);
//! table.row(["kernel", "33.1"]);
//! let page = Page { title: "Source ports".to_owned(), parts: vec![figure.into(), table.into()] };
//! assert!(page.html().contains("<td>33.1</td>"));
//! ```
//!
//! Pure: no clock, no file, no system call. Read in this order: `numbers.rs`, `scale.rs`,
//! `sheet.rs`; what is drawn, `figure.rs` (`figure/draw.rs`, `figure/thin.rs`), `rows.rs`; where it
//! is shown, `page.rs` and `terminal.rs`.

#![forbid(unsafe_code)]

mod figure;
pub mod numbers;
mod page;
mod rows;
mod scale;
mod sheet;
mod terminal;

pub use figure::{Axis, Figure, Line, Point, Series};
pub use page::{Cell, Page, Part, Table};
pub use rows::{Row, Rows};
pub use scale::Scale;
pub use sheet::{COLOURS, STYLE, Sheet, escape};
