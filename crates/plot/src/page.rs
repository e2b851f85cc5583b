//! One page of HTML that needs no other file.

use std::fmt::Write as _;

use crate::{
    Figure,
    sheet::{STYLE, escape},
};

const PAGE_STYLE: &str = "\
body{font:15px system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;\
color-scheme:light dark}svg{max-width:100%;height:auto}\
table{border-collapse:collapse;margin:1em 0}caption{text-align:left;font-weight:600}\
th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #8c959f55}\
th:first-child,td:first-child,td.why{text-align:left}\
td{font-variant-numeric:tabular-nums}";

/// A title and what is below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Of the window and of the page.
    pub title: String,
    /// From top to bottom.
    pub parts: Vec<Part>,
}

/// What a page is made of. Texts are text: nothing in them is taken for HTML.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A heading below the title.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A figure.
    Figure(Figure),
    /// A picture that [`crate::Sheet::svg`] made.
    Picture(String),
    /// A table.
    Table(Table),
}

impl From<Figure> for Part {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// Rows and columns with headings. The first column is names; the others are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// One for each column.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// What stands in one place of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A text, and what is said about it when one points at it.
    About(String, String),
    /// A text in the place of all other columns: why there are no numbers.
    Why(String),
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl Table {
    /// One without rows.
    #[must_use]
    pub fn new(caption: impl Into<String>, headings: &[&str]) -> Self {
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        Self { caption: caption.into(), headings, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn write(&self, out: &mut String) {
        let caption = escape(&self.caption);
        let _ = write!(out, "<table>\n<caption>{caption}</caption>\n<tr>");
        for heading in &self.headings {
            let _ = write!(out, "<th>{}</th>", escape(heading));
        }
        out.push_str("</tr>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for cell in row {
                let _ = match cell {
                    Cell::Text(text) => write!(out, "<td>{}</td>", escape(text)),
                    Cell::About(text, about) => {
                        // Quotes matter in an attribute only.
                        let about = escape(about).replace('"', "&quot;");
                        write!(out, "<td title=\"{about}\">{}</td>", escape(text))
                    }
                    Cell::Why(why) => {
                        let width = self.headings.len().saturating_sub(row.len() - 1).max(1);
                        let why = escape(why);
                        write!(out, "<td class=\"why\" colspan=\"{width}\">{why}</td>")
                    }
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
}

impl Page {
    /// The whole file.
    #[must_use]
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n\
             <style>{PAGE_STYLE}{STYLE}</style>\n<h1>{title}</h1>"
        );
        for part in &self.parts {
            let _ = match part {
                Part::Heading(text) => writeln!(out, "<h2>{}</h2>", escape(text)),
                Part::Text(text) => writeln!(out, "<p>{}</p>", escape(text)),
                Part::Figure(figure) => write!(out, "{}", figure.picture(None)),
                Part::Picture(svg) => write!(out, "{svg}"),
                Part::Table(table) => {
                    table.write(&mut out);
                    Ok(())
                }
            };
        }
        out.push_str("</html>\n");
        out
    }
}

#[cfg(test)]
mod tests;
