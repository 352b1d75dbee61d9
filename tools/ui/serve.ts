import { createServer } from 'vite'
import { UI_CONFIG } from './config.ts'

/** `npm run ui`: the sources of the Admin UI, reloaded as they change, before a running gateway. */
const gateway = process.env['PORTCULLIS_ADMIN'] ?? 'http://127.0.0.1:15000'
const server = await createServer({
  ...UI_CONFIG,
  cacheDir: '../.cache/vite',
  server: { host: '127.0.0.1', proxy: { '/api': gateway } },
})
await server.listen()
server.printUrls()
