// Bundles the unit tests for node's own test runner.
import { readdirSync } from 'node:fs';
import { defineConfig } from 'vite';

const folder = new URL('test/unit/', import.meta.url);
const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));

export default defineConfig({
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'artefacts/unit',
    emptyOutDir: true,
    minify: false,
    rolldownOptions: {
      input: tests.map((name) => `test/unit/${name}`),
      output: { entryFileNames: '[name].mjs', chunkFileNames: 'shared-[name].mjs' },
    },
  },
});
