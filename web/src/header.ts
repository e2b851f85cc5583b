// Everything above the map: which host, how it is read, how much there is, the state of the
// connection, and the warnings.
import type { Status } from './api.ts';
import { el, swap } from './dom.ts';
import { count, time } from './format.ts';
import type { Model } from './model.ts';
import type { View } from './view.ts';

export class Header {
  private readonly dismissed = new Set<string>();
  private status: Status = { state: 'connecting' };
  private warnings: string[] = [];
  /** A trouble of the page's own, such as history that could not be fetched. */
  private trouble: string | null = null;

  constructor(
    private readonly parts: {
      host: HTMLElement;
      method: HTMLElement;
      facts: HTMLElement;
      status: HTMLElement;
      strips: HTMLElement;
    },
    retry: () => void,
  ) {
    parts.strips.addEventListener('click', (event) => {
      const button = (event.target as Element).closest('button');
      if (!button) return;
      const text = button.getAttribute('data-dismiss');
      if (text === null) retry();
      else this.dismissed.add(text);
      this.draw();
    });
  }

  show(model: Model, view: View): void {
    this.parts.host.textContent = model.host;
    this.parts.method.textContent = model.method;
    document.title = model.host ? `${model.host} - Portolan` : 'Portolan';
    let connections = 0;
    for (const edge of view.links.values()) connections += edge.connections;
    swap(
      this.parts.facts,
      el('span', {}, el('b', {}, String(view.services.size)), ' services'),
      el('span', {}, el('b', {}, String(view.links.size)), ' edges'),
      el('span', {}, el('b', {}, String(connections)), ' connections'),
    );
    this.warnings = model.warnings;
    this.draw();
  }

  setStatus(status: Status): void {
    this.status = status;
    this.draw();
  }

  setTrouble(text: string | null): void {
    this.trouble = text;
    if (text !== null) this.dismissed.delete(text);
    this.draw();
  }

  private draw(): void {
    const { state } = this.status;
    const words = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' };
    if (this.parts.status.textContent !== words[state]) {
      this.parts.status.textContent = words[state];
    }
    document.documentElement.dataset['status'] = state;
    const strips: HTMLElement[] = [];
    if (this.status.state === 'lost' && this.status.since !== null) {
      strips.push(this.lostStrip(this.status.why, this.status.since));
    }
    const texts = this.trouble === null ? this.warnings : [this.trouble, ...this.warnings];
    for (const text of texts) {
      if (!this.dismissed.has(text)) strips.push(warningStrip(text));
    }
    swap(this.parts.strips, ...strips);
  }

  private lostStrip(why: string, since: number): HTMLElement {
    const at = time(since, Date.now());
    return el(
      'div',
      { class: 'strip lost' },
      el('strong', {}, 'No connection'),
      el('span', {}, `${why}. The map is as of ${at}; trying again.`),
      el('button', { type: 'button', 'data-key': 'retry' }, 'Try now'),
    );
  }
}

function warningStrip(text: string): HTMLElement {
  return el(
    'div',
    { class: 'strip' },
    el('strong', {}, 'Note'),
    el('span', {}, text),
    el(
      'button',
      { type: 'button', 'data-dismiss': text, 'data-key': text, 'aria-label': 'Dismiss' },
      '×',
    ),
  );
}

/** Words in the middle of the map when there is nothing on it. */
export function notice(
  target: HTMLElement,
  status: Status,
  model: Model,
  view: View | null,
): void {
  const content = noticeContent(status, model, view);
  target.hidden = content.length === 0;
  swap(target, ...content);
}

function noticeContent(status: Status, model: Model, view: View | null): HTMLElement[] {
  if (!model.loaded) {
    if (status.state !== 'lost') return [el('h2', {}, 'Reading the map')];
    return [
      el('h2', {}, 'No answer yet'),
      el('p', {}, `${status.why}. This page keeps trying and fills itself.`),
    ];
  }
  if (!view || view.nodes.size > 0) return [];
  if (model.nodes.size > 0) {
    return [
      el('h2', {}, 'Nothing in this view'),
      el('p', {}, `${count(model.nodes.size, 'service')} known, all hidden or out of this time.`),
      el('button', { type: 'button', 'data-act': 'everything' }, 'Show them'),
    ];
  }
  return [
    el('h2', {}, 'Nothing connected yet'),
    el('p', {}, 'As soon as a process on this host listens on a port or opens a connection, it ' +
      'appears here: clients on the left, the servers they call on the right.'),
    el('p', { class: 'quiet' }, 'Try it: curl any address from a terminal, and watch.'),
  ];
}
