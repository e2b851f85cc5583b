//! As much of a terminal as it takes to see what a program drew.

/// The contents of a terminal after some output.
#[derive(Clone, Debug)]
pub struct Screen {
    columns: usize,
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// Whether the alternate screen is shown.
    pub is_alternate: bool,
    /// Whether the cursor is shown.
    pub has_cursor: bool,
    /// How often the alternate screen was entered.
    pub entered: usize,
}

impl Screen {
    /// What `output` leaves on a terminal of this size.
    #[must_use]
    pub fn after(output: &str, columns: usize, rows: usize) -> Self {
        let mut screen = Self {
            columns,
            cells: vec![vec![' '; columns]; rows],
            row: 0,
            column: 0,
            is_alternate: false,
            has_cursor: true,
            entered: 0,
        };
        let mut chars = output.chars();
        while let Some(c) = chars.next() {
            match c {
                '\x1b' => screen.escape(&mut chars),
                '\n' => screen.row = (screen.row + 1).min(rows - 1),
                '\r' => screen.column = 0,
                c if c.is_control() => {}
                c => screen.put(c),
            }
        }
        screen
    }

    /// The lines, without the blanks at their ends.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |cells: &Vec<char>| cells.iter().collect::<String>().trim_end().to_owned();
        self.cells.iter().map(line).collect()
    }

    fn put(&mut self, c: char) {
        if let Some(cell) = self.cells.get_mut(self.row).and_then(|line| line.get_mut(self.column))
        {
            *cell = c;
        }
        self.column = (self.column + 1).min(self.columns);
    }

    fn escape(&mut self, chars: &mut std::str::Chars<'_>) {
        if chars.next() != Some('[') {
            return;
        }
        let mut parameters = String::new();
        for c in chars {
            if ('@'..='~').contains(&c) {
                self.control(&parameters, c);
                return;
            }
            parameters.push(c);
        }
    }

    fn control(&mut self, parameters: &str, end: char) {
        let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().ok());
        let mut number = |default| numbers.next().flatten().unwrap_or(default);
        match (parameters, end) {
            ("?1049", 'h') => {
                self.is_alternate = true;
                self.entered += 1;
                self.clear();
            }
            ("?1049", 'l') => self.is_alternate = false,
            ("?25", 'h') => self.has_cursor = true,
            ("?25", 'l') => self.has_cursor = false,
            (_, 'H') => {
                self.row = number(1).saturating_sub(1);
                self.column = number(1).saturating_sub(1);
            }
            ("2", 'J') => self.clear(),
            _ => {}
        }
    }

    fn clear(&mut self) {
        for line in &mut self.cells {
            line.fill(' ');
        }
    }
}
