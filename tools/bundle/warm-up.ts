import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { compileBundle, runBundle, writeCode } from './script.ts'

/*
 * `node tools/bundle/warm-up.ts dist/portcullis.cjs` serves a small configuration and a few
 * requests with it, and writes down the code that V8 made meanwhile.
 */
const [, , file = ''] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'portcullis-release-'))
const configuration = join(folder, 'gateway.yaml')
const [port, readiness] = await Promise.all([freePort(), freePort()])
writeFileSync(
  configuration,
  `config:
  workers: 1
  adminAddr: off
  statsAddr: off
  readinessAddr: 127.0.0.1:${readiness}
  logging: { level: warn }
  connectionMinTerminationDeadline: 0s
gateways:
  default: { port: ${port} }
frontendPolicies:
  accessLog: { enabled: false }
routes:
- name: all
  policies:
    authorization:
      rules:
      - require: request.headers['x-internal'] == 'true'
  backends:
  - host: 127.0.0.1:${readiness}
`,
)

const bundle = compileBundle(file)
process.argv = [process.execPath, file, 'run', '-f', configuration]
runBundle(bundle)
process.once('exit', () => {
  rmSync(folder, { recursive: true })
  // V8 refuses code that was made with other settings than those of a start (cli/startup-memory.ts).
  setFlagsFromString('--semi-space-growth-factor=2')
  writeCode(bundle)
})
while ((await statusOf(readiness, {})) !== 200) await new Promise((go) => setTimeout(go, 20))
for (const header of ['true', 'false']) await statusOf(port, { 'x-internal': header })
process.kill(process.pid, 'SIGTERM')

function statusOf(of: number, headers: Readonly<Record<string, string>>): Promise<number> {
  const options = { host: '127.0.0.1', port: of, path: '/healthz/ready', agent: false, headers }
  return new Promise((answer) => {
    get(options, (response) => {
      response.resume()
      answer(response.statusCode ?? 0)
    }).once('error', () => answer(0))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
