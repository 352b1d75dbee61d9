import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'
import { COMMANDS } from './index.ts'

const CASES = join(import.meta.dirname, '../../test/config')

const run = (args: readonly string[], input = '') => runWith(args, { readInput: () => input })

describe('portcullis', () => {
  for (const [name, args, code, output] of [
    ['lists its commands', ['help'], 0, /check {10}check configuration/],
    ['lists them for whoever says nothing', [], 2, /check {10}check configuration/],
    ['tells its version', ['--version'], 0, /^portcullis 1\.2\.3\n$/],
    ['knows what was meant', ['vaildate'], 2, /did you mean `validate`\?/],
    ['explains a command', ['validate', '--help'], 0, /--format json/],
    ['needs a file to check', ['validate'], 2, /the current folder has no portcullis\.yaml/],
    ['refuses a format', ['validate', 'a', '--format', 'xml'], 2, /unknown format `xml`/],
    ['refuses an option', ['validate', '--fast'], 2, /--fast/],
    ['validates a good file', ['validate', join(CASES, 'minimal.in.yaml')], 0, /: no errors\n$/],
    ['validates a bad one', ['validate', join(CASES, 'wrong-types.in.yaml')], 1, /\d+ errors/],
    ['lets warnings pass', ['validate', join(CASES, 'llm.in.yaml')], 0, /: 1 warning\n$/],
    [
      'takes options as other commands do',
      ['validate', '-f', join(CASES, 'minimal.in.yaml'), '--json'],
      0,
      /"errors": 0/,
    ],
    ['says that a file is not there', ['validate', 'no-such.yaml'], 1, /PC0201.*no such file/],
    ['says that it is a directory', ['validate', CASES], 1, /PC0201.*it is a directory/],
  ] as const) {
    it(name, async () => {
      const { code: response, out, err } = await run(args)
      assert.equal(response, code)
      assert.match(out + err, output)
    })
  }

  it('validates the standard input', async () => {
    const { code, out } = await run(['validate', '-'], 'gateways: {default: {port: 99999}}')
    assert.equal(code, 1)
    assert.match(out, /standard-input:1:28/)
  })

  it('reports what the gateway would report at startup', async () => {
    const { code, out } = await run(
      ['validate', '-'],
      `gateways: { default: { port: 8080 } }
routes:
- policies:
    jwtAuthentication: { issuer: a, jwks: '{"keys":[{"kty":"oct","kid":"1","k":"AA"}]}' }
  backends: [{ host: 'api:80' }]`,
    )
    assert.equal(code, 0)
    assert.match(out, /warning\[PC0501\]: key `1` of `a` is ignored/)
    assert.match(out, /warning\[PC0503\]: all tokens from `a` are rejected/)
  })

  it('warns of an inline API key without printing it, but not of one stored elsewhere', async () => {
    const file = (key: string) => `gateways: { default: { port: 8080 } }
routes:
- policies: { apiKey: { keys: [{ key: "${key}" }] } }
  backends: [{ host: 'api:80' }]`
    const { out } = await run(['validate', '-'], file('tell-nobody'))
    assert.match(
      out,
      /warning\[PC0504\].*\n.*standard-input:3:34\n.*hint: replace it with `keyHash/,
    )
    assert.doesNotMatch(out, /tell-nobody/)
    const environment = { KEY: 'tell-nobody' }
    const input = file('$' + '{KEY}')
    const other = await runWith(['validate', '-'], { readInput: () => input, environment })
    assert.match(other.out, /: no errors/)
  })

  it('prints the messages of all files as one JSON object', async () => {
    const files = ['minimal', 'llm', 'wrong-types'].map((name) => join(CASES, `${name}.in.yaml`))
    const { code, out } = await run(['validate', ...files, '--format', 'json'])
    const { errors, warnings, diagnostics } = JSON.parse(out)
    assert.deepEqual([code, warnings], [1, 2])
    assert.equal(diagnostics.length, errors + warnings)
  })

  it('prints a JSON Schema', async () => {
    const { code, out } = await run(['schema'])
    assert.equal(code, 0)
    assert.ok(Object.keys(JSON.parse(out).properties).includes('gateways'))
  })

  it('has a summary for every command, and help that begins with its usage', () => {
    for (const { name, summary, help } of COMMANDS) {
      assert.match(summary, /^[a-z].*[^.]$/)
      assert.ok(help.startsWith(`portcullis ${name}`))
    }
  })
})
