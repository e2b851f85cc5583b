// The page: three files with fixed names, the same bytes from the same sources.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const license = readFileSync(
  new URL('node_modules/cytoscape/LICENSE', import.meta.url),
  'utf8',
).trim();

export default defineConfig({
  base: './',
  build: {
    target: ['chrome123', 'firefox128', 'safari17.5'],
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: false,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        entryFileNames: 'app.js',
        assetFileNames: 'app[extname]',
        codeSplitting: false,
        postBanner: `/*!\nThis file contains Cytoscape.js:\n\n${license}\n*/`,
      },
    },
  },
});
