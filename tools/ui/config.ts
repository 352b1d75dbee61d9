import { join } from 'node:path'
import type { InlineConfig } from 'vite'

export const ROOT = join(import.meta.dirname, '../..')

/** Of builds, and of the server for whoever works on the UI. */
export const UI_CONFIG = {
  root: join(ROOT, 'ui'),
  configFile: false,
  base: '/ui/',
  // The gateway puts a value of its own in place of it, for each page that it sends.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_000,
  },
} as const satisfies InlineConfig
