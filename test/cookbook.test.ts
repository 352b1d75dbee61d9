import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { runWith } from '../src/cli/fixtures/run.ts'
import { type KeyPair, makeAuthority } from '../src/cli/suite/certificate.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = globSync('docs/**/*.md', { cwd: ROOT }).sort()
/** Each page that the cookbook and the migration guides promise has a file and a test of it. */
const PROMISED = [
  ...PAGES.filter((page) => /^docs\/(cookbook|migrate)\/(?!README)/.test(page)),
  'docs/tasks/use-api-keys.md',
  'docs/tasks/stand-behind-proxies.md',
  'docs/tasks/restrict-mcp-tools.md',
]
/** TLS files that a configuration may reference. */
const PEM = /[\w./-]+\.(?:crt|key|pem|htpasswd)\b/g

describe('files in the documentation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cookbook-'))
  const authority = makeAuthority('cookbook')
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const page of PAGES) {
    const files = filesIn(readFileSync(join(ROOT, page), 'utf8'))
    if (files.size === 0) continue
    const own = join(folder, page.replace(/\W/g, '-'))
    const write = () => {
      mkdirSync(own, { recursive: true })
      for (const [name, text] of files) {
        writeFileSync(join(own, name), text)
        const pair = authority.issue('localhost', ['DNS:localhost'])
        for (const [path] of text.matchAll(PEM)) {
          mkdirSync(dirname(join(own, path)), { recursive: true })
          writeFileSync(join(own, path), contentOf(path, pair, authority.cert))
        }
      }
    }

    for (const [name, text] of files) {
      if (isTest(text) || isOfPrometheus(text)) continue
      it(`${page}: nothing is wrong with ${name}`, async () => {
        write()
        const { code, out } = await runWith(['check', join(own, name)], {
          environment: keysIn(text),
        })
        assert.equal(code, 0, out)
        assert.match(out, /: no errors\n$/)
        const linted = await runWith(['lint', join(own, name), '--max-warnings', '0'])
        assert.equal(linted.code, 0, linted.out)
      })
    }

    const shown = outputsIn(readFileSync(join(ROOT, page), 'utf8'))
    for (const [name, text] of files) {
      if (!isTest(text)) continue
      it(`${page}: ${name} shows what it says`, async () => {
        write()
        const output = shown.get(name)
        const { code, out, err } = await runWith([output?.command ?? 'test', join(own, name)])
        if (output === undefined) assert.equal(code, 0, out + err)
        else assert.equal(out.replaceAll(`${own}/`, ''), output.text)
      })
    }
  }

  it('docs/cookbook/observability.md: Prometheus rules are complete', () => {
    const files = filesIn(readFileSync(join(ROOT, 'docs/cookbook/observability.md'), 'utf8'))
    const { groups } = parse(files.get('alerts.yaml') ?? '') as { groups: { rules: object[] }[] }
    const rules = groups.flatMap((one) => one.rules)
    assert.ok(rules.length >= 5)
    for (const rule of rules) {
      assert.deepEqual(
        ['alert', 'expr', 'annotations'].filter((key) => !(key in rule)),
        [],
      )
    }
    const { rule_files: named } = parse(files.get('prometheus.yaml') ?? '')
    assert.deepEqual(named, ['alerts.yaml'])
  })

  it('every page names only existing metrics', () => {
    const reference = readFileSync(join(ROOT, 'docs/reference/metrics.md'), 'utf8')
    const known = new Set(reference.match(/^### (portcullis_\w+)/gm)?.map((one) => one.slice(4)))
    assert.ok(known.size > 80)
    const unknown = PAGES.flatMap((page) => {
      const found =
        readFileSync(join(ROOT, page), 'utf8').match(/\bportcullis_[a-z0-9_]*[a-z0-9]/g) ?? []
      return found
        .filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')))
        .map((name) => `${page}: ${name}`)
    })
    assert.deepEqual(unknown, [])
  })

  for (const page of PROMISED) {
    it(`${page} has a configuration and a test of it`, () => {
      const files = filesIn(readFileSync(join(ROOT, page), 'utf8'))
      assert.ok(files.has('gateway.yaml') && files.has('test.yaml'), [...files.keys()].join())
    })
  }
})

/** True for a file that Prometheus reads, not the gateway. */
function isOfPrometheus(text: string): boolean {
  return /^(groups|scrape_configs):/m.test(text)
}

/** True for a file of requests and invariants, as opposed to a configuration. */
function isTest(text: string): boolean {
  return /^(requests|invariants):/m.test(text)
}

/** The output of `portcullis test FILE` or `prove FILE` that a page shows. */
function outputsIn(page: string) {
  const found = page.matchAll(
    /^```sh\nportcullis (test|prove) ([\w-]+\.yaml)\n```\n\n```text\n(.*?)^```/gms,
  )
  return new Map(
    [...found].map(([, command = '', name = '', text = '']) => [name, { command, text }]),
  )
}

function contentOf(path: string, { cert, key }: KeyPair, ca: string): string {
  if (path.endsWith('.htpasswd')) return 'ada:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n'
  if (/ca\./.test(path)) return ca
  return /key/.test(path) ? key : cert
}

/** Blocks that begin with their file name in a comment. */
function filesIn(page: string): ReadonlyMap<string, string> {
  const blocks = page.matchAll(/^```yaml\n(# ([\w-]+\.yaml)\n.*?)^```/gms)
  return new Map([...blocks].map(([, text = '', name = '']) => [name, text]))
}

/** The variables that a file reads keys from. */
function keysIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/\$\{(\w+):-/g)].map(([, name = '']) => [name, 'sk-1']),
  )
}
