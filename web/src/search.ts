// The search box: a list of what matches under it, rings around it on the map.
import { el } from './dom.ts';
import { sign } from './icons.ts';
import { match, type Match } from './match.ts';
import type { ServiceNode } from './types.ts';

const SHOWN_MOST = 10;

export interface SearchHandlers {
  services(): ReadonlyMap<string, ServiceNode>;
  found(ids: string[]): void;
  select(id: string): void;
  /** The reader is done with the box. */
  leave(): void;
}

export class Search {
  private matches: Match[] = [];
  private active = 0;

  constructor(
    private readonly input: HTMLInputElement,
    private readonly list: HTMLElement,
    private readonly handlers: SearchHandlers,
  ) {
    input.addEventListener('input', () => this.update());
    input.addEventListener('focus', () => this.update());
    input.addEventListener('blur', () => this.close());
    input.addEventListener('keydown', (event) => this.key(event));
    // Before the blur of the box, which would take the list away.
    list.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      const id = (event.target as Element).closest('[data-id]')?.getAttribute('data-id');
      if (id) this.choose(id);
    });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  clear(): void {
    this.input.value = '';
    this.update();
  }

  private update(): void {
    this.matches = match(this.handlers.services().values(), this.input.value);
    this.active = 0;
    this.handlers.found(this.matches.map((item) => item.id));
    this.draw();
  }

  private draw(): void {
    const shown = this.matches.slice(0, SHOWN_MOST);
    const items = shown.map((item, index) => this.option(item, index));
    const rest = this.matches.length - shown.length;
    if (rest > 0) items.push(el('li', { class: 'quiet' }, `and ${rest} more: type on`));
    const asked = this.input.value.trim() !== '';
    if (items.length === 0) items.push(el('li', { class: 'quiet' }, 'No service matches.'));
    this.list.replaceChildren(...items);
    this.list.hidden = !asked;
    this.input.setAttribute('aria-expanded', String(asked));
    const current = shown.length > 0 && asked ? `found-${this.active}` : '';
    this.input.setAttribute('aria-activedescendant', current);
  }

  private option(item: Match, index: number): HTMLElement {
    const kind = this.handlers.services().get(item.id)?.kind ?? 'process';
    return el(
      'li',
      { id: `found-${index}`, role: 'option', 'data-id': item.id,
        'aria-selected': String(index === this.active) },
      sign(kind),
      el('span', { class: 'name' }, item.name),
      item.why !== '' && el('span', { class: 'via' }, item.why),
    );
  }

  private key(event: KeyboardEvent): void {
    const shown = Math.min(this.matches.length, SHOWN_MOST);
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (shown === 0) return;
      const step = event.key === 'ArrowDown' ? 1 : -1;
      this.active = (this.active + step + shown) % shown;
      this.draw();
    } else if (event.key === 'Enter') {
      const item = this.matches[this.active];
      if (item) this.choose(item.id);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      if (this.input.value === '') this.handlers.leave();
      else this.clear();
    }
  }

  private choose(id: string): void {
    this.clear();
    this.close();
    this.handlers.select(id);
    this.handlers.leave();
  }

  private close(): void {
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
  }
}
