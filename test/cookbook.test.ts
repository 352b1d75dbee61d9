import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from '../src/cli/fixtures/run.ts'
import { type KeyPair, makeAuthority } from '../src/cli/suite/certificate.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = globSync('docs/{cookbook,migrate}/*.md', { cwd: ROOT })
  .filter((page) => !page.endsWith('README.md'))
  .sort()
/** The files of TLS that a configuration may name. */
const PEM = /[\w./-]+\.(?:crt|key|pem|htpasswd)\b/g

describe('docs/cookbook and docs/migrate', () => {
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

    for (const name of files.keys()) {
      if (name === 'test.yaml') continue
      it(`${page}: nothing is wrong with ${name}`, async () => {
        write()
        const { code, out } = await runWith(['check', join(own, name)])
        assert.equal(code, 0, out)
        assert.match(out, /: no errors\n$/)
        const linted = await runWith(['lint', join(own, name), '--max-warnings', '0'])
        assert.equal(linted.code, 0, linted.out)
      })
    }

    if (!files.has('test.yaml')) continue
    it(`${page}: one sees what it says`, async () => {
      write()
      const { code, out, err } = await runWith(['test', join(own, 'test.yaml')])
      assert.equal(code, 0, out + err)
    })
  }

  it('has files to try', () => {
    assert.ok(PAGES.length > 10)
  })
})

function contentOf(path: string, { cert, key }: KeyPair, ca: string): string {
  if (path.endsWith('.htpasswd')) return 'ada:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n'
  if (/ca\./.test(path)) return ca
  return /key/.test(path) ? key : cert
}

/** Blocks that begin with the name of their file, as a comment. */
function filesIn(page: string): ReadonlyMap<string, string> {
  const blocks = page.matchAll(/^```yaml\n# ([\w-]+\.yaml)\n(.*?)^```/gms)
  return new Map([...blocks].map(([, name = '', text = '']) => [name, text]))
}
