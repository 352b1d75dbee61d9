import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from '../../cli/fixtures/run.ts'
import { ABSENT } from './file-version.ts'
import { candidatesFrom, namedFiles } from './files.ts'
import type { SectionNode } from './section-node.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'named-files-')))
after(() => rmSync(folder, { recursive: true, force: true }))

const FILE = `gateways: { default: { port: 8080 } }
routes:
- policies: { basicAuth: { htpasswd: { file: users.htpasswd } } }
  backends: [{ host: 'orders:8080' }]
`
const USER = 'ann:$2y$05$abcdefghijklmnopqrstuuIMOvZ4DRyjL2Tq3Yk1Oj5Yl5yOe3ZVi\n'

/** The output of `validate` in a folder with the configuration in a subfolder. */
async function validated(name: string, at: readonly ('beside' | 'here')[]) {
  const inner = join(folder, name)
  mkdirSync(join(inner, 'sub'), { recursive: true })
  writeFileSync(join(inner, 'sub/gateway.yaml'), FILE)
  for (const place of at) {
    writeFileSync(join(inner, place === 'beside' ? 'sub' : '.', 'users.htpasswd'), USER)
  }
  const before = process.cwd()
  process.chdir(inner)
  try {
    const { code, out } = await runWith(['validate', 'sub/gateway.yaml', '--json'])
    return { status: code, said: JSON.parse(out) as { diagnostics: readonly { hint?: string }[] } }
  } finally {
    process.chdir(before)
  }
}

describe('relative paths', () => {
  it('are resolved against the folder of the file, then the working directory', async () => {
    assert.equal((await validated('beside', ['beside'])).status, 0)
    assert.equal((await validated('here', ['here'])).status, 0)
  })

  it('are searched for in both places before they are missing', async () => {
    const { status, said } = await validated('nowhere', [])
    assert.equal(status, 1)
    const own = join(folder, 'nowhere')
    assert.equal(
      said.diagnostics[0]?.hint,
      `relative paths are resolved against the folder of this file: tried ${own}/sub/users.htpasswd, then ${own}/users.htpasswd`,
    )
  })

  const node = { origin: { kind: 'file', file: 'a', line: 1, column: 1 } } as unknown as SectionNode
  const disk = (files: Readonly<Record<string, string>>, reads: string[] = []) =>
    namedFiles(
      (name) => [`/etc/${name}`, `/work/${name}`],
      (path) => {
        reads.push(path)
        const text = files[path]
        if (text === 'locked') return { stamp: '1', problem: 'permission denied' }
        return text === undefined ? { stamp: ABSENT, problem: 'not there' } : { stamp: '1', text }
      },
    )

  it('prefer the folder of the file', () => {
    const files = disk({ '/etc/a': 'first', '/work/a': 'second' })
    assert.equal(files.read('a', node), undefined)
    assert.equal(files.textOf('a'), 'first')
    assert.deepEqual(
      files.list().map(({ path }) => path),
      ['/etc/a'],
    )
  })

  it('are watched wherever they could appear, and read once', () => {
    const reads: string[] = []
    const files = disk({ '/work/a': 'second' }, reads)
    for (let i = 0; i < 3; i++) assert.equal(files.read('a', node), undefined)
    assert.equal(files.textOf('a'), 'second')
    assert.deepEqual(
      files.list().map(({ path, stamp }) => [path, stamp]),
      [
        ['/etc/a', ABSENT],
        ['/work/a', '1'],
      ],
    )
    assert.deepEqual(reads, ['/etc/a', '/work/a'])
  })

  it('do not fall back from an unreadable file', () => {
    const files = disk({ '/etc/a': 'locked', '/work/a': 'second' })
    assert.match(files.read('a', node)?.message ?? '', /permission denied/)
    assert.equal(files.textOf('a'), undefined)
  })

  it('have one candidate if they are absolute', () => {
    assert.deepEqual(candidatesFrom('/etc')('/x/y'), ['/x/y'])
  })
})
