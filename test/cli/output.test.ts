import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { PORTCULLIS } from '../programs.ts'

describe('the output of a command', () => {
  it('is cut off without an error if the reader closes the pipe', () => {
    const command = `"${process.execPath}" "${PORTCULLIS}" schema | head -c 10; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' })
    assert.match(stdout, /0\n$/)
    assert.equal(stderr, '')
  })

  it('causes a readable error if it cannot be written', { skip: !existsSync('/dev/full') }, () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(process.execPath, [PORTCULLIS, 'help'], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    })
    assert.equal(status, 1)
    assert.equal(stderr, 'portcullis: cannot write the output: no space left on device\n')
  })
})

/** The output in a terminal of a given width, which `script` provides. */
function inTerminal(command: string, environment: Readonly<Record<string, string>> = {}): string {
  const env = { ...process.env, TERM: 'xterm', ...environment }
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'CI']) {
    if (environment[name] === undefined) delete (env as Record<string, string | undefined>)[name]
  }
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    env,
    timeout: 30_000,
  })
  return stdout
}

const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0

describe('a terminal', { skip: hasTerminals ? false : 'there is no `script`' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'terminal-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'wrong.yaml')
  writeFileSync(file, 'gateways: { default: { port: 8080, hots: a } }\n')
  const program = `"${process.execPath}" "${PORTCULLIS}"`
  const check = `${program} check "${file}"`
  const colour = '\x1b['

  it('has colors, unless it or the environment disables them', () => {
    assert.ok(inTerminal(check).includes(colour))
    assert.ok(!inTerminal(check, { TERM: 'dumb' }).includes(colour))
    assert.ok(!inTerminal(check, { NO_COLOR: '1' }).includes(colour))
    assert.ok(!inTerminal(check, { FORCE_COLOR: '0' }).includes(colour))
    assert.ok(inTerminal(`${check} | cat`, { FORCE_COLOR: '1' }).includes(colour))
    assert.ok(!inTerminal(`${check} | cat`).includes(colour))
  })

  it('that is narrow gets lines that fit', () => {
    const shown = inTerminal(`stty cols 40; ${program} help init`)
    const lines = shown.split('\r\n')
    assert.ok(lines.length > 10)
    assert.deepEqual(
      lines.filter((line) => line.length > 40),
      [],
    )
  })

  it('that does not report its width gets whole lines', () => {
    const shown = inTerminal(`stty cols 0; ${check}`, { NO_COLOR: '1' })
    assert.match(shown, /default: \{ port: 8080, hots: a \}/)
  })

  it('shows progress of work that takes more than a second, and clears it afterwards', () => {
    const slow = join(folder, 'slow.jsonl')
    spawnSync('mkfifo', [slow])
    const replay = `${program} replay --decisions "${slow}" --old "${file}" --new "${file}"`
    const command = `(sleep 3; echo '{}') > "${slow}" & ${replay}; wait`
    const shown = inTerminal(command)
    assert.match(shown, /portcullis replay: working, 1 s/)
    const last = shown.split('\r\x1b[K').at(-1) ?? ''
    assert.match(last, /^portcullis replay: \S+ contains no decision records\r\n$/)
    assert.doesNotMatch(inTerminal(command, { TERM: 'dumb' }), /working/)
  })
})
