// A minimal controller for proxies, run as a separate process: node controller.ts PORT FILE
// Serves the routes of FILE, a gateway configuration file, to proxies of the Gateway `a`.

import { readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { loadText } from '../../src/sources/file/load.ts'
import { Publications } from '../../src/xds/publications.ts'
import { serveXds } from '../../src/xds/server.ts'

const [port = '0', file = ''] = process.argv.slice(2)

const reported = new Set<string>()
const publications = new Publications((gateway) => {
  for (const { node, outcome } of publications.proxies(gateway)) {
    const line = JSON.stringify({ node, outcome })
    if (outcome === undefined || reported.has(line)) continue
    reported.add(line)
    console.log(line)
  }
})

let last = ''
function publish(): void {
  const text = readFileSync(file, 'utf8')
  if (text === last || text === '') return
  last = text
  const { value, diagnostics } = loadText(text, file, { environment: {} }).result
  if (value === undefined) throw new Error(JSON.stringify(diagnostics))
  publications.publish('a', value)
}

publish()
watch(dirname(file), publish)
await serveXds({
  mode: 'plaintext',
  host: '127.0.0.1',
  port: Number(port),
  publications,
  authenticate: async (token) =>
    token === 'token-of-a' ? { gateway: 'a' } : { rejected: 'invalid-token' },
})
console.log('listening')
