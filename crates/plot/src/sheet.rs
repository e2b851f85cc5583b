//! Elements of SVG, one after the other.

use std::fmt::Write as _;

/// So many series have colours of their own; those after them begin again, dashed.
pub const COLOURS: usize = 8;

/// How figures look. Colours are told apart on white and on near black, also by those who see few
/// of them; which of the two it is, the reader's preference says.
pub const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1b1f24}\
.title{font-size:17px;font-weight:600}.size{font-size:14px;font-weight:600}\
.faint{fill:#59636e}.right{text-anchor:end}.middle{text-anchor:middle}\
.axis{stroke:#8c959f;stroke-width:1}.grid{stroke:#8c959f;stroke-opacity:.3}\
.note{stroke:#8c959f;stroke-width:1.5;stroke-dasharray:5 4}\
.line{stroke-width:2;stroke-linejoin:round}.again{stroke-dasharray:6 3}.bar{stroke-width:1.5}\
.s0{stroke:#59636e;fill:#59636e}.s1{stroke:#b35900;fill:#b35900}.s2{stroke:#b3261e;fill:#b3261e}\
.s3{stroke:#7a4fb0;fill:#7a4fb0}.s4{stroke:#0b6e99;fill:#0b6e99}.s5{stroke:#2c7a3f;fill:#2c7a3f}\
.s6{stroke:#a03a7a;fill:#a03a7a}.s7{stroke:#7d6600;fill:#7d6600}.line{fill:none}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9aa4ae}\
.s0{stroke:#9aa4ae;fill:#9aa4ae}.s1{stroke:#f0a35e;fill:#f0a35e}.s2{stroke:#ff8a80;fill:#ff8a80}\
.s3{stroke:#c3a5ee;fill:#c3a5ee}.s4{stroke:#4fb3d9;fill:#4fb3d9}.s5{stroke:#6fcf86;fill:#6fcf86}\
.s6{stroke:#ee9ccb;fill:#ee9ccb}.s7{stroke:#d9c04a;fill:#d9c04a}.line{fill:none}}";

/// The elements so far. Places are in pixels from the upper left corner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    elements: String,
}

impl Sheet {
    /// A straight line.
    pub fn stroke(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(place);
        self.write(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// A line through points.
    pub fn path(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points: Vec<String> =
            points.into_iter().map(|(x, y)| format!("{},{}", place(x), place(y))).collect();
        let points = points.join(" ");
        self.write(format_args!("<polyline class=\"{class}\" points=\"{points}\"/>"));
    }

    /// A filled rectangle with its upper left corner, its width and its height.
    pub fn rectangle(&mut self, class: &str, at: (f64, f64), width: f64, height: f64) {
        let [x, y, width, height] = [at.0, at.1, width, height].map(place);
        self.write(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"2\"/>"
        ));
    }

    /// A filled circle.
    pub fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let [x, y, radius] = [at.0, at.1, radius].map(place);
        self.write(format_args!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
        ));
    }

    /// A text; `at` is its lower left corner, unless `class` has it elsewhere.
    pub fn label(&mut self, at: (f64, f64), class: &str, text: &str) {
        let [x, y] = [at.0, at.1].map(place);
        let text = escape(text);
        self.write(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    /// A picture of this size, in pixels, with a title for those who do not see it. Without
    /// `style`, the page around it has to have it.
    #[must_use]
    pub fn svg(&self, title: &str, (width, height): (f64, f64), style: Option<&str>) -> String {
        let [width, height] = [width, height].map(place);
        let style = style.map(|style| format!("<style>{style}</style>\n")).unwrap_or_default();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n{style}",
            escape(title),
        ) + &self.elements
            + "</svg>\n"
    }

    fn write(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.elements, "{element}");
    }
}

/// A tenth of a pixel is enough, and none where it is whole.
fn place(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Text as XML 1.0 takes it between tags: section 2.4 for what has a meaning, 2.2 for what is no
/// character at all.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
