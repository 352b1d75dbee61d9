import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cast } from './cast.ts'
import { FIRST_MINUTE, linesToType } from './first-minute.ts'

/*
 * `unshare --net node tools/recording/record.ts` starts a gateway, types README's first minute,
 * and writes an asciicast for `asciinema play`. The separate network namespace keeps the ports
 * free.
 */
const ROOT = join(import.meta.dirname, '../..')
const READY = 'http://127.0.0.1:15021/healthz/ready'
const TIMEOUT_MS = 120_000

spawnSync('ip', ['link', 'set', 'lo', 'up'])
const program = join(ROOT, 'bin/portcullis.ts')
const home = mkdtempSync(join(tmpdir(), 'recording-'))
const environment = { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb' }
const example = join(ROOT, 'examples/quickstart.yaml')
const gateway = spawn(process.execPath, [program, 'run', '-f', example], { env: environment })
try {
  await ready()
  const cast = new Cast({ width: 100, height: 30, title: 'The first minute with Portcullis' })
  for (const line of linesToType(readFileSync(join(ROOT, 'README.md'), 'utf8'))) {
    const [command = line] = line.split(/\s+# /)
    const own = command.replace(/^npx portcullis/, `${process.execPath} ${program}`)
    // Without a terminal, curl prints a progress meter.
    const run = own.replace(/^curl /, 'curl -sS ')
    const { stdout, stderr } = spawnSync('sh', ['-c', run], { env: environment, encoding: 'utf8' })
    cast.type(line)
    cast.show(shortened(stdout + stderr))
  }
  writeFileSync(join(ROOT, FIRST_MINUTE), cast.render())
  console.log(`${FIRST_MINUTE} is written`)
} finally {
  gateway.kill('SIGTERM')
  rmSync(home, { recursive: true, force: true })
}

async function ready(): Promise<void> {
  const end = Date.now() + TIMEOUT_MS
  while (Date.now() < end) {
    const response = await fetch(READY).catch(() => undefined)
    if (response?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the gateway did not become ready')
}

/** Shortens output to fit a terminal, for human viewers. */
function shortened(text: string): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines.length > 14 ? [...lines.slice(0, 13), '…'] : lines
  return shown.map((line) => (line.length > 98 ? `${line.slice(0, 97)}…` : line)).join('\n')
}
