import { join } from 'node:path'
import type { InlineConfig } from 'vite'

export const ROOT = join(import.meta.dirname, '../..')

/** Vite configuration of builds and of the development server. */
export const UI_CONFIG = {
  root: join(ROOT, 'ui'),
  configFile: false,
  base: '/ui/',
  // The gateway replaces this with a new nonce in each page that it serves.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_000,
  },
} as const satisfies InlineConfig
