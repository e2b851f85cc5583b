// Server-sent events from a byte stream. Not EventSource: that hides the status and the words of
// a refusal, and the comment lines that show that a silent server is still there.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Takes text in any pieces, gives the events that are complete. */
export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?=[^])/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.line(line);
      if (event) events.push(event);
    }
    return events;
  }

  private line(line: string): ServerEvent | null {
    if (line === '') {
      const event = { event: this.event || 'message', data: this.data.join('\n') };
      const complete = this.data.length > 0;
      this.event = '';
      this.data = [];
      return complete ? event : null;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    if (field === 'data') this.data.push(value);
    return null;
  }
}
