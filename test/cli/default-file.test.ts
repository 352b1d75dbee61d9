// The configuration of the current folder, used by processes that are given no file.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { COMMANDS } from '../../src/cli/index.ts'
import { PORTCULLIS } from '../programs.ts'
import { freePort, status, until } from './running.ts'

const empty = mkdtempSync(join(tmpdir(), 'portcullis-'))
const own = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => {
  for (const folder of [empty, own]) rmSync(folder, { recursive: true })
})
writeFileSync(
  join(own, 'portcullis.yaml'),
  'gateways:   { default: { port: 4000 } }\nroutes: [{ name: mine, backends: [{ host: "127.0.0.1:9" }] }]\n',
)
writeFileSync(join(own, 'none.jsonl'), '')

const call = (cwd: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [PORTCULLIS, ...args], { cwd, encoding: 'utf8' })

/** The commands that read one configuration, with the output about that file. */
const USES: Readonly<Record<string, readonly [args: readonly string[], said: RegExp]>> = {
  check: [[], /^portcullis\.yaml: no errors/m],
  validate: [[], /^portcullis\.yaml: no errors/m],
  lint: [[], /^portcullis\.yaml: /m],
  explain: [['--request', 'GET /'], /mine/],
  effective: [[], /route mine/],
  fmt: [['--check'], /portcullis\.yaml/],
  pin: [['--check'], /no MCP server in this configuration has `pins`/],
  suggest: [['--decisions', 'none.jsonl'], /none\.jsonl contains no decision records/],
  run: [['--help'], /portcullis\.yaml/],
}
/** They read a test file, two configurations, another file or none. */
const OTHERS = [
  ...['demo', 'init', 'test', 'prove', 'diff', 'replay', 'why', 'config', 'log-level', 'audit'],
  ...['convert', 'token', 'hash-key', 'hash-password', 'schema', 'completion'],
]

describe('portcullis.yaml in the current folder', () => {
  it('all commands are listed', () => {
    const names = COMMANDS.map(({ name }) => name)
    assert.deepEqual([...Object.keys(USES), ...OTHERS].toSorted(), names.toSorted())
  })

  for (const [name, [args, said]] of Object.entries(USES)) {
    it(`${name} uses it`, () => {
      const { status: code, stdout, stderr } = call(own, name, ...args)
      assert.match(stdout + stderr, said)
      if (name !== 'pin') assert.notEqual(code, 2)
    })

    if (name === 'run') continue
    it(`${name} without it is a usage error`, () => {
      const { status: code, stderr } = call(empty, name, ...args)
      assert.equal(code, 2)
      assert.match(stderr, /the current folder has no portcullis\.yaml \(`portcullis init`/)
    })
  }

  it('run without it starts nothing, and names the demo', () => {
    const { status: code, stdout, stderr } = call(empty, 'run')
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /`portcullis init` writes one, and `portcullis demo` serves an example/)
  })

  it('run serves it, after init', async () => {
    const [http, admin, stats, ready] = await Promise.all([1, 2, 3, 4].map(freePort))
    const made = call(empty, 'init')
    assert.match(made.stdout, /portcullis check\n {2}portcullis run\n/)
    writeFileSync(
      join(empty, 'portcullis.yaml'),
      `config: { workers: 1, adminAddr: '127.0.0.1:${admin}', statsAddr: '127.0.0.1:${stats}', readinessAddr: '127.0.0.1:${ready}' }
gateways: { default: { port: ${http} } }
routes: [{ name: mine, policies: { directResponse: { status: 202 } } }]
`,
    )
    const child = spawn(process.execPath, [PORTCULLIS, 'run'], { cwd: empty, stdio: 'ignore' })
    const exit = new Promise((resolve) => child.once('exit', resolve))
    try {
      await until('it serves', async () => (await status(http as number)) === 202)
    } finally {
      child.kill('SIGTERM')
    }
    assert.equal(await exit, 0)
  })
})
