// Building page elements. Text is always a text node: nothing from outside becomes markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** The page's own element; it is in index.html, or the page is broken. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element #${id}`);
  return element as T;
}

/** Replaces the content only if it differs; keeps focus (by `data-key`) and scroll place. */
export function swap(target: HTMLElement, ...content: Node[]): void {
  const next = el('div', {}, ...content);
  if (next.innerHTML === target.innerHTML) return;
  const active = document.activeElement;
  const key = active && target.contains(active) ? active.getAttribute('data-key') : null;
  const scroll = target.scrollTop;
  target.replaceChildren(...next.childNodes);
  target.scrollTop = scroll;
  if (key === null) return;
  const again = [...target.querySelectorAll<HTMLElement>('[data-key]')].find((element) => {
    return element.getAttribute('data-key') === key;
  });
  again?.focus({ preventScroll: true });
}

/** localStorage that is full, switched off or holds something else is no reason to fail. */
export const storage = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string | null): void {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // The setting lives as long as the page, then.
    }
  },
};
