import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { CATALOGUE } from '../diagnostics/catalogue.ts'
import { CHAIN_FORMAT, chainLine, FIRST_LINK } from '../telemetry/decision-chain.ts'
import { runWith } from './fixtures/run.ts'
import { COMMANDS } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'one-shape-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const GOOD = written(
  'good.yaml',
  'gateways: { default: { port: 18080 } }\nroutes: [{ name: a, backends: [{ host: "127.0.0.1:9" }] }]\n',
)
const TEST = written(
  'test.yaml',
  'name: nothing\nconfig: good.yaml\nrequests: []\ninvariants: []\n',
)
const begin = chainLine(FIRST_LINK, 'begin', {
  format: CHAIN_FORMAT,
  time: '2026-02-03T04:05:06.543Z',
})
const end = chainLine(begin.next, 'end', { time: '2026-02-03T04:05:07.543Z' })
const CHAIN = written('decisions.jsonl', `${begin.line}\n${end.line}\n`)
const KEY = join(folder, 'key.json')

/** The invocations of each command. */
const USES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  init: [['http', '-f', join(folder, 'made.yaml')]],
  check: [[GOOD]],
  validate: [['-f', GOOD]],
  lint: [[GOOD]],
  explain: [[GOOD, '--request', 'GET /'], ['PC0107']],
  effective: [[GOOD]],
  test: [[TEST]],
  prove: [[TEST]],
  diff: [[GOOD, GOOD]],
  replay: [['--decisions', CHAIN, '--old', GOOD, '--new', GOOD]],
  audit: [
    ['verify', CHAIN],
    ['head', CHAIN],
  ],
  convert: [[GOOD]],
  fmt: [['--check', GOOD]],
  token: [
    ['--key', KEY],
    ['--jwks', '--key', KEY],
  ],
  'hash-key': [[], ['--generate']],
  'hash-password': [['ada', '--cost', '4']],
  schema: [[]],
  version: [[]],
}
/** Commands that serve, print a script, or need a gateway or an MCP server; tested in test/cli. */
const OTHERS = ['run', 'demo', 'completion', 'why', 'suggest', 'pin', 'config', 'log-level']

