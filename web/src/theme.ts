// Light and dark: the system's choice until the reader makes one, which is kept.
import { storage } from './dom.ts';

const KEY = 'portolan.theme';
const NAMES = [
  'paper', 'card', 'ink', 'faint', 'line', 'edge', 'past', 'failing', 'dependents', 'needs',
  'select', 'fresh', 'wind-main', 'wind-half', 'wind-quarter', 'unit', 'container', 'process',
  'user', 'address', 'crowd',
] as const;

export type Colours = Record<(typeof NAMES)[number], string>;

export class Theme {
  private readonly system = matchMedia('(prefers-color-scheme: dark)');
  private listeners: (() => void)[] = [];

  constructor(private readonly root: HTMLElement) {
    const saved = storage.get(KEY);
    if (saved === 'dark' || saved === 'light') root.dataset['theme'] = saved;
    this.system.addEventListener('change', () => this.tell());
  }

  get dark(): boolean {
    const chosen = this.root.dataset['theme'];
    return chosen ? chosen === 'dark' : this.system.matches;
  }

  toggle(): void {
    const next = this.dark ? 'light' : 'dark';
    this.root.dataset['theme'] = next;
    storage.set(KEY, next);
    this.tell();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The colours of page.css as the canvas needs them: resolved for the theme of now. */
  colours(): Colours {
    const probe = document.createElement('span');
    this.root.append(probe);
    const style = getComputedStyle(probe);
    const entries = NAMES.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, style.color];
    });
    probe.remove();
    return Object.fromEntries(entries) as Colours;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
