import { createServer } from 'vite'
import { UI_CONFIG } from './config.ts'

/** `npm run ui` serves the Admin UI with live reload and forwards its API to a running gateway. */
const gateway = process.env['PORTCULLIS_ADMIN'] ?? 'http://127.0.0.1:15000'
const server = await createServer({
  ...UI_CONFIG,
  cacheDir: '../.cache/vite',
  server: { host: '127.0.0.1', proxy: { '/api': gateway, '/ui/api': gateway } },
})
await server.listen()
server.printUrls()
