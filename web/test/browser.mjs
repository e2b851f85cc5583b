// The system's Chromium, headless, with a profile of its own and no traffic of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const ARGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

/** A browser context; `close()` ends the browser and removes its profile. */
export async function launch(options = {}) {
  const profile = await mkdtemp(join(tmpdir(), 'portolan-page-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ARGS,
    viewport: { width: 1280, height: 720 },
    ...options,
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Opens a page and waits until its first graph is drawn. */
export async function openMap(context, url) {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector('html[data-ready="true"]', { timeout: 20_000 });
  return page;
}

/** Clicks a drawn node or edge where it is. */
export async function clickOn(page, id) {
  const at = await page.evaluate((each) => window.portolan.position(each), id);
  if (!at) throw new Error(`${id} is not on the map`);
  await page.mouse.click(at.x, at.y);
}
