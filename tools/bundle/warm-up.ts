import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { compileBundle, runBundle, writeCode } from './script.ts'

/*
 * `node --predictable tools/bundle/warm-up.ts DIST/portcullis.cjs` starts a gateway and saves the
 * code that V8 generates meanwhile. The port is in use, so that the start fails when it would
 * begin to serve: what runs later depends on the clock, and the same text must produce the same
 * bytes. For the same reason V8 compiles in one thread without randomness, earlier code is not
 * read, and the name of the script does not reveal where it was built.
 */
const [, , file = ''] = process.argv
rmSync(file.replace(/\.cjs$/, '.code'), { force: true })
const folder = mkdtempSync(join(tmpdir(), 'portcullis-release-'))
const configuration = join(folder, 'gateway.yaml')
const taken = createServer().listen(0, '127.0.0.1')
await new Promise((resolve) => taken.once('listening', resolve))
const { port } = taken.address() as AddressInfo
taken.unref()
writeFileSync(
  configuration,
  `config:
  workers: 1
  adminAddr: off
  statsAddr: off
  readinessAddr: off
  logging: { level: warn }
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
  - host: 127.0.0.1:1
`,
)

const name = `/${basename(file)}`
const bundle = compileBundle(file, name)
// Cooperative work and periodic timers would make the code depend on the load of the machine.
const never = setTimeout(() => {}, 0)
clearTimeout(never)
performance.now = () => 0
Object.assign(globalThis, { setInterval: () => never, setTimeout: () => never })
const { write } = process.stderr
const said: string[] = []
process.stderr.write = (text) => said.push(String(text)) > 0
process.argv = [process.execPath, name, 'run', '-f', configuration]
runBundle({ ...bundle, file: name })
process.once('exit', () => {
  process.stderr.write = write
  rmSync(folder, { recursive: true })
  const isTaken = said.join('').includes('PC0401')
  process.exitCode = isTaken ? 0 : 1
  if (isTaken) writeCode(bundle)
  else process.stderr.write(said.join(''))
})
