import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'lint-'))
after(() => rmSync(FOLDER, { recursive: true }))

const run = (args: readonly string[], input = '') => runWith(args, { readInput: () => input })

function config(...rules: readonly string[]): string {
  const list = rules.map((rule) => `        - ${rule}\n`).join('')
  return `gateways:\n  default: { port: 8080 }\nroutes:\n  - name: api\n    policies:\n      authorization:\n        rules:\n${list}    backends: [{ host: 'a:80' }]\n`
}

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

const ERROR = "deny: request.headers['x-a'] != '1'"
const WARNING = "allow: request.path.startsWith('/a')"
const FINE = "allow: request.method == 'GET'"

describe('portcullis lint', () => {
  for (const [what, rules, args, code, output] of [
    ['nothing', [FINE], [], 0, /: no errors\n/],
    ['warnings pass', [WARNING], [], 0, /warning\[AZ012\].*\n.*:8:11\n.*startsWith/],
    ['too many warnings do not', [WARNING], ['--max-warnings', '0'], 1, /AZ012/],
    ['errors do not', [FINE, ERROR], [], 1, /error\[AZ002\]/],
    [
      'what a reader says comes under the code of lint',
      ["allow: source.address == '10.0.0.0/8'"],
      [],
      1,
      /error\[AZ003\]/,
    ],
    ['what needs records is told', [FINE], [], 0, /not checked without --decisions: AZ020/],
    ['JSON', [WARNING], ['--json'], 0, /"warnings": 1/],
    [
      'a Service',
      ["allow: cidr('10.0.0.0/8').containsIP(source.address)"],
      ['--service', 'default=LoadBalancer/Cluster'],
      0,
      /AZ015/,
    ],
    ['a reason suppresses', [`${WARNING} # lint: AZ012 ours`], [], 0, /: no errors\n/],
    ['no reason does not', [`${WARNING} # lint: AZ012`], [], 0, /AZ012\][\s\S]*AZ021/],
  ] as const) {
    it(what, async () => {
      const path = file('case.yaml', config(...rules))
      const { code: response, out } = await run(['lint', path, ...args])
      assert.match(out, output)
      assert.equal(response, code)
    })
  }

  for (const [args, message] of [
    [['lint'], /the current folder has no portcullis\.yaml/],
    [['lint', '-', '--format', 'xml'], /unknown format `xml`/],
    [['lint', '-', '--max-warnings', 'x'], /must be a number/],
    [['lint', '-', '--service', 'x'], /GATEWAY=TYPE/],
  ] as const) {
    it(`does not understand ${args.join(' ')}`, async () => {
      const { code, err } = await run(args)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }

  it('reports records that cannot be read', async () => {
    const { code, err } = await run(['lint', '-', '--decisions', 'no-such.jsonl'])
    assert.equal(code, 1)
    assert.equal(err, 'portcullis lint: cannot read no-such.jsonl: no such file or directory\n')
  })

  it('writes SARIF 2.1.0', async () => {
    const { out } = await run(['lint', file('sarif.yaml', config(WARNING)), '--sarif'])
    const { version, runs } = JSON.parse(out)
    const [{ tool, results }] = runs
    assert.equal(version, '2.1.0')
    assert.equal(tool.driver.rules[results[0].ruleIndex].id, 'AZ012')
    assert.deepEqual(results[0].locations[0].physicalLocation.region, {
      startLine: 8,
      startColumn: 11,
    })
  })

  it('fixes what changes no decision, and leaves the rest unchanged', async () => {
    const text = config(
      "allow: request.headers['X-A'] == '1' # about a",
      "allow: request.headers['x-a'] in ['1', '2'] # about b",
      ERROR,
      "require: request.headers['X-B'] == '1'",
    )
    const path = file('fix.yaml', text)
    const { err } = await run(['lint', path, '--fix'])
    assert.match(err, /\d fixed/)
    const fixed = text
      .replace("        - allow: request.headers['X-A'] == '1' # about a\n", '')
      .replace('X-B', 'x-b')
    assert.equal(readFileSync(path, 'utf8'), fixed)
  })

  it('does not offer to fix what it just failed to fix', async () => {
    const folded =
      ">-\n            request.method == 'GET' &&\n            request.headers['X-B'] == '1'"
    const path = file('folded.yaml', config(`allow: ${folded}`))
    const before = await run(['lint', path])
    assert.match(before.out, /; `--fix` fixes 1\n/)
    const { out, err } = await run(['lint', path, '--fix'])
    assert.match(err, /0 fixed, 1 must be fixed manually/)
    assert.match(out, /folded\.yaml: 1 warning\n/)
  })

  it('reports a missing file in the requested format', async () => {
    const { code, out } = await run(['lint', join(FOLDER, 'none.yaml'), '--format', 'sarif'])
    assert.equal(code, 1)
    assert.equal(JSON.parse(out).runs[0].results[0].ruleId, 'PC0201')
  })

  it('names files by URIs', async () => {
    const path = file('a #1?.yaml', config(WARNING))
    const { out } = await run(['lint', path, '--format', 'sarif'])
    const [{ physicalLocation }] = JSON.parse(out).runs[0].results[0].locations
    assert.match(physicalLocation.artifactLocation.uri, /\/a%20%231%3F\.yaml$/)
  })

  it('learns from recorded decisions', async () => {
    const rule = {
      policy: 'route:api',
      field: 'rules[0].allow',
      action: 'Allow',
      expression: "request.method == 'GET'",
    }
    const record = {
      id: '1',
      time: '2026-01-01T00:00:00Z',
      kind: 'authorization',
      stage: 'traffic',
      verdict: 'allowed',
      enforced: true,
      cause: 'matched',
      gateway: 'default',
      source: '10.0.0.1:1',
      attributes: [],
      rule,
    }
    const decisions = file('decisions.jsonl', `${JSON.stringify(record)}\nnonsense\n`)
    const path = file('seen.yaml', config(FINE, "allow: request.method == 'PUT'"))
    const { out } = await run(['lint', path, '--decisions', decisions])
    assert.match(out, /AZ020\]: this rule decided none of 1 recorded decisions[\s\S]*'PUT'/)
    assert.doesNotMatch(out, /'GET'/)
  })
})