describe('uniform command line', () => {
  it('covers every command', () => {
    const names = [...COMMANDS.map(({ name }) => name), 'version']
    assert.deepEqual([...Object.keys(USES), ...OTHERS].toSorted(), names.toSorted())
  })

  for (const [name, uses] of Object.entries(USES)) {
    for (const [index, args] of uses.entries()) {
      for (const format of [['--json'], ['--format', 'json']]) {
        it(`${name} ${format.join(' ')}: prints one JSON document (${index + 1})`, async () => {
          rmSync(join(folder, 'made.yaml'), { force: true })
          const readInput = () => 'open sesame\n'
          const { out, err } = await runWith([name, ...args, ...format], { readInput })
          assert.equal(err, '')
          assert.equal(typeof JSON.parse(out), 'object', out)
        })
      }
    }
  }

  for (const name of OTHERS.filter((one) => !['run', 'demo', 'completion'].includes(one))) {
    it(`${name} accepts --json and --format json`, async () => {
      for (const format of [['--json'], ['--format', 'json']]) {
        const { err } = await runWith([name, ...format, '--admin', 'http://127.0.0.1:1'])
        assert.doesNotMatch(err, /unknown option `--(json|format)/)
      }
    })
  }

  it('treats a file the same with -f and without', async () => {
    for (const name of ['check', 'validate', 'lint', 'explain', 'effective', 'convert', 'fmt']) {
      const [one, other] = [await runWith([name, GOOD]), await runWith([name, '-f', GOOD])]
      assert.deepEqual(one, other, name)
    }
    for (const name of ['test', 'prove']) {
      const { err } = await runWith([name, '-f', TEST])
      assert.equal(err, '', name)
    }
  })
})

describe('JSON output', () => {
  const json = async (...args: readonly string[]) =>
    JSON.parse((await runWith([...args, '--json'], { readInput: () => 'robot\n' })).out)

  it('has the content of the text output', async () => {
    assert.deepEqual(await json('version'), { version: '1.2.3' })
    const page = await json('explain', 'PC0107')
    assert.deepEqual([page.code, page.severity], ['PC0107', 'error'])
    assert.ok(page.example.right.length > 0)
    const made = await json('init', 'llm', '-f', join(folder, 'llm.yaml'))
    assert.equal(made.file, join(folder, 'llm.yaml'))
    assert.ok(made.apiKey.length > 20)
    const untidy = written('untidy.yaml', 'a:   1\n')
    assert.deepEqual(await json('fmt', '--check', untidy, GOOD), { changed: [untidy], failed: [] })
    const { token, jwks } = await json('token', '--key', KEY)
    assert.equal(token.split('.').length, 3)
    assert.equal(jwks.keys.length, 1)
    const { name, hash } = await json('hash-password', 'ada', '--cost', '4')
    assert.deepEqual([name, hash.slice(0, 4)], ['ada', '$2b$'])
    const keyHash = `sha256:${createHash('sha256').update('robot').digest('hex')}`
    assert.deepEqual(await json('hash-key'), { keyHash })
    assert.match((await json('audit', 'head', CHAIN)).head, /^\d+:[0-9a-f]{64}$/)
  })
})

describe('explain CODE', () => {
  for (const { code, title } of CATALOGUE.flatMap(({ codes }) => codes)) {
    it(`${code}: the page, without a network`, async () => {
      const { code: exit, out } = await runWith(['explain', code], { width: 60 })
      assert.equal(exit, 0)
      assert.ok(out.replaceAll(/\s+/g, ' ').includes(title.replaceAll(/\s+/g, ' ')), out)
      assert.match(out, /^Wrong.*:\n[\s\S]*^Right:\n/m)
    })
  }
})

describe('a usage error', () => {
  it('is followed by the usage and a pointer to the help', async () => {
    const { code, out, err } = await runWith(['explain', '--bdy', 'x'])
    assert.deepEqual([code, out], [2, ''])
    const lines = err.trimEnd().split('\n')
    assert.equal(lines[0], 'portcullis explain: unknown option `--bdy`: did you mean `--body`?')
    assert.ok(lines.includes("portcullis explain [FILE] --request 'GET /path' [options]"))
    assert.equal(lines.at(-1), 'See `portcullis help explain` for all options.')
    assert.ok(lines.length < 12, err)
  })

  for (const [args, expected] of [
    [['version', 'extra'], /^portcullis version: unexpected argument `extra`/],
    [['version', '--jsn'], /unknown option `--jsn`: did you mean `--json`\?/],
    [['help', 'run', 'extra'], /^portcullis help: unexpected argument `extra`/],
    [['why', '--limit', 'x'], /--limit must be a positive number/],
    [['why', '--verdict', 'denyed'], /unknown verdict `denyed`; available: denied, /],
    [['why', '--since', 'yesterday'], /--since must be a time, for example /],
    [['why', '--admin', 'ftp://a'], /ftp:\/\/a is neither a URL nor a host:port address/],
  ] as const) {
    it(args.join(' '), async () => {
      const { code, out, err } = await runWith(args)
      assert.deepEqual([code, out], [err.startsWith('portcullis why: ftp') ? 1 : 2, ''])
      assert.match(err, expected)
    })
  }
})

describe('a file that cannot be used', () => {
  const none = join(folder, 'none.jsonl')

  for (const args of [
    ['replay', '--decisions', none, '--old', GOOD, '--new', GOOD],
    ['suggest', '--decisions', none, '-f', GOOD],
    ['explain', GOOD, '--body-file', none],
  ]) {
    it(`${args[0]}: is not a usage error`, async () => {
      const { code, err } = await runWith(args)
      assert.equal(code, 1)
      assert.equal(err, `portcullis ${args[0]}: cannot read ${none}: no such file or directory\n`)
    })
  }

  it('init: reports a directory', async () => {
    const { code, err } = await runWith(['init', '-f', folder])
    assert.deepEqual(
      [code, err],
      [1, `portcullis init: cannot write ${folder}: it is a directory\n`],
    )
  })

  for (const [text, expected] of [
    ['a: [1, 2', 'bad.yaml:1:9: unexpected end of file: a bracket, brace or quote is not closed'],
    ['x: 1\na: b: c\n', 'bad.yaml:2:4: a mapping is not allowed on this line'],
    ['\tb: x\n', 'bad.yaml:1:1: tabs are not allowed for indentation'],
  ] as const) {
    it(`fmt says the same as check: ${JSON.stringify(text)}`, async () => {
      const { err } = await runWith(['fmt', written('bad.yaml', text)])
      assert.equal(err, `portcullis fmt: ${join(folder, expected)}\n`)
    })
  }

  it('fmt: reports invalid JSON', async () => {
    const { err } = await runWith(['fmt', written('bad.json', '{"a": 1,}')])
    assert.match(err, /^portcullis fmt: \S+bad\.json: this is not valid JSON\n$/)
  })
})
